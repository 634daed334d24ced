#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# plugins.sh - finding and refusing plugin files, and the commands that describe them: list, help, template,
# doctor.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME
cc="${DS_CC:-cc} ${DS_SANITIZE-} -fPIC -shared"

# ---- files that are not plugins ----
bad 4 "no environment 'nothing' on the plugin path; \`dshost list\` lists all plugins" eval --env nothing
bad 4 "no plugin 'analitic' on the plugin path; did you mean 'analytic'?" help analitic
bad 4 "no optimizer 'rupe' on the plugin path; \`dshost list\` lists all plugins" run --env analytic --opt rupe --out none # 'rope' is none
bad 4 "no environment 'rupe' on the plugin path; did you mean 'rope'?" eval --env rupe
bad 4 "no environment 'racet' on the plugin path; \`dshost list\` lists all plugins" eval --env racet
bad 4 "no optimizer 'racet' on the plugin path; did you mean 'racer'?" run --env analytic --opt racet --out none
bad 4 "./nothing.so: cannot be opened: No such file" eval --env ./nothing.so
mkdir folder folder.so
bad 4 "./folder: a plugin file must be called ID.so" eval --env ./folder
bad 4 "a plugin file must be called ID.so" eval --env ./
: > scene.ini
bad 4 "scene.ini: a plugin file must be called ID.so; a scene or task is a parameter of its environment, as in --env particles --set env.scene=" eval --env ./scene.ini
bad 4 "a folder, expected a shared object" eval --env ./folder.so
: > empty.so
bad 4 "an empty file" eval --env ./empty.so
echo text > text.so
bad 4 "not a shared object (no ELF header)" eval --env ./text.so
mkfifo pipe.so
bad 4 "not a regular file, expected a shared object" eval --env ./pipe.so
head -c 3000 "$DS_TOP_BUILD/plugins/envs/.libs/analytic.so" > cut.so
bad 4 "damaged" eval --env ./cut.so
cp "$(command -v sh)" program.so
run "$dshost" eval --env ./program.so
[ $status -eq 4 ] && [ "$(wc -l < err)" -eq 1 ]
result $? "a program is no plugin"
cp "$DS_TOP_BUILD/plugins/envs/.libs/analytic.so" other.so
bad 4 "the plugin calls itself 'analytic' but the file is 'other.so': rename one" eval --env ./other.so
if [ "$(id -u)" -ne 0 ]; then
    cp other.so secret.so
    chmod 0 secret.so
    bad 4 "cannot be opened: Permission denied" eval --env ./secret.so
fi

echo 'int f(void) { return 1; }' > foreign.c
if $cc -o foreign.so foreign.c 2> err; then
    bad 4 "no function ds_plugin_query: not a diffsim plugin" eval --env ./foreign.so
    echo 'int g(void); int f(void) { return g(); }' > unresolved.c
    $cc -o unresolved.so unresolved.c
    bad 4 "cannot be loaded: undefined symbol: g" eval --env ./unresolved.so
    printf 'const void *ds_plugin_query(void);\nconst void *ds_plugin_query(void) { return 0; }\n' > null.c
    $cc -o null.so null.c
    bad 4 "ds_plugin_query() returned NULL" eval --env ./null.so
    sed 's/return 0;/static const unsigned m[64]; return m;/' null.c > magic.c
    $cc -o magic.so magic.c
    bad 4 "magic number is 00000000, expected 31505344: not a diffsim plugin" eval --env ./magic.so
    sed 's/return 0;/static const unsigned m[64] = {0x31505344, 256, 7, 9, 0x01080804}; return m;/' null.c > future.c
    $cc -o future.so future.c
    bad 4 "built for plugin ABI 7.9, this host has " eval --env ./future.so
    # A plugin finds the function of another library through its dependencies: that is not its own.
    mkdir deps
    cp "$DS_TOP_BUILD/plugins/envs/.libs/analytic.so" deps/
    $cc -o borrowed.so foreign.c -Wl,--no-as-needed,-rpath,"$PWD/deps" deps/analytic.so 2> err &&
        bad 4 "no function ds_plugin_query: not a diffsim plugin" eval --env ./borrowed.so
    if [ -z "${DS_SANITIZE-}" ]; then
        $cc -Ofast -o fast.so foreign.c 2> err
        run "$dshost" eval --env ./fast.so
        [ $status -eq 4 ] && grep -qE 'floating-point mode|no function ds_plugin_query' err
        result $? "-Ofast is refused"
        if $cc -fsanitize=address -o asan.so foreign.c 2> err && grep -q libasan asan.so; then
            bad 4 "built with -fsanitize=address, this dshost is not" eval --env ./asan.so
        fi
    fi
    # Start-up code that crashes costs a line of the list.
    mkdir crash
    printf '#include <signal.h>\n__attribute__((constructor)) static void c(void) { raise(SIGKILL); }\n' > crash.c
    $cc -o crash/crash.so crash.c
    few "$tmp/few" envs/analytic optimizers/rand
    DS_PLUGIN_PATH=$PWD/crash run "$few" list
    [ $status -eq 0 ] && grep -q 'crash.so: its start-up code ended the process with signal 9' out && grep -q '^  analytic' out
    result $? "list survives start-up code that crashes"
    DS_PLUGIN_PATH=$PWD/crash run "$few" doctor
    [ $status -eq 1 ] && grep -q '^plugins_refused .*crash.so' out
    result $? "doctor says so and ends with 1"
