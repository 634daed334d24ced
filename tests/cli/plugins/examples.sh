#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh - the example plugins as a reader would use them: compiled by one line outside the tree, found through
# DS_PLUGIN_PATH and in plugins/, evaluated, run, and tested by `dshost check`.
top=$DS_TOP_BUILD
dshost=$top/dshost
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/plugins" && cd "$tmp" || exit 99
PKG_CONFIG_PATH=$top${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
unset DS_PLUGIN_PATH
# What needs few evaluations, as in check_plugins.sh; all for hill, walk and tram, and without sanitizers with CHECK_ALL for others.
short='--only load,desc,inst.errors,env.info,eval.buffers,eval.quiet,pure.want,pure.process,search.stop,search.repeat,search.quiet'
[ -n "$DS_SANITIZE" ] || [ -z "${CHECK_ALL-}" ] || short=
HOME=$tmp
export HOME
n=0

ok() { # ok STATUS NAME: one line of TAP; the output of the last command explains a failure
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' out err 2> /dev/null
    fi
}

skip() {
    n=$((n + 1))
    echo "ok $n - $1 # SKIP $2"
}

run() { # output to the files out and err
    "$@" > out 2> err
}

# plugin_of_text ID: of a text on standard input, the whole plugin that calls itself ID: from its first #include to the
# end of the macro that announces it.
plugin_of_text() {
    awk -v id="\"$1\"" '
        /^    #include/ && !include { text = ""; open = 1 }
        { include = /^    #include/ }
        open { text = text $0 "\n" }
        open && /^    DS_(SIMPLE_|DEFINE_SIMPLE|DEFINE_ENV|ENV_KIT_DEFINE|OPT_KIT_DEFINE)/ { closing = 1 }
        closing && /\)$/ { if (index(text, id)) { printf "%s", text } open = closing = 0 }'
}

if ! command -v pkg-config > /dev/null; then
    echo "1..0 # SKIP pkg-config is missing"
    exit 0
fi
cp "$DS_TOP_SRC"/examples/*.c .

for f in hill walk hill_full walk_full bowl decay tram sweep climb drag; do
    # The line that the guide for authors gives, with the compiler of this build.
    run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror \
        -O2 -fPIC -shared -fvisibility=hidden \$(pkg-config --cflags diffsim) -o $f.so $f.c -lm"
    ok $? "$f.c compiles with one line"
    mv $f.so plugins/
done

DS_PLUGIN_PATH=$tmp/plugins run "$dshost" list
grep -q '^  hill ' out && grep -q '^  walk ' out
ok $? "both are listed through DS_PLUGIN_PATH"

run "$dshost" eval --env plugins/hill.so --gradient --fd --json
ok $? "hill evaluates by its path"
DS_PLUGIN_PATH=$tmp/plugins run "$dshost" eval --env hill --set env.friction=0
ok $? "hill evaluates by its name"
DS_PLUGIN_PATH=$tmp/plugins run "$dshost" help walk
ok $? "walk has its help"

for f in hill walk hill_full walk_full bowl decay tram sweep climb drag; do
    tests=$short
    case $f in hill | walk | tram) [ -n "$DS_SANITIZE" ] || tests= ;; esac
    run "$dshost" check $tests plugins/$f.so
    ok $? "dshost check passes $f"
done

# The whole plugins in the comments of the helpers.
for of in simple/spring simple/gusty_cart env_kit/coil scene/swinger simple_optimizer/dice simple_optimizer/slide opt_kit/stroll episode/valley episode/lamp steps/glide; do
    f=${of#*/}
    sed 's/^ \* \{0,1\}//' "$DS_TOP_SRC/include/diffsim/helper/${of%/*}.h" | plugin_of_text $f > $f.c
    run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror \
        -O2 -fPIC -shared -fvisibility=hidden \$(pkg-config --cflags diffsim) -o $f.so $f.c -lm && '$dshost' check $short ./$f.so"
    ok $? "$f of the header's comment compiles and passes dshost check"
done

# The plugin of the guide for authors, and optimizers in environments that suit them.
for f in pushed; do
    plugin_of_text $f < "$DS_TOP_SRC/docs/plugin-authors.md" > $f.c
    run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror \
        -O2 -fPIC -shared -fvisibility=hidden \$(pkg-config --cflags diffsim) -o $f.so $f.c -lm && '$dshost' check ./$f.so"
    ok $? "$f of the guide compiles and passes dshost check"
