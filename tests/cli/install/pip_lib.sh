# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# pip_lib.sh - what the tests of pip share, read after lib.sh: $python, which has NumPy, and environments that have nothing else.
unset MAKEFLAGS MFLAGS MAKELEVEL LD_LIBRARY_PATH PKG_CONFIG_PATH
for python in ${DS_PYTHON:-${DIFFSIM_PYTHON:-python3}} /usr/bin/python3; do
	"$python" -c 'import numpy' 2>/dev/null && break
done
if [ -n "$DS_SANITIZE" ] || ! command -v patchelf >/dev/null || ! "$python" -c 'import numpy, venv, ensurepip' 2>/dev/null; then
	echo "1..0 # SKIP a build without sanitizers, patchelf, and $python with NumPy and venv are needed"
	exit 0
fi
cd "$tmp" && mkdir home empty || exit 99

make_env() { # make_env: $tmp/env, with the NumPy of $python and no other package; $site
	"$python" -m venv env && site=$(env/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
		"$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' >"$site/numpy.pth"
}
apart() { # apart COMMAND...: with nothing of this machine but the environment
	env -i HOME="$tmp/home" PATH="$tmp/env/bin" "$@"
}
