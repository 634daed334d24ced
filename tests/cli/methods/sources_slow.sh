#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sources_slow.sh - docs/sources.md: no row is empty, each command has its time, and it runs in that time. Commands of at most
# DS_SOURCES_MINUTES (1; all = every command) are run; of longer experiments the plan is made.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
page=$DS_TOP_SRC/docs/sources.md limit=${DS_SOURCES_MINUTES-1}
for folder in examples python docs; do
    ln -s "$DS_TOP_SRC/$folder" $folder
done
ln -s "$DS_TOP_BUILD/bench" bench
PATH=$DS_TOP_BUILD:$PATH DSHOST=$dshost PYTHONPATH=$DS_TOP_SRC/python
export PATH DSHOST PYTHONPATH

# Rows: LINE TAB item TAB where TAB command TAB result, without heads.
awk -F ' *[|] *' -v OFS='\t' '/^\|/ && $2 != "item" && $2 !~ /^-/ { print NR, $2, $3, $4, $5 }' "$page" > rows
awk -F '\t' '{ for (i = 2; i <= 5; i++) if ($i == "") print "line " $1 ": cell " i - 1 " is empty" }
    $4 == "none" && $5 !~ /\*\*not reached\*\*: ./ { print "line " $1 ": " $2 " has no command, and no reason" }' rows > out
[ -s rows ] && [ ! -s out ]
result $? "every row has an item, a page, a command and a result; no command only with a reason: $(tr '\n' ' ' < out)"

# Commands: LINE TAB minutes TAB command. One without a time has "-"; folders, links and "the same" are no commands.
awk -F '\t' -v OFS='\t' '{
    rest = $4
    while (match(rest, /`[^`]*`/)) {
        command = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        if (command ~ /\/$/ || command ~ /^-/) continue
        minutes = "-"
        if (match(rest, /^ *\([0-9.]+( min| s)?/)) {
            minutes = substr(rest, RSTART, RLENGTH)
            seconds = minutes ~ / s$/
            gsub(/[^0-9.]/, "", minutes)
            minutes = seconds ? minutes / 60 : minutes
        }
        print $1, minutes, command
    }
}' rows > commands
awk -F '\t' '$2 == "-" { print "line " $1 ": no time is given for " $3 }' commands > out
[ -s commands ] && [ ! -s out ]
result $? "every command has its time"

# File names stand for what runs them.
file_of() {
    for folder in . examples examples/paper examples/paper/control examples/paper/gradsim; do
        [ -f "$folder/$1" ] && echo "$folder/$1" && return
    done
    echo "$1"
}
# Seconds of processor time of all children so far, in $spent. A subshell would report its own.
count_time() {
    times > times
    spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } printf "%.1f\n", sum }' times)
}

while IFS='	' read -r line minutes command; do
    [ "$minutes" != - ] || continue # told above
    run=$command
    case $command in
    *.ini) run="dshost bench $(file_of "${command#dshost bench }")" ;;
    make\ *) run=${command#*&& } ;; # it is built
    *.sh | *.sh\ *) run="sh $(file_of "${command%% *}") $(case $command in *\ *) echo "${command#* }" ;; esac)" ;;
    esac
    case $run in
    bench/*)
        program=${run%% *}
        make -C "$DS_TOP_BUILD" "$program" > out 2>&1 || { result 1 "line $line: make $program"; continue; }
        ;;
    esac
    if [ "$limit" != all ] && awk "BEGIN { exit !($minutes > $limit) }"; then
        case $run in
        dshost\ bench*) run="$run --dry-run" minutes=1 ;;
        *) skip "line $line: $command takes $minutes minutes"; continue ;;
        esac
    fi
    count_time
    before=$spent
    sh -c "$run" > out 2> err < /dev/null
    status=$?
    count_time
    seconds=$(awk "BEGIN { print $spent - $before }")
    echo "# $seconds s of processor time, stated are $minutes minutes on two cores"
    result $status "line $line: $run"
    # Half more than stated, rounded to a minute, for slower processors.
    awk "BEGIN { exit !($seconds <= 1.5 * 2 * 60 * ($minutes + 0.5)) }"
    result $? "line $line: in the stated time"
done < commands
finish