else
    skip "plugins that are refused: no compiler"
fi

# ---- search path ----
mkdir -p lib/envs .local/lib/diffsim/optimizers
cp "$DS_TOP_BUILD/plugins/envs/.libs/analytic.so" lib/envs/
cp "$DS_TOP_BUILD/plugins/optimizers/.libs/rand.so" .local/lib/diffsim/optimizers/
DS_PLUGIN_PATH=:/nonexistent:$PWD/lib: run "$dshost" list
[ $status -eq 0 ] && [ ! -s err ] && [ "$(grep -c '^  analytic ' out)" -eq 1 ] && grep -q 'analytic.so: shadowed by another' out
result $? "the first one on the path wins, the others are listed as shadowed"
DS_PLUGIN_PATH=$PWD/lib run "$dshost" help analytic
grep -qF "$PWD/lib/envs/analytic.so" out
result $? "DS_PLUGIN_PATH comes first"
good "home" help rand
has ".local/lib/diffsim/optimizers/rand.so" "then ~/.local/lib/diffsim"
good "a file name" help analytic.so
good "a path" help "$DS_TOP_BUILD/plugins/envs/analytic.so"
ln -s "$DS_TOP_BUILD/plugins/envs/analytic.so" analytic.so
good "a link" help ./analytic.so

# ---- descriptions ----
good "list --json" list --json
grep -q '^\[{"id": ' out && grep -q '"kind": "optimizer"' out
result $? "list --json is an array"
good "help --json" help analytic --json
has '"name": "dim", "type": "int", "default": "0", "min": 0.0' "help --json has the schema"
has '"extensions": ["ds.env.channels/1"]' "help --json has the extensions"
good "help run" help run
has "budget = 1000" "help run shows the defaults"
good "help run --json" help run --json
has '"id": "run"' "help run --json is an object"
good "help of an environment" help analytic
has "With the default parameters: 10 variables (each -5 to 5); gradient; residual residuals (10); may have noise." "tells its variables, their bounds, its gradient"
good "help of another one" help cartpole_gym
has "500 variables (each -1 to 1); no gradient; 500 output steps; stepwise control, 500 steps" "tells its steps"
good "help of one with one variable" help ffi
has "With the default parameters: 1 variable (0 to 20); no gradient." "has it in the singular"
good "help --json" help bounce --json
has '"default_problem": {"n": 3, "lower": [' "has the same"
good "help with settings" help double_pendulum --set env.variant=damping --set env.n_samples=20
has "With these settings: 2 variables (each -1 to 1); gradient; 19 output steps" "tells the problem that they make"
has "  output  joint_torque.1-2     [N m]" "and hook points that the defaults do not have"
has "  input   joint_rate.1-2       [rad/s]" "with their inputs"
good "help --set --json" help double_pendulum --set env.variant=damping --json
has '{"name": "joint_torque", "kind": "output", "count": 2, "unit": "N m",' "has them"
bad 2 "help: --set opt.j=3: expected env.NAME=VALUE" help double_pendulum --set opt.j=3
bad 2 "help: --set: rand is an optimizer, which has no problem to describe" help rand --set env.dim=3
good "help with a setting that is none" help bounce --set env.colour=red
has "With these settings it cannot be used: " "says so"
bad 3 "colour" help bounce --set env.colour=red --json
bad 2 "help: --set: run is a command: name an environment" help run --set env.dim=3
bad 2 "help: --set: list is a command" help list --set env.dim=3
mkdir alone
cp "$dshost" "$DS_TOP_BUILD"/libexec/dshost-list "$DS_TOP_BUILD"/libexec/dshost-doctor alone/
HOME=$tmp/alone run alone/dshost doctor
if grep -q '^plugin_path  *none' out; then
    [ $status -eq 1 ] && grep -q '^plugins  *0$' out && grep -q "^not_there  *$tmp/alone/.local/lib/diffsim" out
    result $? "a program without plugins: doctor ends with 1"
    HOME=$tmp/alone run alone/dshost list
    [ $status -eq 0 ] && grep -q '^no plugins were found; these folders were searched:' out && grep -q "^  $tmp/alone/.local/lib/diffsim (missing)" out
    result $? "and list says where it searched"