done
cp plugins/bowl.so plugins/decay.so .
for with in pushed/lbfgsb decay/lm decay/plugins/sweep.so lamp/cmaes gusty_cart/cmaes glide/ppo glide/plugins/climb.so bowl/cmaes; do
    f=${with%%/*} opt=${with#*/}
    out=found_${f}_$(basename "$opt" .so)
    "$dshost" run --env ./$f.so --opt "$opt" --budget 200 --seed 1 --pictures false --out "$tmp/$out" > out 2> err
    grep -q '"best_loss"' "$tmp/$out/summary.json"
    ok $? "$opt searches in $f"
done
for with in decay_lm/0.01 decay_sweep/0.01 pushed_lbfgsb/1e-9 bowl_cmaes/1e-3 gusty_cart_cmaes/0.1 glide_climb/3; do
    sed -n 's/.*"best_loss": *\([^,]*\),*$/\1/p' "found_${with%/*}/summary.json" > out
    awk -v most="${with#*/}" '{ found = $1 } END { exit !(NR == 1 && found < most) }' out
    ok $? "${with%/*} finds a loss below ${with#*/}"
done

# Descriptor of a short plugin.
{
    printf '#define DS_SIMPLE_VERSION "7"\n#define DS_SIMPLE_LICENSE "MIT"\n#define DS_SIMPLE_DESCRIPTION "On a spring."\n'
    cat spring.c
} > spring2.c
sed -i 's/"spring"/"spring2"/' spring2.c
run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror \
    -O2 -fPIC -shared -fvisibility=hidden \$(pkg-config --cflags diffsim) -o spring2.so spring2.c -lm && '$dshost' help ./spring2.so --json"
[ $? -eq 0 ] && grep -q '"version": "7", "license": "MIT"' out && grep -q '"description": "On a spring."' out
ok $? "version, license and description of a short plugin"

# Descriptors of the examples.
run "$dshost" eval --env plugins/hill.so --gradient --json && grep -q '"gradient_kind": "forward"' out
ok $? "hill reports the kind of its gradient"
run "$dshost" view --env plugins/hill.so --x 0.5,2 -o short.html && run "$dshost" eval --env plugins/hill.so --x 0.5,2 --trajectory short.npz &&
    grep -q '"name":"ball","shape":"sphere"' short.html && grep -q '"frames":201' short.html
ok $? "what hill tells of itself is shown"
run "$dshost" view --env plugins/hill_full.so -o hill.html && run "$dshost" view --env plugins/hill_full.so -o hill.png --every 50 &&
    grep -q '"goal"' hill.html && [ -s hill.png ] && run "$dshost" help ./plugins/hill_full.so && run "$dshost" eval --env plugins/hill_full.so --channels && grep -q miss out
ok $? "what hill_full tells of itself is shown"

# Copied into plugins/ of a built tree. The tree is a copy, because other tests list the plugins of the real one.
mkdir -p tree/plugins/envs && cp -s "$top/plugins/envs/analytic.so" tree/plugins/envs/ && cp -r "$dshost" "$top/libexec" "$top/.dshost-build" tree/ &&
    cp plugins/hill.so plugins/walk.so tree/plugins/
run tree/dshost list
grep -q '^  hill ' out && grep -q '^  walk ' out
ok $? "both are found in plugins/ of a build tree"
if "$dshost" --help | grep -q '^  run '; then
    run tree/dshost --env tree/plugins/hill.so --opt walk.so --budget 300 --seed 1 --out "$tmp/result"
    ok $? "walk optimizes hill"
    test -s "$tmp/result/run.sqlite" && test -s "$tmp/result/summary.json"
    ok $? "the run left its result folder"
else
    skip "walk optimizes hill" "this dshost has no run command"
    skip "the run left its result folder" "this dshost has no run command"
fi
# Both sides in another program: the same search as dshost's.
run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror -O2 $DS_SANITIZE \$(pkg-config --cflags libdiffsim) -o embed embed.c \
    \$(pkg-config --libs libdiffsim)"
