#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs for which `dshost view` writes files read them: VTK, meshio, usd-core and Pillow of Python (DS_PYTHON names
# an interpreter that has them), ffprobe. Missing programs are skipped.
. "$(dirname "$0")/../../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$tmp" || exit 99
python=${DS_PYTHON:-python3}
scenery=$DS_TOP_BUILD/tests/plugins/.libs/scenery.so

for env in torus pinball bounce swing walker cartpole "$scenery"; do
    name=$(basename "$env" .so)
    files=
    for kind in npz pvd usda ply; do
        "$dshost" view --env "$env" --x random:3 -o "$name.$kind" >"$tmp/out" 2>"$tmp/err" || files=$kind
    done
    result "$([ -z "$files" ]; echo $?)" "$name: files"
    # Lines are edges in PLY, which meshio cannot read.
    kinds="vtk usd meshio ply"
    grep -aq '^element edge' "$name"-0000.ply && kinds="vtk usd meshio"
    for kind in $kinds; do
        got=0
        "$python" "$here/view_readers.py" $kind "$name" >"$tmp/out" 2>"$tmp/err" || got=$?
        if [ $got -eq 77 ]; then
            skip "$name, $kind: $(head -n 1 "$tmp/out")"
        else
            result $got "$name, $kind: $(tail -n 1 "$tmp/out")"
        fi
    done
    rm -f "$name"-*
done

status 0 "a film" "$dshost" view --env pinball --every 50 -o film.webp
status 0 "without loss" "$dshost" view --env pinball --every 50 -o film.png
status 0 "its numbers" "$dshost" view --env pinball -o film.npz
got=0
"$python" "$here/view_readers.py" film film 50 >"$tmp/out" 2>"$tmp/err" || got=$?
if [ $got -eq 77 ]; then skip "films: $(head -n 1 "$tmp/out")"; else result $got "films by Pillow: $(tail -n 1 "$tmp/out")"; fi
if command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null; then
    for kind in mp4 gif; do
        status 0 ".$kind" "$dshost" view --env pinball --every 50 --size 320x240 --fps 10 -o film.$kind
        ffprobe -v error -count_frames -select_streams v -show_entries stream=width,height,nb_read_frames,r_frame_rate \
            -of csv=p=0 film.$kind >"$tmp/out" 2>"$tmp/err"
        [ "$(cat "$tmp/out")" = "320,240,10/1,21" ]
        result $? ".$kind by ffprobe"
    done
else
    skip "MP4 and GIF: there is no ffmpeg with ffprobe"
fi
finish
