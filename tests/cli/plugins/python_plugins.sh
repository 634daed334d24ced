#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_plugins.sh - environments and optimizers in Python work like any other plugin: FILE.py:NAME is run, evaluated,
# resumed, compared, checked, listed; an exception in Python becomes a line with file and line, and an outcome.
. "$(dirname "$0")/../lib.sh"
for python in ${DS_PYTHON:-${DIFFSIM_PYTHON:-python3}} /usr/bin/python3; do
	"$python" -c 'import numpy' 2>/dev/null && break
done
if ! "$python" -c 'import numpy' 2>/dev/null; then
	echo "1..0 # SKIP $python with NumPy is missing"
	exit 0
fi
if [ -n "$DS_SANITIZE" ]; then
	echo "1..0 # SKIP Python plugins are tested without sanitizers"
	exit 0
fi
DIFFSIM_PYTHON=$python
PYTHONDONTWRITEBYTECODE=1
export DIFFSIM_PYTHON PYTHONDONTWRITEBYTECODE
cd "$tmp" || exit 99
cp "$DS_TOP_SRC/examples/hill.py" "$DS_TOP_SRC/examples/walk.py" "$DS_TOP_SRC/tests/cli/plugins/faulty_plugins.py" .

# ---- as any other ----
status 0 "an environment is evaluated" "$dshost" eval --env hill.py:Hill --x random:1 --gradient --fd --metrics --json
has '"n": 2' "with its variables"
has '"distance"' "and its metrics"
python_loss=$(field "$tmp/out" loss)
python_loss=${python_loss:-$(sed -n 's/.*"loss": \([^,]*\).*/\1/p' "$tmp/out" | head -n 1)}
if compile "$DS_TOP_SRC/examples/hill.c" 2>"$tmp/err"; then
	run "$dshost" eval --env ./hill.so --x random:1 --json
	c_loss=$(sed -n 's/.*"loss": \([^,]*\).*/\1/p' "$tmp/out" | head -n 1)
	awk "BEGIN { d = $python_loss - $c_loss; exit !(d < 1e-12 && d > -1e-12) }"
	result $? "whose loss is that of its twin in C"
	rm hill.so
else
	skip "a compiler and random123 are missing"
fi
good "help of it" help hill.py
has "friction = 0.5   (real, 0 to 10, 1/s)" "names its parameters"
has "2 variables" "and its variables"
good "a template" template hill.py:Hill walk.py
has "env = $tmp/hill.py:Hill" "names it by its path"
good "a setting is taken" eval --env hill.py --set env.friction=0.1 --json
bad 3 "friction" eval --env hill.py --set env.friction=11
bad 3 "did you mean 'friction'" eval --env hill.py --set env.frction=1
good "parameters are inherited, with a default of its own" eval --env faulty_plugins.py:Heir --set env.scale=2 --x 1,1,1 --json
[ "$(sed -n 's/.*"loss": \([^,]*\).*/\1/p' "$tmp/out" | head -n 1)" = 11.0 ]
result $? "and taken"
has_loss() { [ "$(sed -n 's/.*"loss": \([^,]*\).*/\1/p' "$tmp/out" | head -n 1)" = "$1" ]; }
good "choices that are no texts" eval --env faulty_plugins.py:Choice --x 0 --json
has_loss 0.5
result $? "arrive as what they are"
good "also others than the defaults" eval --env faulty_plugins.py:Choice --set env.order=1 --set env.exact=False --x 0 --json
has_loss 0.25
result $? "as what they are"
bad 4 "parameter 'limit': its default is NaN" eval --env faulty_plugins.py:NanDefault
bad 4 "tolerance belongs to the class" eval --env faulty_plugins.py:LateTolerance
good "a function is an environment" eval --env faulty_plugins.py:bowl --set env.scale=2 --json

# ---- searches ----
search() {
	"$dshost" "$@" --seed 3 --pictures no >"$tmp/out" 2>"$tmp/err"
}
search --env hill.py --opt cmaes --budget 120 --out one --jobs 1
result $? "a search"
search --env hill.py --opt cmaes --budget 120 --out two --jobs 2
same "is the same with two jobs" one two
grep -q "^env = $tmp/hill.py\$" one/run.ini
result $? "its run.ini names the file"
(cd / && "$dshost" run --config "$tmp/one/run.ini" --out "$tmp/again" >"$tmp/out" 2>"$tmp/err")
same "which repeats it from another folder" one again
search --env hill.py --opt walk.py --budget 150 --out both
result $? "a search in Python of an environment in Python"
search --env hill.py --opt walk.py:Walk --budget 60 --out part
(cd part && "$dshost" resume . --budget 150 >"$tmp/out" 2>"$tmp/err")
same "resumed, it is that of the whole budget" both part
"$dshost" --env pendulum --opt walk.py --budget 300 --out killed --isolate-optimizer yes --seed 3 --pictures no \
	>"$tmp/out" 2>"$tmp/err" & # no function, which would be killed in its place
