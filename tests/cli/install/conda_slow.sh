#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conda_slow.sh - the recipe for conda: it has the version of the tree, names what configure.ac looks for, and shares the
# installation out by known keys; where conda can build and reaches conda-forge, it is built, with its tests.
. "$(dirname "$0")/../lib.sh"
for python in ${DS_PYTHON:-${DIFFSIM_PYTHON:-python3}} /usr/bin/python3; do
	"$python" -c 'import jinja2, yaml' 2>/dev/null && break
done
if ! "$python" -c 'import jinja2, yaml' 2>/dev/null; then
	echo "1..0 # SKIP a Python with Jinja2 and PyYAML is needed to read the recipe for conda (apt-get install python3-jinja2 python3-yaml)"
	exit 0
fi
"$python" - "$DS_TOP_SRC" >"$tmp/out" 2>"$tmp/err" <<'END'
import re, sys
import jinja2, yaml
top = sys.argv[1]
text = re.sub(r"  # \[[^]]*\]$", "", open(top + "/packaging/conda/meta.yaml").read(), flags=re.M)
said = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(
    compiler=lambda language: f"{language}_compiler", stdlib=lambda language: f"{language}_stdlib",
    pin_subpackage=lambda name, **how: f"{name} pinned {sorted(how)[0]}")
recipe, configure = yaml.safe_load(said), open(top + "/configure.ac").read()
assert set(recipe) == {"package", "source", "build", "requirements", "outputs", "about"}, set(recipe)
version = re.search(r"AC_INIT\(\[diffsim\],\[([^]]+)\]", configure)[1]
assert recipe["package"]["version"] == version, (recipe["package"], version)
packages = {"expat": "libexpat", "sqlite3": "libsqlite", "libxxhash": "xxhash", "libwebp": "libwebp-base", "libwebpdemux": "libwebp-base"}
modules = set(re.findall(r"PKG_CHECK_MODULES\(\[\w+\],\s*\[(\w+)", configure)) - {"ompi", "mpich", "cmocka"}
assert len(modules) > 10, modules
missing = {packages.get(m, m) for m in modules | {"random123"}} - set(recipe["requirements"]["host"])
assert not missing, f"among the requirements is no {missing}"
outputs = {o["name"]: o for o in recipe["outputs"]}
assert set(outputs) == {"libdiffsim", "diffsim", "diffsim-python"}, set(outputs)
for name, one in outputs.items():
    assert set(one) <= {"name", "files", "build", "requirements", "test"} and one["files"] and one["test"]["commands"], name
    assert set(one["requirements"]) <= {"build", "host", "run"}, name
    needed = [r.split()[0] for r in one["requirements"]["run"] if "pinned" in r]
    assert set(needed) <= set(outputs) - {name}, needed
python = next(r for r in outputs["diffsim-python"]["requirements"]["run"] if r.startswith("numpy"))
wheel = re.search(r'dependencies = \["(numpy[^"]*)"', open(top + "/pyproject.toml").read())[1]
assert python.replace(" ", "") == wheel, (python, wheel)
END
result $? "the recipe has the version, the requirements and the packages of this tree"
if ! command -v conda-build >/dev/null; then
	skip "the recipe is built: conda-build is missing"
elif ! conda search --override-channels -c conda-forge inih >/dev/null 2>&1; then
	skip "the recipe is built: conda-forge is not reached"
else
	git -C "$DS_TOP_SRC" archive --prefix=tree/ HEAD 2>"$tmp/err" | tar x -C "$tmp"
	status 0 "the recipe is built, and its tests pass" conda-build --override-channels -c conda-forge --output-folder "$tmp/built" "$tmp/tree/packaging/conda"
fi
finish
