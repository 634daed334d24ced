#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ini.sh - .ini files and --set: every wrong line gives file, line and exit status 3; --set wins over the file.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME

ini() { # ini FORMAT: writes a.ini by printf
    # shellcheck disable=SC2059
    printf "$1" > a.ini
}
refuse() { # refuse FORMAT TEXT
    ini "$1"
    bad 3 "$2" eval --config a.ini
}
x1() { # the first line of "n = ..." of --json, for quick looks at what was taken
    sed -n 's/.*"n": \([0-9]*\),.*/\1/p' out
}

long=$(printf '%08000d' 0)

refuse '[run]\nenv\n' 'a.ini:2: expected KEY = VALUE'
refuse '[run]\n= 3\n' 'a.ini:2: a value without a key'
refuse 'env = analytic\n' 'a.ini:1: a key before the first section'
refuse '[walk]\n' 'a.ini:1: unknown section [walk]: use [run], [env], [opt], [landscape], [gradients] or [identify]'
refuse '[bench]\nenvs = analytic\n' 'a.ini:1: [bench] belongs to an experiment file, which dshost bench reads: dshost bench a.ini'
refuse '[run]\nenv = analytic\n[env torus]\n' 'a.ini:3: [env torus] belongs to an experiment file'
refuse '[run]\nenv = analytic # ours\n' "a.ini:2: env = analytic # ours: no plugin has this name (a comment after a value begins with ' ;')"
printf '[run]\nenv = analytic\nopt = rand\n[env]\ndim = 3\n' > a.ini
bad 3 "a.ini: contains settings for one run, not an experiment: use dshost run --config a.ini" bench a.ini
printf '[bench]\nenvs = analytic\nopts = rand\n[walk]\n' > a.ini
bad 3 "a.ini:4: unknown section [walk]" bench a.ini
refuse '[run\n' "a.ini:1: section without ']'"
refuse '[run] x\n' "a.ini:1: text after ']'"
refuse '[run]\nenv = analytic\nseed = 1\nseed = 2\n' "a.ini:4: 'seed' is set twice (first at a.ini:3): remove one"
refuse "[run]\n# $long 12345\nenv = $long 1\n" 'a.ini:2: line longer than 8000 bytes'
refuse '[run]\nenv = a\000b\n' 'a.ini:2: NUL byte'
refuse '[run]\nenv = \377\n' 'a.ini:2: not UTF-8 text'
refuse '[run]\n\nenv = \033[1mx\n' 'a.ini:3: not UTF-8 text, or a control character'
refuse '[run]\nbudgte = 3\n' "a.ini:2: unknown parameter 'budgte' in [run]; did you mean 'budget'?"
refuse '[run]\nbudget = many\n' 'a.ini:2: budget = many: expected a whole number from 1 to'
refuse '[run]\nseconds = 1,5\n' 'a.ini:2: seconds = 1,5: expected a number of at least 0'
refuse '[run]\nbudget = 3\n  runs = 2\n' 'a.ini:2: budget = 3 runs = 2: line 3 is indented and so continues this value'
refuse '[run]\nenv = analytic\n[env]\ndimm = 3\n' "a.ini:4: analytic: unknown parameter 'dimm' in [env]; did you mean 'dim'?"
refuse '[run]\nenv = analytic\n[env]\ndim = x\n' 'a.ini:4: analytic: dim = x: expected a whole number from 0 to'
refuse '[run]\nenv = analytic\n[env]\nfunction = spere\n' "did you mean 'sphere'?"
refuse '[run]\nenv = analytic\n[env]\ndim = 2\nlower = 1 2 3\n' 'parameter lower has 3 values'
refuse '[run]\nenv = torus\n[env]\ntarget = none.npy\n' 'a.ini:4: torus: target = none.npy: No such file or directory'

mkdir folder.ini
bad 3 'folder.ini: a folder' eval --config folder.ini
bad 3 'missing.ini: cannot be opened: No such file' eval --config missing.ini
bad 3 '/dev/null: not a regular file' eval --config /dev/null
mkfifo pipe.ini
bad 3 'pipe.ini: not a regular file' eval --config pipe.ini
head -c 1048577 /dev/zero | tr '\0' '\n' > large.ini
bad 3 'large.ini: too large: at most 1048576 bytes' eval --config large.ini
if [ "$(id -u)" -ne 0 ]; then
    : > secret.ini
    chmod 0 secret.ini
    bad 3 'secret.ini: cannot' eval --config secret.ini
fi
: > empty.ini
bad 2 'name an environment' eval --config empty.ini

