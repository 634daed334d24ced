#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports of optimizers (diffsim/ext/draft/progress.h) are in the record, in export, report and `view --live`; they are the same
# for any number of jobs, with an isolated optimizer, after a kill and after an extension; invalid reports end the run.
. "$(dirname "$0")/../lib.sh"
cd "$tmp" || exit 99
reporter=$DS_TOP_BUILD/tests/plugins/.libs/reporter.so

# go FOLDER ARGUMENT...
go() {
    folder=$1
    shift
    run "$dshost" run --env analytic --set env.dim=3 --opt "$reporter" --seed 3 --budget 60 --pictures no --out "$folder" "$@"
}

go whole --set opt.point=0
result $? "a run with reports"
"$dshost" export whole --format csv --no-times --out whole.csv
head -n 1 whole.csv | grep -q ',progress\.sum,progress\.table\.number$' &&
    awk -F, 'NR > 1 { here = $NF != ""; sum = $(NF - 1); id = $1
        if (here != (id % 10 == 1) || (here && $NF != (id + 9) / 10)) exit 1
        if ((sum != "") != (here && id > 20) || sum + 0 < 0) exit 1
    } END { exit NR != 61 }' whole.csv
result $? "export: columns of the last value before a table, empty elsewhere and where it is not finite"
"$dshost" export whole --format jsonl --no-times --out whole.jsonl
[ "$(grep -c '"progress":{"sum":null,"table.number":[12]},"recommended":\[0,0,0\]}$' whole.jsonl)" -eq 2 ] &&
    [ "$(grep -c '"recommended"' whole.jsonl)" -eq 6 ]
result $? "export: JSON lines have an object, and the recommended point"
if command -v python3 >/dev/null; then
    "$dshost" export whole --format npz --no-times --out whole.npz && python3 - <<'END'
import struct, sys, zipfile
z = zipfile.ZipFile("whole.npz")
def array(name):
    data = z.read(name + ".npy")
    return data[10 + struct.unpack("<H", data[8:10])[0]:]
number = struct.unpack("<60d", array("progress.table.number"))
ids = struct.unpack("<6Q", array("recommended_id"))
sys.exit(not (number[10] == 2 and number[11] != number[11] and ids == (1, 11, 21, 31, 41, 51)
              and array("recommended") == bytes(18 * 8)))
END
    result $? "export: NumPy arrays"
else
    skip "export to NumPy: no python3"
fi

go here --set opt.point=0 --isolate-optimizer false --jobs 2
result $? "in the process of the host"
same "the same record" whole here
go quiet --set opt.quiet=true
"$dshost" export whole --format csv --no-times --out - | awk 'BEGIN { FS = OFS = "," } { NF -= 2; print }' >loud.csv
"$dshost" export quiet --format csv --no-times --out - | cmp -s - loud.csv
result $? "the same evaluations as without reports"
go fixed --set opt.point=0 --fix 1=0.25
"$dshost" export fixed --format jsonl --no-times --out - | grep -q '"recommended":\[0,0.25,0\]'
result $? "with a fixed variable, the recommended point has it"

# An extended run, and one that is killed.
go short --budget 25 --set opt.point=0
run "$dshost" resume short --budget 60
result $? "an extension in the middle of a table"
same "has the record of an undisturbed run" short whole
cp -r whole half
if command -v sqlite3 >/dev/null; then
    [ "$(sqlite3 half/run.sqlite 'pragma user_version; select count(*) from progress')" = "$(printf '3\n6')" ] &&
        [ "$(sqlite3 quiet/run.sqlite 'pragma user_version')" = 2 ]
    result $? "the table is there where something was reported, with a format that older hosts refuse"
    sqlite3 half/run.sqlite "update progress set names = 'sum other' where id = 21"
    refuses 6 "damaged: progress 21 (numbers or texts)" "a damaged report is found" "$dshost" export half --format csv
    run "$dshost" resume half --repair && same "repaired and resumed: the same record" half whole
    old_format quiet
    run "$dshost" resume quiet --budget 70 && [ "$(rows quiet)" -eq 70 ]
    result $? "a record of format 1 continues"
