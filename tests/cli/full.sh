#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Full or write-protected disks: each command ends with one line, saved results can be read, and a run resumes when there
# is room. Needs root and a mount namespace, for a small disk.
if [ -z "$DS_OWN_MOUNTS" ] && unshare -m sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
    DS_OWN_MOUNTS=1 exec unshare -m sh "$0"
fi
. "$(dirname "$0")/lib.sh"
if [ -z "$DS_OWN_MOUNTS" ]; then
    skip "no disk of its own can be made here"
    finish
    exit 0
fi
cd "$tmp" || exit 99
trap 'cd /; umount "$tmp/disk"; rm -rf "$tmp"' EXIT
mkdir disk
mount -t tmpfs -o size=4m none disk
fill() {
    dd if=/dev/zero of=disk/fill bs=1k count=99999 2>/dev/null
}

# ---- full during a run ----
refuses 6 "disk/run/run.sqlite: failed writing: No space left on device; make room on the disk" "a run fills the disk" \
    "$dshost" --env analytic --opt rand --budget 60000 --pictures no --out disk/run
grep -q "ended by an error, [1-9][0-9]* evaluations are saved" "$tmp/err"
result $? "and says what is saved"
refuses 6 "disk/run/run.sqlite: failed writing: No space left on device" "so does resuming it" "$dshost" resume disk/run
status 0 "what is there is read" "$dshost" export disk/run --format csv --out there.csv
[ "$(wc -l <there.csv)" -gt 1000 ]
result $? "all of it"
"$dshost" doctor disk/run >"$tmp/out" 2>"$tmp/err"
has "disk/run: $(($(wc -l <there.csv) - 1)) evaluations, intact" "and whole"
mount -o remount,size=40m disk
status 0 "with room it goes on" "$dshost" resume disk/run
"$dshost" --env analytic --opt rand --budget 60000 --pictures no --out whole >/dev/null 2>&1
same "and is the run that it would have been" whole disk/run
rm -rf disk/run

# ---- full before ----
printf '[bench]\nenvs = analytic\nopts = rand cmaes\nruns = 1\n[run]\nbudget = 40\npictures = no\n' >full.ini
"$dshost" --env analytic --opt rand --budget 100 --pictures no --out disk/a >/dev/null 2>&1
"$dshost" bench full.ini --out disk/b >/dev/null 2>&1
fill
# each STATUS PATTERN COMMAND...: one line.
each() {
    expected=$1
    pattern=$2
    shift 2
    refuses "$expected" "$pattern" "$*" "$dshost" "$@"
}
full="No space left on device"
each 6 "disk/.*$full" --env analytic --opt rand --budget 10 --out disk/c
each 6 "disk/.*$full" resume disk/a --budget 200
each 6 "disk/.*$full; free some space or choose another folder" report disk/a --no-pictures --out disk/r
for format in csv npz ioh coco; do
    each 6 "disk/.*$full; free some space or choose another folder" export disk/a --format $format --out "disk/x.$format"
done
each 6 "disk/.*$full" plot disk/a --out disk/p.png
each 6 "disk/.*$full" merge disk/w disk/b
each 6 "disk/.*$full" landscape --env analytic --grid 5 --out disk/l
each 6 "disk/.*$full" bench full.ini --out disk/b2
each 6 "disk/.*$full" eval --env pendulum --picture disk/x.png
for format in webp png pvd usda ply obj npz; do
    # Without libwebp that is said instead.
    [ $format != webp ] || grep -q 'define HAVE_WEBP' "$DS_TOP_BUILD/config.h" || continue
    each 6 "disk/.*$full; free some space or choose another folder" view --env pinball --every 200 -o "disk/v.$format"
done
[ -z "$(find disk -name '*.png' -o -name '*.npz' -o -name '*.csv' -o -name '.tmp*' -o -name 'v*')" ]
result $? "no part of a file is left"
status 0 "records on a full disk are read: export" "$dshost" export disk/a --format csv --out a.csv
status 0 "report" "$dshost" report disk/a disk/b --no-pictures --out page
status 0 "merge" "$dshost" merge apart disk/b
status 0 "compare" "$dshost" compare disk/b:rand disk/b:cmaes
status 0 "eval" "$dshost" eval --env analytic --x disk/a

# ---- no more files ----
rm disk/fill
mkdir disk/d
used=$(df --output=iused disk | tail -n 1)
mount -o remount,nr_inodes=$((used)) disk
each 6 "disk/.*$full" --env analytic --opt rand --budget 10 --out disk/c
each 6 "disk/a/.*$full" resume disk/a --budget 200
each 6 "disk/.*$full" export disk/a --format csv
mount -o remount,nr_inodes=$((used + 2)) disk
each 6 "disk/d/.*$full" --env analytic --opt rand --budget 10 --out disk/d
mount -o remount,nr_inodes=0 disk

# ---- read-only ----
mount -o remount,ro disk
only="Read-only file system"
each 6 "disk/.*$only" --env analytic --opt rand --budget 10 --out disk/c
each 6 "disk/.*$only" resume disk/a --budget 200
each 6 "disk/.*$only" report disk/a --no-pictures --out disk/r
each 6 "disk/.*$only" export disk/a --format csv
each 6 "disk/.*$only" plot disk/a --out disk/p.png
each 6 "disk/.*$only" merge disk/w disk/b
each 6 "disk/.*$only" landscape --env analytic --grid 5 --out disk/l
each 6 "disk/.*$only" bench full.ini --out disk/b
status 0 "records that nobody may write to are read: export" "$dshost" export disk/a --format csv --out a.csv
status 0 "report" "$dshost" report disk/a disk/b --no-pictures --out page2
status 0 "merge" "$dshost" merge apart2 disk/b
status 0 "eval" "$dshost" eval --env analytic --x disk/a
finish
