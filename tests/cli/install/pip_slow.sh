#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pip_slow.sh - `pip install` of a source archive: pip builds with configure and make in a folder of its own, and in an empty
# environment the three lines of the README have the numbers of dshost; what is missing is said in one line.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/pip_lib.sh"
mkdir sdist
DIFFSIM_BUILD_DIR=$DS_TOP_BUILD PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DS_TOP_SRC/packaging "$python" - "$tmp/sdist" >"$tmp/err" 2>&1 <<'END'
import sys, tarfile, build_backend
name = build_backend.build_sdist(sys.argv[1])
assert name == f"diffsim_global-{build_backend.version()}.tar.gz", name
with tarfile.open(f"{sys.argv[1]}/{name}") as archive:
    names = archive.getnames()
    top = name[: -len(".tar.gz")]
    wanted = ("PKG-INFO", "pyproject.toml", "configure", "packaging/build_backend.py", "python/diffsim/__init__.py")
    assert {top + "/" + f for f in wanted} <= set(names)
    assert not [n for n in names if not (n + "/").startswith(top + "/")]
END
result $? "the source archive has the form that pip expects"
mkdir tree && tar xf sdist/diffsim_global-*.tar.gz -C tree --strip-components=1
make_env
mkdir few && for tool in sh cat env; do ln -s "$(command -v $tool)" few; done
env -i HOME="$tmp/home" PATH="$tmp/few" "$tmp/env/bin/python" -m pip install --no-index --no-deps --no-build-isolation ./tree >"$tmp/out.txt" 2>&1
[ $? -ne 0 ] && grep -q 'diffsim: to build from source, make, .*gcc.* must be installed first: apt-get install make' "$tmp/out.txt"
result $? "without a compiler one line says what to install"
DIFFSIM_BUILD_JOBS=${DS_JOBS:-2} status 0 "pip install" env/bin/python -m pip install --no-index --no-deps --no-build-isolation \
	--config-settings configure="CC='${DS_CC:-cc}' CFLAGS=-O1" "$(echo "$tmp"/sdist/diffsim_global-*.tar.gz)"
cat >three.py <<'END'
import diffsim
env = diffsim.make("cartpole")
loss, grad = env.loss_and_grad(env.x0)
result = diffsim.minimize(env, method="racer", budget=200)
print(repr(result.best_loss))
END
cd empty || exit 99
here=$(apart "$tmp/env/bin/python" ../three.py 2>"$tmp/err")
result $? "the three lines of the README"
apart dshost run --env cartpole --opt racer --budget 200 --out run >/dev/null 2>"$tmp/err"
[ -n "$here" ] && "$python" -c 'import json, sys; sys.exit(json.load(open("run/summary.json"))["best_loss"] != float(sys.argv[1]))' "$here"
result $? "have the numbers of dshost: $here"
finish