fi
kills=0
for wait in 0.3 0.35 0.4 0.45; do
    if [ -f killed/run.sqlite ]; then
        "$dshost" resume killed >/dev/null 2>&1 &
    else
        "$dshost" run --env analytic --set env.dim=3 --opt "$reporter" --seed 3 --budget 60 --pictures no --set opt.point=0 \
            --set opt.wait=0.1 --out killed >/dev/null 2>&1 &
    fi
    pid=$!
    sleep $wait
    kill -9 $pid && kills=$((kills + 1))
    wait $pid 2>/dev/null
done
[ $kills -gt 0 ]
result $? "$kills kills at work"
run "$dshost" resume killed && same "killed and resumed: the same record" killed whole

# Noise: the recommended point is the optimum.
go noisy --set env.optimum=origin --set env.noise=0.05 --set opt.point=0
grep -q '"from": "recommended by the optimizer"' noisy/summary.json
result $? "under noise the point that the optimizer recommends is evaluated, and wins"

for fault in name:"the name of scalar 0" many:"33 scalars" outside:"outside of its bounds" size:"struct_size is 4"; do
    for apart in true false; do
        go "bad-${fault%%:*}-$apart" --set "opt.fault=${fault%%:*}" --isolate-optimizer $apart
        case $fault.$apart in size*.true) text="report()" ;; *) text=${fault#*:} ;; esac
        [ "$status" -eq 4 ] && grep -qF "breaks the contract of report(): " err && grep -qF "$text" err
        result $? "${fault%%:*}, in a process of its own: $apart: the run ends"
    done
done
run "$dshost" check "$reporter" --only search.points,search.repeat
result $? "check takes reports"
run "$dshost" check "$reporter" --only search.points --set opt.fault=name
[ "$status" -ne 0 ] && grep -qF "report(): the name of scalar 0" out
result $? "and finds what breaks the rules"

# Our own.
mkdir runs
for opt in cmaes:sigma turbo:length bo:length racer:doubt adam:step lbfgsb:step; do
    run "$dshost" run --env analytic --set env.dim=3 --opt "${opt%:*}" --seed 1 --budget 80 --pictures no --out "runs/${opt%:*}" &&
        "$dshost" export "runs/${opt%:*}" --format csv --no-times --out - | head -n 1 | grep -q ",progress\\.${opt#*:}"
    result $? "${opt%:*} reports ${opt#*:}"
done
run "$dshost" run --env cartpole --opt ppo --seed 1 --budget 60 --pictures no --out ppo &&
    "$dshost" export ppo --format csv --no-times --out - | head -n 1 | grep -q ',progress\.entropy,progress\.value_loss'
result $? "ppo reports its losses"
run "$dshost" report runs --no-pictures --out page || run "$dshost" report runs --out page
grep -q 'What the optimizers reported' page/index.html && grep -q '<td>cmaes</td><td>sigma</td>' page/index.html
result $? "the report has a table of them"

if command -v bash >/dev/null; then
    "$dshost" view --live runs/cmaes >address 2>said &
    server=$!
    n=0
    while [ ! -s address ] && [ $n -lt 100 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    port=$(sed -n 's|^http://127\.0\.0\.1:\([0-9]*\)/.*|\1|p' address)
    token=$(sed -n 's|^.*/\([0-9a-f]*\)/$|\1|p' address)
    printf 'GET /%s/state HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n' "$token" "$port" >request
    n=0
    until grep -q '"evaluations":80' answer 2>/dev/null || [ $n -gt 50 ]; do
        bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && { cat request >&3; cat <&3; }' - "$port" >answer 2>/dev/null
        sleep 0.1
        n=$((n + 1))
    done
    grep -q '"progress":{"sigma":\[\[1,0\.5\],\[' answer
    passed=$?
    kill $server
    wait $server 2>/dev/null
    result $passed "view --live: the state has the values of each name"
else
    skip "view --live: there is no bash to send requests with"
fi
finish
