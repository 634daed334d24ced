#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conda_slow.sh - the recipe for conda: it has the version of the tree and names what configure.ac looks for; rattler-build
# (from PyPI) builds it and runs its tests, with conda-forge where that is reached, else with the stand-in of
# conda_channel.py; its packages, installed into an empty folder, have dshost and the three lines of the README with one
# number, and need no library from outside.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/pip_lib.sh"
for reader in "$python" /usr/bin/python3; do
	"$reader" -c 'import yaml' 2>/dev/null && break
done
if "$reader" -c 'import yaml' 2>/dev/null; then
	"$reader" - "$DS_TOP_SRC" >out 2>err <<'END'
import re, sys
import yaml
top = sys.argv[1]
recipe, configure = yaml.safe_load(open(top + "/packaging/conda/recipe.yaml")), open(top + "/configure.ac").read()
version = re.search(r"AC_INIT\(\[diffsim\],\[([^]]+)\]", configure)[1]
assert recipe["context"]["version"] == version, (recipe["context"], version)
packages = {"expat": "libexpat", "sqlite3": "libsqlite", "libxxhash": "xxhash", "libwebp": "libwebp-base", "libwebpdemux": "libwebp-base"}
modules = set(re.findall(r"PKG_CHECK_MODULES\(\[\w+\],\s*\[(\w+)", configure)) - {"ompi", "mpich", "cmocka"}
assert len(modules) > 10, modules
missing = {packages.get(m, m) for m in modules | {"random123"}} - set(recipe["outputs"][0]["requirements"]["host"])
assert not missing, f"among the requirements is no {missing}"
outputs = {o["package"]["name"]: o for o in recipe["outputs"][1:]}
assert set(outputs) == {"libdiffsim", "diffsim", "diffsim-python"}, set(outputs)
python = next(r for r in outputs["diffsim-python"]["requirements"]["run"] if r.startswith("numpy"))
wheel = re.search(r'dependencies = \["(numpy[^"]*)"', open(top + "/pyproject.toml").read())[1]
assert python.replace(" ", "") == wheel, (python, wheel)
END
	result $? "the recipe has the version, the requirements and the packages of this tree"
else
	skip "the recipe is compared with the tree: no Python has PyYAML (apt-get install python3-yaml)"
fi

without() {
	skip "the recipe is built: $1"
	finish
	exit
}
git -C "$DS_TOP_SRC" ls-files -z >files 2>err || without "$DS_TOP_SRC is not a clone"
"$python" -m venv tools && tools/bin/python -m pip install -q py-rattler-build py-rattler >out 2>err || without "PyPI is not reached"
channel=https://conda.anaconda.org/conda-forge
short=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1] + "/noarch/run_exports.json.zst", timeout=10)' $channel 2>err; then
	for tool in dpkg gcc readelf ldd pkg-config; do
		command -v $tool >/dev/null || without "conda-forge is not reached, and its stand-in needs $tool"
	done
	status 0 "a channel stands in for conda-forge, which is not reached" "$python" "$DS_TOP_SRC/tests/cli/install/conda_channel.py" channel
	channel=file://$tmp/channel
fi
mkdir tree && (cd "$DS_TOP_SRC" && tar c --null --ignore-failed-read -T -) <files 2>err | tar x -C tree
cat >build.py <<'END'
import asyncio, pathlib, sys, warnings
from rattler.index import index_fs
from rattler_build import build_recipes
warnings.simplefilter("ignore")
if sys.argv[1].startswith("file:"):
    asyncio.run(index_fs(sys.argv[1][7:]))
build_recipes(["tree/packaging/conda/recipe.yaml"], channel=[sys.argv[1]], output_dir="built", test="native")
END
CPU_COUNT=${DS_JOBS:-2} status 0 "the recipe is built, and its tests pass" tools/bin/python build.py $channel
[ "$passed" -eq 0 ] || { finish; exit; }
cat >install.py <<'END'
import asyncio, sys
from rattler import VirtualPackage, install, solve
async def main(prefix, *channels):
    records = await solve(sources=list(channels), specs=["diffsim-python", sys.argv[1]], virtual_packages=VirtualPackage.detect())
    await install(records, target_prefix=prefix, show_progress=False)
asyncio.run(main(*sys.argv[2:]))
END
status 0 "its packages are installed into an empty folder" tools/bin/python install.py "python $short.*" "$tmp/env" "file://$tmp/built" $channel
[ "$passed" -eq 0 ] || { finish; exit; }
find env/bin/dshost env/lib/libdiffsim.so.1 env/lib/diffsim env/libexec -type f -exec ldd {} + 2>/dev/null |
	sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; /not found/p' | grep -v "^$tmp/env/" |
	grep -Ev '/(ld-linux-x86-64|libc|libm|libdl|librt|libpthread)[.]so' >out
[ ! -s out ] && [ -x env/bin/dshost ]
result $? "no library comes from outside"
cat >empty/three.py <<'END'
import diffsim
env = diffsim.make("cartpole")
loss, grad = env.loss_and_grad(env.x0)
result = diffsim.minimize(env, method="racer", budget=200)
print(repr(result.best_loss))
END
cd empty || exit 99
here=$(apart python three.py 2>"$tmp/err")
result $? "the three lines of the README"
apart dshost run --env cartpole --opt racer --budget 200 --out run >"$tmp/out" 2>"$tmp/err"
[ -n "$here" ] && "$python" -c 'import json, sys; sys.exit(json.load(open("run/summary.json"))["best_loss"] != float(sys.argv[1]))' "$here"
result $? "have the number of dshost: $here"
printf 'class Env:\n    lower, upper = [0, 0], 1\n    def loss(self, x):\n        return x @ x\n' >my_env.py
run apart dshost eval --env my_env.py:Env --json
has '"loss": 0.5' "a plugin in Python"
finish
