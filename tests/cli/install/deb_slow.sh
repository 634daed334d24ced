#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb_slow.sh - the archive of `make dist` becomes Debian packages: each package has its files, libdiffsim exports the
# declared symbols, lintian finds no error, and in another root the packages work together and pass their autopkgtests.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH PKG_CONFIG_PATH
for tool in dpkg-buildpackage dh dh_python3 lintian; do
	if [ -n "$DS_SANITIZE" ] || ! command -v $tool >/dev/null; then
		echo "1..0 # SKIP a build without sanitizers and $tool are needed (apt-get install debhelper dh-python lintian)"
		exit 0
	fi
done
cd "$tmp" || exit 99
status 0 "make dist" "${MAKE:-make}" -C "$DS_TOP_BUILD" dist
mv "$DS_TOP_BUILD"/diffsim-*.tar.* . && tar xf diffsim-*.tar.* && cd diffsim-*/ || exit 99
if ! dpkg-checkbuilddeps >"$tmp/out" 2>&1; then
	echo "1..0 # SKIP $(cat "$tmp/out")"
	exit 0
fi
DEB_BUILD_OPTIONS=parallel=${DS_JOBS:-2} status 0 "dpkg-buildpackage" dpkg-buildpackage -us -uc -b
cd "$tmp" || exit 99
has_file() { # has_file PACKAGE PATTERN
	dpkg -c "$1"_*.deb | grep "$2" >"$tmp/out"
	result $? "$1 has $2"
}
has_file diffsim ' ./usr/bin/dshost$'
has_file diffsim '/diffsim/envs/torus.so$'
has_file diffsim '/diffsim/adapters/py.so$'
has_file diffsim-mpi '/diffsim/modules/ranks_mpi.so$'
has_file libdiffsim1 '/libdiffsim.so.1 -> '
has_file libdiffsim-dev '/libdiffsim.so -> '
has_file libdiffsim-dev '/pkgconfig/libdiffsim.pc$'
has_file diffsim-doc '/examples/hill.c$'
has_file python3-diffsim '/dist-packages/diffsim/__init__.py$'
for deb in ./*.deb; do dpkg -c "$deb"; done | grep '\.la$' >"$tmp/out"
[ ! -s "$tmp/out" ]
result $? "no .la file"
status 0 "lintian finds no error" lintian --fail-on error --profile debian ./*.changes
mkdir root && for deb in ./*.deb; do dpkg -x "$deb" root; done
HOME=/nowhere status 0 "what is in them runs" root/usr/bin/dshost run --env cartpole --opt boleap --budget 12 --out run
[ -s run/best.png ]
result $? "with pictures"
grep -q '^ ds_environment_open@Base' "$(echo diffsim-*/debian/libdiffsim1/DEBIAN/symbols)"
result $? "the library has a file of its symbols"
# The autopkgtests, with the unpacked packages in the place of installed ones.
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
autopkgtest() { # autopkgtest NAME: from the tree of the source package, as Debian runs it
	mkdir "$tmp/$1" && cd "$tmp"/diffsim-*/ || exit 99
	status 0 "autopkgtest $1" env AUTOPKGTEST_TMP="$tmp/$1" PATH="$tmp/root/usr/bin:$PATH" LD_LIBRARY_PATH="$tmp/root/usr/lib/$triplet" \
		PKG_CONFIG_LIBDIR="$tmp/root/usr/lib/$triplet/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$tmp/root" \
		PYTHONPATH="$tmp/root/usr/lib/python3/dist-packages" "debian/tests/$1"
	cd "$tmp" || exit 99
}
autopkgtest plugin-in-c
python=/usr/bin/python3
if "$python" -c 'import numpy' 2>/dev/null; then
	cp "$DS_TOP_SRC/examples/hill.py" .
	DIFFSIM_PYTHON=$python status 0 "plugins in Python find their package" root/usr/bin/dshost eval --env hill.py
	autopkgtest plugin-in-python
else
	skip "$python has no NumPy"
	skip "$python has no NumPy"
fi
finish