ini '\357\273\277[run]\r\nenv = analytic\r\n\r\n[env] ; remark\r\nlower = -1 ; remark\r\nupper: 1 2\r\n   3 ; more\r\n\t4\r\ndim = 4'
good 'byte order mark, CRLF, remarks, continuation, no last newline' eval --config a.ini --json
[ "$(x1)" = 4 ]
result $? 'all lines were taken'
printf '[run]\nenv = analytic\n[env]\n; %s\ndim = 3\n' "$(printf '%07998d' 0)" > a.ini
good 'a line of 8000 bytes is fine' eval --config a.ini
printf '[run]\nenv = analytic\n[env]\n; %s\ndim = 3\n' "$(printf '%07999d' 0)" > a.ini
bad 3 'a.ini:4: line longer than 8000 bytes' eval --config a.ini

# --set
for a in '' dim dim=3 env.dim env.=3 .dim=3; do
    bad 3 "--set $a" eval --env analytic --set "$a"
done
bad 3 "--set evn.dim=3: unknown section 'evn': use run, env, opt, landscape, gradients or identify" eval --env analytic --set evn.dim=3
bad 3 "--set env.dimm: analytic: unknown parameter 'dimm' in [env]; did you mean 'dim'?" eval --env analytic --set env.dimm=3
bad 3 '--set env.dim: analytic: dim = -1: expected a whole number from 0 to' eval --env analytic --set env.dim=-1
bad 3 '--set env.noise: analytic: noise = 0,5: expected a number from 0 to' eval --env analytic --set env.noise=0,5
bad 3 '--set env.rotate: analytic: rotate = maybe: expected true or false' eval --env analytic --set env.rotate=maybe
bad 3 "--set env.lower: analytic: lower = 1 x: element 2 ('x'): expected a number" eval --env analytic --set 'env.lower=1 x'
bad 3 '--set run.budget: budget = 0' eval --env analytic --set run.budget=0
bad 3 '--set run.seed: seed = x' eval --set run.seed=x
bad 3 '--set env.target: torus: target = none.npy: No such file' eval --env torus --set env.target=none.npy
good 'the last --set wins' eval --env analytic --set env.dim=0 --set env.dim=7 --json
[ "$(x1)" = 7 ]
result $? 'the last --set has won'

# A section that a command does not use.
bad 3 '--set opt.k: eval does not use section [opt]: leave it out, or set one of [run], [env]' eval --env analytic --set opt.k=3
bad 3 '--set landscape.grid: run does not use section [landscape]' run --env analytic --opt rand --set landscape.grid=3
bad 3 '--set opt.k: landscape does not use section [opt]' landscape --env analytic --set opt.k=3
bad 3 '--set opt.k: gradients does not use section [opt]' gradients --env analytic --set opt.k=3
bad 3 '--set opt.k: view does not use section [opt]' view --env analytic --set opt.k=3 -o x.html
bad 3 'check: --set run.seed: analytic is an environment: only parameters of [env] can be set here' check analytic --set run.seed=3
good 'choices in letters of any case' eval --env analytic --set env.function=RosenBrock
good 'with the name of the plugin before them' eval --env analytic --set env.function=ANALYTIC_SPHERE
"$dshost" run --env analytic --opt rand --budget 5 --runs 2 --pictures no --out several >out 2>err
bad 3 '--x several: a folder of several runs: name one of them, such as several/seed-0' eval --x several
good 'eval has a time limit' eval --env analytic --timeout-s 5 --memory-mb 1000

# .ini < --set < flags, in every order.
printf '[run]\nenv = rand\nseed = 5\n[env]\ndim = 2\n' > low.ini
for order in "--config low.ini --set run.env=torus --env analytic" "--env analytic --set run.env=torus --config low.ini" \
    "--set run.env=torus --env analytic --config low.ini" "--set run.env=torus --config low.ini --env analytic"; do
    # shellcheck disable=SC2086
    good "flags win: $order" eval $order --json
    [ "$(x1)" = 2 ] && grep -q '"env": "analytic"' out
    result $? "all layers count: $order"
done
good '--set wins over a later file' eval --set env.dim=3 --set run.env=analytic --config low.ini --json
[ "$(x1)" = 3 ]
result $? '--set has won'
bad 3 "'env' is set twice (first at low.ini:2)" eval --config low.ini --config ./low.ini

# Relative names: of an .ini to its folder, of --set to the working directory.
mkdir sub
cp "$DS_TOP_BUILD/plugins/envs/.libs/analytic.so" sub/analytic.so
printf '[run]\nenv = ./analytic.so\n[env]\ndim = 6\n' > sub/b.ini
good 'a plugin beside the .ini file' eval --config sub/b.ini --json
[ "$(x1)" = 6 ]
result $? 'it is the one'
printf '0.5\n' > sub/t.txt
printf '[run]\nenv = torus\n[env]\npreset = small\nsteps = 2\nsegments = 1\ntarget = t.txt\n' > sub/c.ini
bad 3 "torus" eval --config sub/c.ini
grep -q 'No such file' err
[ $? -ne 0 ]
result $? 'an array beside the .ini file was found'
bad 3 'target = t.txt: No such file' eval --env torus --set env.target=t.txt
finish
