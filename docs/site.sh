#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# site.sh OUT - the documents as a site with search: OUT/html/index.html, by MkDocs (Debian: mkdocs, or pip install mkdocs).
# The pages keep the arrangement of the tree, so that their links hold; the navigation follows docs/README.md.
set -eu
mkdir -p "${1:-site}"
out=$(cd "${1:-site}" && pwd)
cd "$(dirname "$0")/.."
command -v "${MKDOCS-mkdocs}" > /dev/null || {
	echo "site.sh: there is no mkdocs: apt-get install mkdocs, or pip install mkdocs" >&2
	exit 1
}
rm -rf "$out/source" "$out/html"
find README.md CITATION.cff LICENSE STYLE.md VERSIONING.md docs examples bench tests/README.md include -type f \
	! -path 'docs/completion/*' ! -path 'docs/mkdocs.yml' ! -name '*.in' ! -name '.*' ! -name '*.o' ! -name '*.lo' | while read -r f; do
	case $f in */*) mkdir -p "$out/source/${f%/*}" ;; *) mkdir -p "$out/source" ;; esac
	cp "$f" "$out/source/$f"
done
if command -v man > /dev/null; then
	{
		echo "# Manual page"
		echo
		MANWIDTH=100 LC_ALL=C man "$PWD/docs/dshost.1" 2> /dev/null | col -bx | sed 's/^/    /'
	} > "$out/source/docs/dshost.1.md"
fi
{
	cat docs/mkdocs.yml
	echo "nav:"
	echo "  - README.md"
	awk '/^\*\*.*\*\*$/ { gsub(/\*/, ""); print "  - \"" $0 "\":"; next }
		{
			rest = $0
			while (match(rest, /\]\([a-z][a-z0-9-]*\.md\)/)) {
				page = substr(rest, RSTART + 2, RLENGTH - 3)
				rest = substr(rest, RSTART + RLENGTH)
				print "    - docs/" page
				sub(/\.md$/, "", page)
				command = "ls docs/" page "/*.md 2> /dev/null"
				while ((command | getline more) > 0) print "    - " more
				close(command)
			}
		}' docs/README.md
	echo "  - \"The project\":"
	for f in docs/dshost.1.md STYLE.md VERSIONING.md tests/README.md bench/README.md examples/README.md; do
		[ ! -e "$out/source/$f" ] || echo "    - $f"
	done
} > "$out/mkdocs.yml"
cd "$out"
"${MKDOCS-mkdocs}" build -q -f mkdocs.yml
echo "$out/html/index.html (search needs a server: python3 -m http.server -d $out/html)"
