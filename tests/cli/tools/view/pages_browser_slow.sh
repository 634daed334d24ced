#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages of a report and of landscapes in a browser: they open from a file, their scripts run without a message on the
# console, and malicious names of folders stay text. Skipped without Debian's chromium.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99
chromium=$(command -v chromium) || chromium=
if [ -z "$chromium" ]; then
    skip "pages in a browser: there is no chromium (package chromium)"
    finish
    exit
fi
# browse PAGE WIDTH: writes the document after its scripts to $tmp/dom, their messages to $tmp/console.
browse() {
    timeout 120 "$chromium" --headless --no-sandbox --no-first-run --disable-gpu --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$tmp/profile" --enable-logging=stderr --v=0 \
        --window-size="$2,900" --virtual-time-budget=5000 --dump-dom "file://$tmp/$1" 2>console >dom
}
quiet() { # quiet NAME
    ! grep -q CONSOLE console
    result $? "$1: nothing on the console"
}

evil='<img src=x onerror=alert(1)>"]]>'
mkdir -p "runs/$evil"
for opt in cmaes rand adam; do
    for seed in 0 1; do
        "$dshost" --env bounce --opt $opt --seed $seed --budget 30 --pictures no --out "runs/$evil/$opt-$seed" >/dev/null 2>&1
    done
done
status 0 "a report" "$dshost" report "runs/$evil" --out report --no-pictures
for width in 1280 400; do
    browse report/index.html $width
    quiet "report, $width pixels"
    # Each of three methods in bars, curves (2), scores, profiles (3) is a button; each figure with curves takes the focus.
    [ "$(grep -o '<g class="entry"[^>]*role="button"' dom | wc -l)" -eq 21 ] && [ "$(grep -o '<svg role="group"[^>]*tabindex="0"' dom | wc -l)" -eq 5 ]
    result $? "report, $width pixels: entries are buttons, figures take the focus"
    grep -q 'class="hint">Point at a figure' dom && ! grep -q '<img src="x"' dom
    result $? "report, $width pixels: says how, and evil names stay text"
done

status 0 "a landscape with a path" "$dshost" landscape --env bounce --grid 21x21 --path "runs/$evil/cmaes-0" --out plane
browse plane/landscape.html 1280
quiet "landscape"
for name in Surface Contours Arrows Path; do
    grep -q "<button type=\"button\" aria-pressed=\"[a-z]*\">$name</button>" dom
    result $? "landscape: a switch for $name"
done
status 0 "a landscape over a line" "$dshost" landscape --env bounce --axes 1 --grid 101 --out line
browse line/landscape.html 400
quiet "line"
! grep -q '<button' dom && grep -q '<line class="cross"' dom
result $? "line: no surface, a rule through the panels"
finish