pid=$!
while [ ! -s killed/run.sqlite ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
kill -9 "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
search --env pendulum --opt walk.py --budget 300 --out whole
status 0 "killed, it goes on" "$dshost" resume killed --pictures no
same "and is that which was not killed" killed whole
search --env faulty_plugins.py:Sometimes --opt rand --budget 100 --out deaths --jobs 2
result $? "a process that dies costs an evaluation"
table deaths | grep -q crashed
result $? "which is recorded as crashed"
echo "# changed" >>hill.py
run "$dshost" resume one --budget 130 --pictures no
grep -q "the run was made by hill 1" "$tmp/err"
result $? "a file that has changed is told"

cat >bench.ini <<EOF
[bench]
envs = hill
opts = walk rand
runs = 2
[run]
budget = 20
pictures = no
[env hill]
plugin = ./hill.py:Hill
[opt walk]
plugin = ./walk.py
EOF
status 0 "an experiment" "$dshost" bench bench.ini --out bench
[ "$(rows bench/hill/walk/seed-0)" -eq 20 ]
result $? "has its runs"
status 0 "a landscape" "$dshost" landscape --env hill.py --grid 5x5 --samples 4 --out land

# ---- found by name ----
mkdir path && cp hill.py path/pusher.py && echo 'import os' >path/_helper.py
DS_PLUGIN_PATH=$tmp/path
export DS_PLUGIN_PATH
good "a name on the plugin path" eval --env pusher --json
good "is listed" list
grep -q '^  pusher  .* A ball pushed over hilly ground\.$' "$tmp/out"
result $? "with its summary"
[ "$(grep -c helper "$tmp/out")" -eq 0 ]
result $? "and helpers are left alone"
unset DS_PLUGIN_PATH

# ---- what goes wrong ----
# says OUTCOME TEXT NAME: evaluating NAME ends with status 5, its outcome and one line.
says() {
	run "$dshost" eval --env "faulty_plugins.py:$3" --gradient --json
	grep -qF "\"outcome\": \"$1\"" "$tmp/out" && grep -qF -- "$2" "$tmp/err"
	result $? "$3: $1, $2"
}
says error "faulty_plugins.py:20: IndexError: list index out of range" Raises
says crashed "exit status 3" Exits
says crashed "SIGSEGV" Crashes
says error "a gradient of shape (2,), expected (3,)" Short
says error "returned float: expected (loss, gradient)" Alone
says error "returned str: expected one number" Word
says diverged "loss(x) is nan" Nan
says diverged "Diverged: too fast" Fast
says infeasible "Infeasible: negative mass" Negative
says error "MemoryError" Large
says error "faulty_plugins.py: TypeError: Bare.loss() takes 0 positional arguments" Bare
run "$dshost" eval --env faulty_plugins.py:NanGradient --gradient --json
has '"outcome": "bad_gradient"' "NanGradient: bad_gradient"
run "$dshost" eval --env faulty_plugins.py:Hangs --set run.timeout_s=1 --json
has '"outcome": "timeout"' "Hangs: timeout"
# What stands in front of the process of a plugin is no data.
bad 4 "faulty_plugins.py:80: ValueError: size 3 is odd" eval --env faulty_plugins.py:Odd
bad 4 "how many variables are there?" eval --env faulty_plugins.py:Boundless
bad 4 "no Nothing; plugins there: Alone" eval --env faulty_plugins.py:Nothing
bad 4 "more than one plugin; name one of them" eval --env faulty_plugins.py
bad 4 "none.py: no such file" eval --env none.py:Env
printf 'x = (\n' >syntax.py
bad 4 "syntax.py:1: SyntaxError: '(' was never closed" eval --env syntax.py:Env
printf 'import sys\nsys.exit(4)\n' >ends.py
bad 4 "ends.py:2: SystemExit: 4" eval --env ends.py
printf 'import os\nos._exit(4)\n' >dies.py
bad 4 "its Python process ended with exit status 4" eval --env dies.py
printf 'x = 1\n' >empty.py
bad 4 "empty.py: no class with loss() or run() in it" eval --env empty.py
DIFFSIM_PYTHON=no-python bad 4 "the program no-python is missing" eval --env hill.py
bad 4 "isolation = none" eval --env hill.py --isolation none
for name in Outside Quits Breaks; do
	run "$dshost" --env analytic --opt "faulty_plugins.py:$name" --budget 5 --out "opt$name" --pictures no
	[ "$status" -eq 4 ] && [ "$(grep -c '^dshost: error: ' "$tmp/err")" -eq 1 ]
	result $? "an optimizer that breaks the rules: $name"
done
grep -q "faulty_plugins.py:[0-9]*: RuntimeError: no more ideas" "$tmp/err"
result $? "says where"
run "$dshost" --env analytic --opt faulty_plugins.py:Leaves --budget 5 --out leaves --pictures no
[ "$status" -ne 0 ]
result $? "an optimizer whose process ends with status 0 is no success"

# ---- the compliance kit ----
status 0 "check passes a good environment" "$dshost" check hill.py --only load,desc,eval.points,pure.repeat,grad$(all ,eval,pure,scene,ext)
status 0 "and a good optimizer" "$dshost" check walk.py --only search.points,search.repeat$(all ,inst,search.failures)
status 0 "and noise" "$dshost" check faulty_plugins.py:Noisy --only pure.repeat$(all ,pure)
status 0 "and batches of losses beside single gradients" "$dshost" check faulty_plugins.py:Batched --only rows.same
has "1 passed, 0 failed, 0 skipped" "which are compared as far as they go"
status 8 "check fails a wrong gradient" "$dshost" check faulty_plugins.py:Wrong --only grad
has "component 1 of the gradient" "and names it"
status 0 "least squares" "$dshost" check faulty_plugins.py:Decay --only channel,grad
status 8 "with wrong slopes" "$dshost" check faulty_plugins.py:Skewed --only channel.products
status 0 "are what lm searches" "$dshost" --env faulty_plugins.py:Decay --opt lm --budget 40 --out fit --pictures no
grep -q "best loss 0.00" "$tmp/err"
result $? "and solves"
finish
