#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh - the files of `make install` are complete and can be moved: program, tools, worker, plugins and their data, module
# for MPI, libdiffsim, pkg-config files, documents and examples find each other and nothing of another diffsim; the documented
# lines compile against it; `make uninstall` removes everything.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH DS_ISA PKG_CONFIG_PATH
if [ -n "$DS_SANITIZE" ] || [ ! -f "$DS_TOP_BUILD/installed-folders" ]; then
	echo "1..0 # SKIP there is no build without sanitizers to be installed"
	exit 0
fi
cd "$tmp" || exit 99
HOME=$tmp/home
export HOME
mkdir home

run "${MAKE:-make}" -C "$DS_TOP_BUILD" install DESTDIR="$tmp/stage"
result $? "make install DESTDIR=..."
prefix=$(sed -n 1p "$DS_TOP_BUILD/installed-folders")
mkdir 'a b' plain && cp -a "stage$prefix" 'a b/ds' && cp -a "stage$prefix" plain/ds
result $? "copied elsewhere"
run "${MAKE:-make}" -C "$DS_TOP_BUILD" uninstall DESTDIR="$tmp/stage"
[ "$status" -eq 0 ] && [ -z "$(find stage ! -type d)" ]
result $? "make uninstall leaves no file"
find stage ! -type d > out
here=$tmp/a\ b/ds

# The recipe for conda shares it out among its packages: each file belongs to one.
if [ -d plain/ds/lib/diffsim ]; then
	awk '/^      files:/ { inside = 1; next } inside && /^        - / { gsub(/"/, ""); print $2; next } { inside = 0 }' \
		"$DS_TOP_SRC/packaging/conda/recipe.yaml" >shares
	(cd plain/ds && find . ! -type d ! -name '*.la' | sed 's,^[.]/,,') |
		while read -r file; do
			in=0
			while read -r share; do
				# shellcheck disable=SC2254
				case $file in $share | $share/*) in=$((in + 1)) ;; esac
			done <shares
			[ $in -eq 1 ] || echo "$file: in $in packages"
		done >out
	[ -s shares ] && [ ! -s out ]
	result $? "each file belongs to one package of conda"
else
	skip "each file belongs to one package of conda: libraries lie elsewhere"
fi

# dpkg-gensymbols ends the build of the packages where the list of debian/ lacks a symbol, or has one too many.
if command -v nm >/dev/null && [ -f plain/ds/lib/libdiffsim.so ]; then
	nm -D --defined-only plain/ds/lib/libdiffsim.so | awk '$3 ~ /^ds_/ { sub(/@.*/, "", $3); print $3 }' | sort >exported
	sed -n 's/^ \(ds_[^@]*\)@Base.*/\1/p' "$DS_TOP_SRC/debian/libdiffsim1.symbols" | sort | diff - exported >out
	result $? "debian/libdiffsim1.symbols has what libdiffsim exports"
else
	skip "nm is missing, or libdiffsim lies elsewhere"
fi

whole() { # whole PROGRAM TEXT: all parts are those of $here
	run "$1" doctor
	awk '/^[a-z]/ { key = $1 } key == "plugin_path" { sub(/^(plugin_path)? */, ""); print }' "$tmp/out" > path
	[ "$status" -eq 0 ] && grep -q "^worker  *$here/libexec/diffsim/dshost-worker\$" "$tmp/out" &&
		[ "$(wc -l < path)" -eq 3 ] && [ "$(grep -c "^$here/lib" path)" -eq 3 ] && ! grep -q '^build_tree' "$tmp/out"
	result $? "$2"
}
whole "$here/bin/dshost" "a moved installation finds its own parts"
if grep -q '^mpi_module  *none' "$tmp/out"; then
	skip "built without MPI"
else
	grep -q "^mpi_module  *$here/lib" "$tmp/out"
	result $? "and its module for MPI"
fi
status 0 "it runs" "$here/bin/dshost" run --env cartpole --opt boleap --budget 12 --out run
[ -s run/best.png ] && [ -s run/convergence.png ]
result $? "with pictures"
status 0 "an environment finds its data" "$here/bin/dshost" eval --env torus --set env.preset=small
mkdir links && ln -s "$here/bin/dshost" links/dshost
whole links/dshost "through a link"
PATH=$tmp/links:$PATH whole dshost "on PATH"
(cd "$here/bin" && exec ./dshost list) > out 2> err && grep -q '^  torus ' out
result $? "from its own folder"
chmod -R a-w "$here"
whole "$here/bin/dshost" "where nothing can be written"
chmod -R u+w "$here"
if unshare -m sh -c 'umount -l /proc' > out 2>&1; then
	status 0 "in a container without /proc" unshare -m sh -c 'umount -l /proc && cd / && "$0" run --env analytic --opt rand \
		--budget 20 --pictures false --out "$1"' "$here/bin/dshost" "$tmp/noproc"
else
	skip "without /proc: this user cannot hide it"
fi