elif grep -q '^plugin_path  */' out; then
    skip "a program without plugins: a copy is installed at the prefix, so it finds those"
else
    result 1 "a program without plugins: doctor tells its plugin path"
fi
good "doctor --json" doctor --json
has '"plugin_path": [' "doctor --json has the path"
mkdir readonly && chmod 555 readonly
if [ "$(id -u)" -ne 0 ]; then
    (cd readonly && "$dshost" doctor > ../out 2> ../err)
    [ $? -eq 1 ] && grep -q '^write_here  *failed: ' out
    result $? "doctor notices a folder that cannot be written"
fi

# Templates can be read again, with every parameter set. The sections of a template are independent, so the first
# environment is combined with all optimizers, each other environment with the next optimizer.
set -- "$DS_TOP_BUILD"/plugins/optimizers/*.so
beside="$*"
skipped=0
for e in "$DS_TOP_BUILD"/plugins/envs/*.so; do
    # Sanitizers make a process slow to start, and see every environment in tests/fuzz/parameters.
    skipped=$(((skipped + 1) % 4))
    [ -z "${DS_SANITIZE-}" ] || [ $skipped -eq 1 ] || continue
    for o in $beside; do
        id=$(basename "$e" .so)
        run "$dshost" template "$id" "$(basename "$o" .so)" --all
        status1=$status
        sed 's/^; //' out > all.ini
        awk 'length > 8000 { bad = 1 } END { exit bad }' out
        lines=$?
        run "$dshost" eval --config all.ini --set run.env=analytic --config /dev/null
        # The run section was read before the refusal of /dev/null, which proves it; now section [env] of the plugin.
        sed -n '/^\[env\]/,/^\[opt\]/p' all.ini | sed '$d' > env.ini
        printf '[run]\nenv = %s\n' "$id" > one.ini
        cat env.ini >> one.ini
        [ $status1 -eq 0 ] && [ $lines -eq 0 ] && grep -q '/dev/null: not a regular file' err
        result $? "template $id $(basename "$o" .so) is a valid .ini"
    done
    sed 's/^preset = full/preset = small/; s/^steps = 0/steps = 2/; s/^segments = 5/segments = 1/' one.ini > small.ini
    run "$dshost" eval --config small.ini
    [ $status -eq 0 ]
    result $? "$id runs with the parameters of its template"
    beside=$1
    set -- "$@" "$1"
    shift
done
good "a template with a path" template "$DS_TOP_BUILD/plugins/envs/analytic.so" rand
grep -qF "env = $DS_TOP_BUILD/plugins/envs/" out
result $? "keeps the path"
bad 4 "no environment 'nope'" template nope rand
bad 4 "rand is an optimizer, but an environment is expected here" template rand rand
"$dshost" list >out 2>err && grep -q '^environments  *variables  *gradient  *family$' out && grep -q '^  torus  *15  yes  *PlasticineLab  Press' out && grep -q '^  cartpole_gym  *500  no  *rigid ' out &&
    [ "$(awk '/^[a-z]/ { kind = $1 } /^  / && kind == "environments" && ($2 !~ /^[0-9]+$/ || $4 == "-")' out)" = "" ]
result $? "list: number of variables, gradient and family of every environment of this host"
"$dshost" list --json >out 2>err && grep -q '"id": "lqr", "kind": "environment".*"variables": 10000, "gradient": "yes", "family": "smoothing"' out
result $? "so does --json"
finish
