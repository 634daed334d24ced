#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# flags.sh - the command line: help, version, every wrong flag with its one line and exit status 2.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 99
HOME=$tmp
export HOME

good "--version" --version
grep -qE '^dshost [0-9]+\.[0-9]+\.[0-9]+ \(plugin ABI [0-9]+\.[0-9]+\)$' out
result $? "--version has version and ABI"
good "--help" --help
has "usage: dshost" "--help goes to stdout"
good "-h" -h
run "$dshost"
[ $status -eq 2 ] && [ ! -s out ] && grep -q '^usage: dshost' err
result $? "without arguments: usage on stderr, status 2"

for c in run resume export eval gradients landscape list help template new doctor; do
    good "$c --help" $c --help
    grep -q "^usage: dshost .*$c" "$tmp/out"
    result $? "$c --help shows its usage"
    good "$c -h" $c -h
    bad 2 "$c: unknown flag --bogus; \`dshost $c --help\` lists all flags" $c --bogus
    bad 2 "$c: unknown flag -z" $c -z
done
good "help of a command" help eval
has "usage: dshost eval" "help eval is eval --help"

bad 2 "unknown command 'evall'; did you mean 'eval'?" evall
bad 2 "unknown command 'banana'; \`dshost --help\` lists them" banana

bad 2 "eval: unknown flag --gradeint; did you mean --gradient?" eval --gradeint
bad 2 "eval: unknown flag --evn; did you mean --env?" eval --evn=analytic
bad 2 "eval: ambiguous flag --t" eval --t 3
bad 2 "eval: --env needs a value" eval --env
bad 2 "eval: --set needs a value" eval --env analytic --set
bad 2 "eval: --json takes no value" eval --json=yes
bad 2 "eval: --fd takes no value" eval --env analytic --fd=1
bad 2 "landscape: unknown flag --no-gr; did you mean --no-gradient?" landscape --no-gr=1
bad 2 "eval: unknown flag -j" eval --json -jz
bad 2 "eval: unknown flag -z" eval --env analytic -z
bad 2 "eval: unexpected argument 'analytic'" eval analytic
bad 2 "eval: name an environment with --env" eval
bad 2 "list: unexpected argument 'x'" list x
good "help alone" help
has "usage: dshost [COMMAND]" "is --help"
bad 2 "help: name one plugin" help --json
bad 2 "help: name one plugin" help a b
bad 2 "template: name one environment and one optimizer" template analytic
bad 2 "template: name one environment and one optimizer" template a b c

bad 2 "--seed: seed = -1: expected a whole number from 0 to 18446744073709551615" eval --env analytic --seed -1
bad 2 "--seed: seed = 18446744073709551616" eval --env analytic --seed 18446744073709551616
bad 2 "--seed: seed = 1e3" eval --env analytic --seed=1e3
bad 2 "--threads: threads = 0: expected a whole number from 1 to 1024" eval --env analytic --threads 0
bad 2 "--isolation: isolation = fork: expected one of process, none" eval --env analytic --isolation fork
bad 2 "--x random:-3: expected random:SEED" eval --env analytic --x random:-3
bad 2 "--x random: expected random:SEED" eval --env analytic --x random:

# Errors of syntax are reported before errors of files, and those before missing flags.
bad 2 "unknown flag --bogus" eval --config missing.ini --bogus
bad 2 "unknown flag --bogus" run --config missing.ini --bogus
bad 2 "resume: unexpected argument 'b'" resume a b
bad 3 "missing.ini: cannot be opened" eval --config missing.ini
bad 3 "missing.ini: cannot be opened" --config missing.ini

# Flags anywhere, also where POSIXLY_CORRECT is set; "--" ends them; the last of one flag wins.
POSIXLY_CORRECT=1 run "$dshost" help analytic --json
[ $status -eq 0 ] && grep -q '^{' out
result $? "flags behind arguments with POSIXLY_CORRECT"
bad 2 "unexpected argument '--json'" eval --env analytic -- --json
good "the last --seed wins" eval --env analytic --seed -1 --seed 2
good "--x=center" eval --env=analytic --x=center --gradient
bad 2 "eval: unknown flag --grad; did you mean --gradient?" eval --env=analytic --grad
bad 2 "eval: unknown flag --thr; did you mean --threads?" eval --thr 3 --env analytic
bad 2 "run: unknown flag --verify" run --verify false
bad 2 "run: unknown flag --bud; did you mean --budget?" run --bud=5
bad 2 "landscape: unknown flag --sampl; did you mean --samples?" landscape --env analytic --sampl 3
bad 4 "'' is not a valid plugin name" help ''
finish
