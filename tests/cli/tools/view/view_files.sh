#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Videos and files of `dshost view` from the command line: names and contents, the calls of ffmpeg, messages where ffmpeg is
# missing or fails, and every error of a user. tests/tools/film and tests/tools/exchange read the files.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99
view() { # view FILE ARGUMENT...: of a light scene
    file=$1
    shift
    "$dshost" view --env pinball --every 100 -o "$file" "$@"
}

# ---- each kind ----
for kind in webp png pvd vtu usda ply obj; do
    if [ $kind = webp ] && grep -q 'undef HAVE_WEBP' "$DS_TOP_BUILD/config.h"; then
        refuses 6 "a.webp: this dshost was built without libwebp: write .png or .mp4, or install libwebp-dev" "no libwebp" view a.webp
        continue
    fi
    mkdir $kind
    status 0 ".$kind" view $kind/a.$kind
    [ "$(cat out)" = $kind/a.$kind ]
    result $? "its name is told"
done
[ "$(cd vtu && echo *)" = "a-0000.vtu a-0100.vtu a-0200.vtu a-0300.vtu a-0400.vtu a-0500.vtu a-0600.vtu a-0700.vtu a-0800.vtu a-0900.vtu a-1000.vtu" ]
result $? "a sequence has the numbers of its frames"
[ "$(grep -c '<DataSet ' pvd/a.pvd)" -eq 11 ] && [ "$(find pvd -name '*.vtu' | wc -l)" -eq 11 ] && grep -q 'timestep="2" ' pvd/a.pvd
result $? "a collection names the files and times"
[ -s obj/a.mtl ] && grep -q '^mtllib a.mtl$' obj/a-0500.obj && grep -q '^# pinball at start$' obj/a-0500.obj
result $? "an object names its colours, and what it is"
grep -q '^    endTimeCode = 1000$' usda/a.usda && grep -q '^    timeCodesPerSecond = 500$' usda/a.usda
result $? "USD has time codes of frames"
status 0 "all capitals" view A.PLY --every 1000
[ -s A-0000.PLY ] && [ -s A-1000.PLY ]
result $? "end like the name that was given"

# ---- a third-party environment with every shape ----
scenery=$DS_TOP_BUILD/tests/plugins/.libs/scenery.so
for kind in png usda ply pvd obj; do
    status 0 "every shape as .$kind" "$dshost" view --env "$scenery" --every 1000 -o shapes.$kind
done
for type in Points Sphere Capsule Cylinder Cube Mesh BasisCurves; do
    grep -q "def $type \"" shapes.usda
    result $? "USD: a $type"
done

# ---- how it is shown ----
status 0 "a size" view s.png --size 120x90 --camera 30,40,1.5 --orbit 20 --background '#202020' --caption '' --fps 10
od -An -t u1 -j 16 -N 8 s.png | tr -s ' ' >size
[ "$(cat size)" = " 0 0 0 120 0 0 0 90" ]
result $? "is that of the picture"
refuses 2 "s.png: 12 episodes cannot be shown in 16 x 16 pixels: set a larger --size" "too small" view s.png --size 16x16 \
    --x start --x start --x start --x start --x start --x start --x start --x start --x start --x start --x start --x start
refuses 2 "a .usda file holds one episode, but 2 were named" "two episodes in one that has one" view a.usda --x start --x random:1
refuses 6 "nowhere/a.webp: " "a folder that is not there" view nowhere/a.webp
refuses 4 "analytic: nothing to show" "nothing to see" "$dshost" view --env analytic -o a.usda

# ---- ffmpeg ----
mkdir bin empty
for program in sh cat wc rm; do
    ln -s "$(command -v $program)" bin/$program
done
cat >bin/ffmpeg <<'TXT'
#!/bin/sh
# A stand-in for ffmpeg: records its arguments and input, and fails where a file requests it.
echo "$@" >arguments
if [ -e "$PWD/fail" ]; then
    echo 'first line' >&2
    echo 'Unknown encoder: boom' >&2
    exit 3
fi
cat | wc -c >/proc/self/fd/3
TXT
chmod +x bin/ffmpeg
for kind in mp4 gif; do
    status 0 ".$kind by ffmpeg" env PATH="$tmp/bin" "$dshost" view --env pinball --every 100 -o f.$kind --size 64x48
    # 11 frames of 64 x 48 pixels of four bytes.
    [ "$(tr -d ' ' <f.$kind)" -eq $((11 * 64 * 48 * 4)) ]
    result $? "it gets all frames, and its file the name"
    grep -q -- "-f rawvideo -pix_fmt bgr0 -s 64x48 -r [0-9.]* -i pipe:0 .* -f $kind " arguments
    result $? "and is told what they are"
done
: >fail
refuses 6 "g.mp4: ffmpeg ended with status 3: Unknown encoder: boom" "a failing ffmpeg says why" \
    env PATH="$tmp/bin" "$dshost" view --env pinball -o g.mp4
refuses 6 "g.gif: ffmpeg was not found on PATH: install it (package ffmpeg), or write .webp or .png" "no ffmpeg" \
    env PATH="$tmp/empty" "$dshost" view --env pinball -o g.gif
[ ! -e g.mp4 ] && [ ! -e g.gif ] && [ -z "$(find . -name '.tmp*')" ]
result $? "no part of a file is left"
finish