# Another diffsim around it.
mkdir -p src/plugins/envs home/.local/libexec/diffsim home/.local/lib/diffsim/envs mine
touch src/.dshost-build src/plugins/envs/analytic.so home/.local/libexec/diffsim/dshost-worker mine/analytic.so
printf 'no plugin' > home/.local/lib/diffsim/envs/analytic.so
status 0 "another installation in ~/.local does not come first" "$here/bin/dshost" eval --env analytic
rm home/.local/libexec/diffsim/dshost-worker
status 4 "plugins of one's own there do" "$here/bin/dshost" eval --env analytic
rm -r home/.local
DS_PLUGIN_PATH=$tmp/mine status 4 "and DS_PLUGIN_PATH does" "$here/bin/dshost" eval --env analytic
mv 'a b/ds' src/inst
here=$tmp/src/inst
whole "$here/bin/dshost" "inside of a build tree"
mv src/inst/* src/
here=$tmp/src
whole "$here/bin/dshost" "beside what was built"

# A program of one's own, by the lines of the documents; a path without spaces, as they have no quotes.
cp "$DS_TOP_SRC"/examples/*.c "$DS_TOP_SRC/docs/embedding.md" .
mkdir examples && cp "$DS_TOP_SRC"/examples/*.c "$DS_TOP_SRC"/examples/plugin.map "$DS_TOP_SRC"/examples/*.cpp \
	"$DS_TOP_SRC/examples/README.md" examples
there=$tmp/plain/ds
pc=$(dirname "$(find "$there" -name libdiffsim.pc)")
line=$(sed -n 's/^    \(cc .* -o embed examples\/embed\.c .*\)/\1/p' embedding.md)
if ! command -v pkg-config > /dev/null; then
	skip "pkg-config is missing"
else
	PKG_CONFIG_PATH=$pc
	export PKG_CONFIG_PATH
	[ -n "$line" ] && run sh -c "cc() { command ${DS_CC:-cc} \"\$@\"; }; $line"
	result $? "the line of embedding.md compiles"
	status 0 "and the program runs" ./embed cartpole boleap 20
	for e in environment run record; do
		(cd examples && line=$(sed -n "s/^    \\(cc .* -o embed\\) embed\\.c/\\1_$e embed_$e.c/p" README.md) && [ -n "$line" ] &&
			run sh -c "cc() { command ${DS_CC:-cc} \"\$@\"; }; $line")
		result $? "that of embed_$e.c compiles"
	done
	ldd examples/embed_environment > out 2> err && grep -qF "libdiffsim.so.1 => $(cd "$pc/.." && pwd)" out ||
		grep -q 'libdiffsim.so.1 => .*plain/ds/lib' out
	result $? "with the library of this installation"
	run ${DS_CC:-cc} -c $(pkg-config --cflags diffsim) -x c -o header.o - < /dev/null
	result $? "--cflags are those of a compiler"
	unset PKG_CONFIG_PATH
	here=$tmp/a\ b/ds
	mv plain/ds 'a b/ds'
	status 0 "the installed examples compile in a path with spaces" "${MAKE:-make}" -C "$here/share/doc/diffsim/examples" \
		OUT="$tmp/examples" CC="${DS_CC:-cc}"
	status 0 "and run" examples/embed cartpole boleap 20
	status 0 "a new plugin" "$here/bin/dshost" new env pusher
	status 0 "builds and passes" "${MAKE:-make}" -C pusher check CC="${DS_CC:-cc}"
	mv 'a b/ds' plain/ds
fi

# Python needs the library alone.
if command -v python3 > /dev/null; then
	run python3 "$DS_TOP_SRC/examples/gym_ctypes.py" "$(find "$there" -name libdiffsim.so.1)"
	[ "$status" -eq 0 ] && grep -q '^steps 60 loss [0-9.]* half of it [0-9.]* gradient' out && grep -q '^metric theta .* rad$' out
	result $? "an episode step by step, points and metrics in Python"
	run python3 "$DS_TOP_SRC/examples/search_ctypes.py" "$(find "$there" -name libdiffsim.so.1)"
	[ "$status" -eq 0 ] && grep -q '^([0-9.e-]*, \[0\.' out
	result $? "and a search by ask and tell"
else
	skip "python3 is missing"
fi

# Documents.
man=$(find "$there" -name dshost.1)
[ -s "$man" ] && [ -s "$there/share/bash-completion/completions/dshost" ]
result $? "manual page and completion"
cd "$there/share/doc/diffsim" || exit 99
find . -name '*.md' | while read -r f; do
	sed '/^    /d; s/`[^`]*`//g' "$f" | grep -o '](\([^)]*\))' | sed 's/^](//; s/)$//; s/#.*//; s/ .*//' | while read -r link; do
		case $link in '' | http*) continue ;; esac
		[ -e "$(dirname "$f")/$link" ] || echo "$f: $link"
	done
done > "$tmp/out" 2> "$tmp/err"
[ ! -s "$tmp/out" ] && [ -s docs/embedding.md ] && [ -s examples/hill.c ]
result $? "the links of the installed documents lead somewhere"
cd "$tmp" || exit 99
finish
