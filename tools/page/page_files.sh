#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# page_files.sh AWK HEADER NAME FILE... [-- NAME FILE...]... - prints a file of C: the lines of the files of each name
# as texts, and for .js and .css the sum that lets a page run them. HEADER declares them.
set -e
LC_ALL=C
export LC_ALL
awk=$1
header=$2
shift 2
tmp=$(mktemp) && trap 'rm -f "$tmp"' EXIT

# 64 hexadecimal digits as base64: three of them are two letters.
base64_of() {
	"$awk" -v hex="$1" 'BEGIN {
		letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		for (i = 1; i <= 64; i += 3) {
			v = 0
			for (k = 0; k < 3; k++) { v = 16 * v + index("0123456789abcdef", substr(hex "00", i + k, 1)) - 1 }
			text = text substr(letters, int(v / 64) + 1, 1) substr(letters, v % 64 + 1, 1)
		}
		print substr(text, 1, 43) "=" }'
}

echo '/* Made by page_files.sh. */'
echo "#include \"$header\""
echo
echo '#include <stddef.h>'
while [ $# -gt 0 ]; do
	name=$1
	shift
	: > "$tmp"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		cat "$1" >> "$tmp"
		shift
	done
	[ $# -eq 0 ] || shift
	printf '\nconst char *const ds_page_%s[] = {\n' "$name"
	"$awk" '{ gsub(/[\\"]/, "\\\\&"); gsub(/\t/, "\\t"); print "    \"" $0 "\"," }' "$tmp"
	echo '    NULL};'
	case $name in
	*_js | *_css)
		sum=$({ echo; cat "$tmp"; echo; } | sha256sum | cut -c1-64)
		[ ${#sum} -eq 64 ]
		printf "const char ds_page_%s_sum[] = \"'sha256-%s'\";\n" "$name" "$(base64_of "$sum")"
		;;
	esac
done