ok $? "embed.c compiles with one line"
DS_PLUGIN_PATH=$top/plugins run ./embed cartpole boleap 120
"$dshost" run --env cartpole --opt boleap --budget 120 --seed 0 --pictures false --out "$tmp/embedded" > /dev/null 2>&1
sed -n 's/.*"best_loss": *\([^,]*\),*$/\1/p' "$tmp/embedded/summary.json" > of_run
sed 's/ after .*//' out > of_embed
awk 'NR == FNR { a = $1; next } { exit !(a != "" && a + 0 == $1 + 0) }' of_run of_embed && test -s of_embed
ok $? "embed finds the best loss of dshost's run"
DS_PLUGIN_PATH=$top/plugins run ./embed cartpole no_such 5
test $? -ne 0 && grep -q "no_such" err
ok $? "embed says what it does not find"


# An environment by itself, a whole run, and a search whose losses the program measures.
for f in embed_environment embed_run embed_record; do
    run sh -c "${DS_CC:-cc} -Wall -Wextra -Wpedantic -Werror -O2 $DS_SANITIZE \$(pkg-config --cflags libdiffsim) -o $f $f.c \
        \$(pkg-config --libs libdiffsim) -lm"
    ok $? "$f.c compiles with one line"
done
DS_PLUGIN_PATH=$top/plugins run ./embed_environment pendulum
[ $? -eq 0 ] && grep -q '^metric .* rad' out && grep -q '^body .* m$' out &&
    awk '/^loss/ { a = $2 } /^stepwise loss/ { b = $3 + 0 == a + 0 } END { exit !b }' out
ok $? "embed_environment: metrics, bodies, and the same loss step by step"
DS_PLUGIN_PATH=$top/plugins run ./embed_environment analytic
[ $? -eq 0 ] && awk '/^loss/ { a = $2 } /^channel .* sum of squares/ { d = $NF - a } END { exit !(a != "" && d * d < 1e-18 * a * a) }' out
ok $? "embed_environment: the residuals of a sum of squares"
DS_PLUGIN_PATH=$top/plugins run ./embed_environment "$top/tests/plugins/.libs/faulty.so" "fault = segv
above = 0.5"
[ $? -eq 0 ] && grep -q 'has no loss: the worker ' out
ok $? "embed_environment goes on where the environment crashes"
DS_PLUGIN_PATH=$top/plugins run ./embed_run cartpole boleap ran 80
DS_PLUGIN_PATH=$top/plugins run ./embed_run cartpole boleap ran 120
[ $? -eq 0 ] && grep -q 'after 120 evaluations, 80 of them recorded before (budget)' out
ok $? "embed_run runs, and goes on"
run "$dshost" resume ran
[ $? -eq 0 ] && grep -q 'nothing to do' err
ok $? "its folder is that of a run of dshost"
for k in once twice; do
    DS_PLUGIN_PATH=$top/plugins run ./embed_record cmaes whole-$k 60
done
DS_PLUGIN_PATH=$top/plugins run ./embed_record cmaes parts 60 20
DS_PLUGIN_PATH=$top/plugins run ./embed_record cmaes parts 60
[ $? -eq 0 ] && grep -q 'after 60 evaluations, [1-4][0-9] of them measured now' out
ok $? "embed_record goes on"
for k in whole-once parts; do
    "$dshost" export "$k" --format csv --no-times > out 2> err
done
cmp whole-once/export/evaluations.csv parts/export/evaluations.csv > out 2>&1 && test -s parts/export/evaluations.csv
ok $? "to the same record as in one go, which dshost exports"
run "$dshost" compare whole-once whole-twice
ok $? "dshost compares it"
run "$dshost" report whole-once parts --out page
[ $? -eq 0 ] && test -s page/index.html
ok $? "dshost reports it"
run "$dshost" resume parts
[ $? -eq 2 ] && grep -q 'made by a program (ball)' err
ok $? "dshost does not go on with it, and says who does"

run "$dshost" run --config "$DS_TOP_SRC/examples/quick.ini" --pictures false --out "$tmp/quick"
ok $? "examples/quick.ini reaches its target"

# The script of the landscape slices, on the small preset; the second call continues.
for i in 1 2; do
    DSHOST=$dshost TASKS=writer run sh "$DS_TOP_SRC/examples/paper/slices.sh" "$tmp/slices" --grid 3x3 --samples 2 --jumps 2 \
        --set env.preset=small --pictures false
    [ "$(grep -c '^writer .*[0-9] \.\. [0-9].* [0-9.]* \.\. [0-9.]*$' out)" -eq 3 ] && [ "$(wc -l < out)" -eq 4 ]
    ok $? "slices.sh measures three slices of writer, call $i"
