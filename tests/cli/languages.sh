#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# languages.sh - the example plugins in C++, Rust and with Python inside are what their twins in C are: they compile with
# one line, pass `dshost check`, give the same losses and ask for the same points; their exceptions, panics and errors
# become one line of the host.
. "$(dirname "$0")/lib.sh"
PKG_CONFIG_PATH=$DS_TOP_BUILD${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
HOME=${HOME:-/} # rustc may be a shim that looks there
cd "$tmp" || exit 99
if ! command -v pkg-config > /dev/null; then
	echo "1..0 # SKIP pkg-config is missing"
	exit 0
fi
if [ -n "$DS_SANITIZE" ]; then
	echo "1..0 # SKIP other languages are built without sanitizers"
	exit 0
fi
cp "$DS_TOP_SRC"/examples/*.c "$DS_TOP_SRC"/examples/*.cpp "$DS_TOP_SRC"/examples/*.rs "$DS_TOP_SRC/examples/plugin.map" .
cxx=${CXX:-c++}
# shellcheck disable=SC2046
in_c() { # in_c FILE MORE...: a plugin from FILE.c
	f=$1
	shift
	${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags diffsim) \
		-o "$f.so" "$f.c" -lm "$@"
}
# shellcheck disable=SC2046
in_cpp() {
	"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror -O2 -fPIC -shared -fvisibility=hidden \
		-Wl,--version-script=plugin.map $(pkg-config --cflags diffsim) -o "$1.so" "$1.cpp"
}
in_rust() {
	rustc --edition 2021 -O -D warnings -C strip=symbols --crate-type cdylib -o "$1.so" "$1.rs"
}
loss() { # loss PLUGIN: the loss and the gradient at some point
	"$dshost" eval --env "./$1.so" --x random:3 --gradient --json 2>> err |
		sed -n 's/.*"loss": *\([^,]*\),.*"gradient": *\(\[[^]]*\]\).*/\1 \2/p'
}
points() { # points PLUGIN: what it asks for in a run
	"$dshost" run --env ./hill.so --opt "./$1.so" --budget 300 --seed 4 --pictures false --out "run_$1" > out 2> err
	table "run_$1"
}

run in_c hill && run in_c walk
result $? "the twins in C compile"
loss hill > hill.loss
points walk > walk.points
[ "$(wc -l < walk.points)" -eq 301 ] && [ -s hill.loss ]
result $? "and are evaluated and run"

# both LANGUAGE COMPILE EXTENSION: the two plugins of a language, and one that gives up in the middle.
both() {
	for f in "hill_$2" "walk_$2"; do
		status 0 "$f compiles with one line" "in_$2" "$f"
		status 0 "dshost check passes $f" "$dshost" check "./$f.so"
	done
	loss "hill_$2" | cmp -s - hill.loss
	result $? "hill_$2 has the loss and the gradient of hill, bit for bit"
	points "walk_$2" | cmp -s - walk.points
	result $? "walk_$2 asks for the points of walk, bit for bit"
}

# gives_up FILE LINE PATTERN: an environment made from FILE with LINE in evaluate() fails with a line of the
# host.
gives_up() {
	f=${1%.*}
	mkdir -p broken && cp plugin.map broken
	awk -v line="$2" '{ print } /evaluate\(.*\)( ->|$)/ { seen = 1 } seen && /guarded|^ *\{$/ && !done { print line; done = 1 }' \
		"$1" > "broken/$1"
	cd broken || exit 99
	status 0 "$f that gives up compiles" "in_${f#hill_}" "$f"
	cd ..
	run "$dshost" eval --env "./broken/$f.so" --isolation none
	[ "$status" -eq 5 ] && grep -q "^dshost: error: $f: .*$3" err && ! grep -qi 'crash\|signal\|panicked' err
	result $? "it fails with one line, and the host lives"
}

if command -v "$cxx" > /dev/null; then
	both C++ cpp
	gives_up hill_cpp.cpp '        if (io.x[0] < 9) { throw std::runtime_error("on purpose"); }' 'on purpose'
	# The two whole plugins in the comment of plugin.hpp.
	for f in spring corners; do
		sed -n 's/^ \* \{0,1\}//; /^    #include/,/^    DS_DEFINE_/p' "$DS_TOP_SRC/include/diffsim/helper/plugin.hpp" |
			awk -v id="\"$f\"" '{ text = text $0 "\n" } /DS_DEFINE_/ { if (index(text, id)) { printf "%s", text } text = "" }' \
				> $f.cpp
		status 0 "$f of the comment of plugin.hpp compiles" in_cpp $f
		status 0 "dshost check passes $f" "$dshost" check ./$f.so
	done
else
	skip "C++: no C++ compiler"
fi
if command -v rustc > /dev/null && rustc --version > /dev/null 2>&1; then
	both Rust rust
	gives_up hill_rust.rs '        if true { panic!("on purpose"); }' 'panic: a mistake in the plugin'
else
	skip "Rust: rustc is missing"
fi
# shellcheck disable=SC2046
if ! python_flags=$(pkg-config --cflags --libs python3-embed 2> /dev/null); then
	skip "Python inside: python3-embed is missing"
else
	# Not pedantic: Python's own headers are not.
	# shellcheck disable=SC2086
	status 0 "embedded_python compiles" ${DS_CC:-cc} -Wall -Wextra -Werror -O2 -fPIC -shared -fvisibility=hidden \
		$(pkg-config --cflags diffsim) -o embedded_python.so embedded_python.c $python_flags
	status 0 "dshost check passes it" "$dshost" check ./embedded_python.so
	loss embedded_python | cmp -s - hill.loss
	result $? "it has the loss and the gradient of hill, bit for bit"
	status 0 "it runs in two processes" "$dshost" run --env ./embedded_python.so --opt ./walk.so --budget 40 --jobs 2 \
		--seed 4 --pictures false --out run_python
	[ "$(rows run_python)" -eq 40 ]
	result $? "and every evaluation is recorded"
	sed 's/miss = q - self.target/miss = q - self.nothing/' embedded_python.c > broken.c
	mkdir -p broken && mv broken.c broken/embedded_python.c
	# shellcheck disable=SC2086
	status 0 "one with a mistake in Python compiles" ${DS_CC:-cc} -O2 -fPIC -shared -fvisibility=hidden \
		$(pkg-config --cflags diffsim) -o broken/embedded_python.so broken/embedded_python.c $python_flags
	run "$dshost" eval --env ./broken/embedded_python.so
	[ "$status" -ne 0 ] && grep -q "Python: AttributeError: .*nothing" err
	result $? "its exception is told"
fi
finish
