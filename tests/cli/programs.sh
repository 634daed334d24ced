#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# programs.sh - dshost and its other programs: their libraries, third-party commands, images.
. "$(dirname "$0")/lib.sh"
mkdir "$tmp/bin" && cd "$tmp" || exit 99
export HOME="$tmp"
libexec=$DS_TOP_BUILD/libexec

if [ -n "$DS_SANITIZE" ] || ! command -v ldd > /dev/null; then
    skip "libraries: with sanitizers, or without ldd"
else
    ldd "$dshost" "$libexec/dshost-worker" > libraries
    ! grep -q cairo libraries && ! ldd "$libexec/dshost-worker" | grep -qE 'sqlite|jansson|libz' &&
        [ "$(ldd "$libexec/dshost-worker" | wc -l)" -le 6 ]
    result $? "the host draws nothing, and a worker needs little"
fi
status 2 "a worker is not for users" "$libexec/dshost-worker"
status 0 "but has a version" "$libexec/dshost-worker" --version

# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$# $*"\nexit 7\n' > bin/dshost-foo
chmod +x bin/dshost-foo
echo > bin/dshost-text # not a program
refuses 2 "unknown command 'foo'" "a command that is not there" "$dshost" foo
PATH=$tmp/bin:$PATH
export PATH
status 7 "a command on PATH, with its exit status" "$dshost" foo a "b c"
[ "$(cat "$tmp/out")" = "2 a b c" ]
result $? "and its arguments"
good "it is listed" --help
sed -n '/^commands on PATH:/,$p' "$tmp/out" > listed
grep -qx '  foo' listed && ! grep -q text listed
result $? "and nothing else"
status 7 "help asks it" "$dshost" help foo
refuses 2 "unknown command '../foo'" "no command is a path" "$dshost" ../foo
refuses 2 "unknown command 'evl'; did you mean 'eval'?" "a command that is nearly one" "$dshost" evl

status 0 "a run" "$dshost" run --env cartpole --opt boleap --budget 12 --out run
mkdir first && mv run/best.png run/convergence.png run/convergence.svg first
status 0 "its pictures again" "$dshost" picture run
cmp first/best.png run/best.png && cmp first/convergence.png run/convergence.png &&
    cmp first/convergence.svg run/convergence.svg
result $? "are the same"
rm run/*.png
status 0 "the best alone" "$dshost" picture run --best
[ -s run/best.png ] && [ ! -e run/convergence.png ] && [ "$(cat "$tmp/out")" -ge 1 ]
result $? "with its evaluation"
status 0 "the best from another side" "$dshost" picture run --best --camera 30,8,0.8
status 2 "a camera above the zenith" "$dshost" picture run --best --camera 30,100
status 2 "pictures of nothing" "$dshost" picture
run "$dshost" picture nowhere
[ $status -eq 6 ] && grep -q '^dshost: warning: cannot draw the run: nowhere/run.sqlite' "$tmp/err"
result $? "pictures of a run that is not there"

# A copy of dshost elsewhere: what it starts is found on PATH.
mkdir other && cp "$dshost" other
DS_PLUGIN_PATH=$DS_TOP_BUILD/plugins
export DS_PLUGIN_PATH
PATH=$libexec:$PATH other/dshost run --env analytic --opt rand --budget 20 --out moved > /dev/null 2> err
[ $? -eq 0 ] && [ -s moved/best.png ] && ! grep -q warning err
result $? "programs on PATH"
prefix=$(sed -n 's/^prefix = //p' "$DS_TOP_BUILD/Makefile") # its programs are found there, too
if command -v dshost-worker > /dev/null || [ -e "$prefix/libexec/diffsim" ] || [ -e /usr/libexec/diffsim ]; then
    skip "dshost is installed here, too"
else
    # Its plugins are not its own any more, so that they are described by a worker.
    mkdir worker && printf '#!/bin/sh\nexec "%s/dshost-worker" "$@"\n' "$libexec" > worker/dshost-worker && chmod +x worker/dshost-worker
    PATH=$PWD/worker:$PATH other/dshost run --env analytic --opt rand --budget 20 --isolation none --out alone > /dev/null 2> err
    [ $? -eq 0 ] && [ "$(grep -c 'warning: no pictures: the program dshost-picture is missing' err)" -eq 1 ]
    result $? "no pictures are no failure"
    refuses 6 "the program dshost-worker is missing" "no worker is one" \
        other/dshost run --env analytic --opt rand --budget 20 --out none
    # The shell zeroes what names the layout of the shared memory, as a worker of another build has another.
    mkdir build && cat > build/dshost-worker << EOF && chmod +x build/dshost-worker
#!/bin/sh
head -c 8 /dev/zero | dd of=/proc/self/fd/4 bs=1 seek=8 conv=notrunc 2> /dev/null
exec "$libexec/dshost-worker" "\$@"
EOF
    PATH=$PWD/build:$PATH refuses 6 "analytic.*: dshost-worker is of another build than this program" "a worker of another build" \
        other/dshost run --env analytic --opt rand --budget 20 --out none
fi
finish