done
DSHOST=$dshost TASKS=writer run sh "$DS_TOP_SRC/examples/paper/slices.sh" "$tmp/slices2" --grid none
[ $? -ne 0 ] && grep -q 'grid' err
ok $? "slices.sh shows why it ended"
DSHOST=$dshost TASKS="writer nonsense" run sh "$DS_TOP_SRC/examples/paper/slices.sh" "$tmp/slices3"
[ $? -eq 2 ] && [ ! -s out ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "no task 'nonsense'; there are: assembly table" err && [ ! -e slices3 ]
ok $? "slices.sh refuses a task that is not there"

# Which program the scripts of the paper take, in a clone with programs that print where they are.
mkdir -p clone/examples/paper/control there
cp "$DS_TOP_SRC/examples/paper/dshost.sh" clone/examples/paper
printf '. "$(dirname "$0")/../dshost.sh"\n"$dshost"\n' > clone/examples/paper/control/where.sh
for i in clone there; do
    printf '#!/bin/sh\necho %s\n' "$i" > $i/dshost && chmod +x $i/dshost
done
where() {
    (unset DSHOST && PATH=${2-/usr/bin:/bin} && export PATH && sh clone/examples/paper/control/where.sh) > out 2> err
    [ $? -eq 0 ] && [ "$(cat out)" = "$1" ]
}
if PATH=/usr/bin:/bin command -v dshost > /dev/null; then
    skip "the scripts of the paper take the program of their clone" "dshost is installed"
else
    where clone
    ok $? "the scripts of the paper take the program of their clone"
    where there "$tmp/there:/usr/bin:/bin"
    ok $? "before it the one of the PATH"
    rm clone/dshost && ! where clone && [ "$(wc -l < err)" -eq 1 ] && grep -q 'build the clone or set DSHOST' err
    ok $? "without any, they say what to do"
fi
(cd "$DS_TOP_SRC/examples/paper" && grep -l '"$dshost"' ./*.sh ./*/*.sh | xargs grep -L 'dshost\.sh' | grep -v '^\./dshost\.sh$') > out
[ ! -s out ]
ok $? "all of them look for it in this way"

if [ -n "$DS_SANITIZE" ] || [ -z "${CHECK_ALL-}" ]; then
    skip "soft.sh" "with CHECK_ALL set and without sanitizers (make check-slow)"
    echo "1..$n"
    exit 0
fi
# Table 3 of gradSim on a beam and a ball, which are found by so few evaluations; the second call has nothing left to do.
for i in 1 2; do
    DSHOST=$dshost run sh "$DS_TOP_SRC/examples/paper/gradsim/soft.sh" "$tmp/soft" --budget 30 \
        --only 'ball@object=1/lm' --only 'beam@object=1/lm'
    grep -q '^ball: 0 of 1 not found, 0 searched for again; the others by 2[0-9] evaluations in the mean, median 2[0-9], most 2[0-9]$' out &&
        grep -q '^beam: 0 of 1 not found' out && [ "$(wc -l < "$tmp/soft/errors.csv")" -eq 7 ] &&
        awk -F, 'NR > 1 { bad += $3 != ($1 == "both" ? 2 : 1) || !($4 < 1e-4) } END { exit bad > 0 || NR != 7 }' \
            "$tmp/soft/errors.csv"
    ok $? "soft.sh makes the table of a beam and a ball, call $i"
done
[ "$(find "$tmp/soft" -name summary.json | wc -l)" -eq 2 ]
ok $? "soft.sh runs each object once"

# What a search has lost is searched for again, and its better run counts.
DSHOST=$dshost run sh "$DS_TOP_SRC/examples/paper/gradsim/soft.sh" "$tmp/soft2/" --budget 4 --only 'beam@object=1/lm'
grep -q '^beam: 0 of 1 not found, 1 searched for again; the others by' out &&
    [ -f "$tmp/soft2/beam@object=1/leaprefine/seed-1001/summary.json" ] &&
    awk -F, 'NR > 1 { bad += $3 != 1 || !($4 < 1e-4) } END { exit bad > 0 || NR != 5 }' "$tmp/soft2/errors.csv"
ok $? "soft.sh searches again for a beam that is lost"
echo "1..$n"
