#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel_slow.sh - `make wheel`: pip installs it into an empty environment, where the three lines of the README, dshost and
# plugins in Python and C work without the source tree; plugins in Python need no compiler.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/pip_lib.sh"
if [ -n "$DS_WHEEL" ]; then # a wheel that is there
	cp "$DS_WHEEL" .
elif ! run "${MAKE:-make}" -C "$DS_TOP_BUILD" wheel PYTHON3="$python"; then
	if grep -q 'needs an installation with the folders' "$tmp/err"; then
		echo "1..0 # SKIP configured with other folders than bin, lib and libexec"
		exit 0
	fi
	result 1 "make wheel"
	finish
	exit 1
else
	result 0 "make wheel"
	cp "$DS_TOP_BUILD"/dist/diffsim_global-*.whl .
fi
wheel=$(echo diffsim_global-*.whl)
"$python" - "$wheel" >"$tmp/out" 2>"$tmp/err" <<'EOF'
import base64, hashlib, re, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
rows = [r.split(",") for name in z.namelist() if name.endswith("RECORD") for r in z.read(name).decode().splitlines()]
assert {r[0] for r in rows} == set(z.namelist())
for name, digest, size in rows:
    if digest:
        data = z.read(name)
        assert len(data) == int(size)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
names = z.namelist()
for part in ("bin/dshost", "lib/libdiffsim.so.1", "lib/libdiffsim.so", "lib/pkgconfig/libdiffsim.pc", "include/diffsim/env.h",
             "lib/diffsim/envs/torus.so", "lib/diffsim/optimizers/boleap.so", "lib/diffsim/adapters/py.so"):
    assert "diffsim/native/" + part in names, part
assert re.match(r"diffsim_global-[0-9.]+-py3-none-manylinux_2_\d+_\w+\.whl$", sys.argv[1])
libraries, texts = [sum(part in name for name in names) for part in ("/lib/vendored/", ".dist-info/licenses/vendored/")]
assert texts >= libraries / 2, (texts, libraries)  # a package can have several libraries
assert zipfile.Path(z, "diffsim/native/bin/dshost").exists() and z.getinfo("diffsim/native/bin/dshost").external_attr >> 16 & 0o111
EOF
result $? "it is a wheel: names, digests, modes"
"$dshost" list --json >"$tmp/list.json" && "$python" - "$wheel" "$tmp/list.json" >"$tmp/out" 2>"$tmp/err" <<'EOF'
import ast, json, sys, zipfile
stubs = zipfile.Path(sys.argv[1], "diffsim/__init__.pyi").read_text()
named = {n.value for n in ast.walk(ast.parse(stubs)) if isinstance(n, ast.Constant)}
missing = {row["id"] for row in json.load(open(sys.argv[2]))} - named
known = {a.asname for n in ast.parse(stubs).body if isinstance(n, ast.ImportFrom) for a in n.names}
missing |= {"torch", "jax", "gym", "bridges", "plugin", "environments", "help", "load", "optimizer", "scipy"} - known
assert not missing, missing
EOF
result $? "editors know every plugin and every part of the package"
"$python" - "$wheel" >"$tmp/out" 2>"$tmp/err" <<'EOF'
import re, sys, zipfile
version = lambda text: tuple(map(int, text.split(".")))
tag = version(re.search(r"manylinux_(\d+_\d+)_", sys.argv[1])[1].replace("_", "."))
z = zipfile.ZipFile(sys.argv[1])
newest = {}
for name in z.namelist():
    data = z.read(name)
    if data.startswith(b"\x7fELF"):  # each version is a string of its own
        found = re.findall(r"\0GLIBC_(\d+(?:\.\d+)+)(?=\0)", data.decode("latin-1"))
        newest[name] = max(map(version, found), default=(0,))
late = [f"{name} needs {v}" for name, v in newest.items() if v > tag]
assert not late, late
assert len(newest) > 50 and max(newest.values()) > (2, 2), newest
print("%d files, glibc %d.%d at most" % (len(newest), *max(newest.values())[:2]))
EOF
result $? "no symbol is newer than its tag: $(cat "$tmp/out")"
# NumPy comes with the Python that there is; the wheel has to be alone otherwise.
make_env
status 0 "pip installs it" env/bin/python -m pip install --no-index --no-deps --quiet "$wheel"
cd empty || exit 99
cat >three.py <<'EOF'
import resource, time
begin = time.time()
import diffsim
env = diffsim.make("cartpole")
loss, grad = env.loss_and_grad(env.x0)
result = diffsim.minimize(env, method="racer", budget=200)
assert grad.shape == (env.n,) and result.best_loss < 0.01 * loss
env.close()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("%.1f s of processor, %.1f s" % (sum(u.ru_utime + u.ru_stime for u in used), time.time() - begin))
EOF
run apart "$tmp/env/bin/python" three.py
result "$status" "the three lines: $(cat "$tmp/out")"
[ "$(sed 's/\..*//' "$tmp/out")" -lt 20 ]
result $? "in less than 20 s of processor, however many others want it"
run apart dshost doctor
[ "$status" -eq 0 ] && ! grep -v '^limit\|^system' "$tmp/out" | grep -q "$DS_TOP_BUILD"
result $? "dshost finds its own parts alone"
run apart dshost run --env pinball --opt bo --budget 12 --out run
[ "$status" -eq 0 ] && [ -s run/convergence.png ]
result $? "it runs, with pictures"
printf 'class Env:\n    lower, upper = [0, 0], 1\n    def loss(self, x):\n        return x @ x\n' >my_env.py
run apart dshost eval --env my_env.py:Env --json
has '"loss": 0.5' "a plugin in Python, by the Python of the wheel"
PKG_CONFIG_PATH=$site/diffsim/native/lib/pkgconfig
export PKG_CONFIG_PATH
if command -v pkg-config >/dev/null; then
	# shellcheck disable=SC2046
	${DS_CC:-cc} -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags diffsim) -o hill.so "$DS_TOP_SRC/examples/hill.c" -lm 2>"$tmp/err"
	result $? "a plugin in C compiles against it"
	run apart dshost eval --env ./hill.so --gradient
	result "$status" "and is loaded"
	# shellcheck disable=SC2046
	${DS_CC:-cc} -O2 $(pkg-config --cflags libdiffsim) -o embed "$DS_TOP_SRC/examples/embed.c" $(pkg-config --libs libdiffsim) -lm 2>"$tmp/err" &&
		apart ./embed cartpole rand 5
	result $? "a program is linked with -ldiffsim, and runs"
else
	skip "pkg-config is missing"
fi
finish
