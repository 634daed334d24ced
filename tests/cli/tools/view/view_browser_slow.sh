#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# view_browser_slow.sh [ENV...] - pages of `dshost view` for every environment with a scene (or the named ones) in a browser:
# they open from a file, print nothing on the console, load nothing from the network, and their slider changes the image.
# Malicious names stay text. Skipped without Debian's chromium.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99
scenery=$DS_TOP_BUILD/tests/plugins/.libs/scenery.so
chromium=$(command -v chromium) || chromium=
if [ -z "$chromium" ]; then
	skip "pages in a browser: there is no chromium (package chromium)"
	finish
	exit
fi

# browse HASH PAGE WHAT...: lets chromium do WHAT with a page; console and network go to console and net.json.
browse() {
	hash=$1
	page=$2
	shift 2
	timeout 600 "$chromium" --headless --no-sandbox --no-first-run --use-gl=angle --use-angle=swiftshader \
		--enable-unsafe-swiftshader --disable-background-networking --disable-component-update --disable-sync \
		--hide-scrollbars --user-data-dir="$tmp/profile" --enable-logging=stderr --v=0 --log-net-log="$tmp/net.json" \
		"$@" "file://$tmp/$page$hash" 2>console
}

# measured PAGE: the measurements that the page makes of itself, in wall time.
measured() {
	browse '#measure&frame=0' "$1" --window-size=1280,900 --virtual-time-budget=20000 --dump-dom > dom
}
attribute() {
	sed -n "s/.*<html[^>]* data-$1=\"\([^\"]*\)\".*/\1/p" dom | head -n 1
}

# Number of requests by a document without an origin (a file), except for the file itself.
asked_for() {
	grep '"initiator":"null"' net.json | grep -o '"url":"[a-z]*:' | grep -vc '"url":"\(file\|data\|blob\):'
}
printf '<!DOCTYPE html><img src="http://127.0.0.1:18999/seen.png">' > control.html
browse '' control.html --virtual-time-budget=3000 --dump-dom > /dev/null
[ "$(asked_for)" -gt 0 ]
result $? "a page that asks the network is noticed"

envs=$*
if [ -z "$envs" ]; then
	envs=$("$dshost" list | awk '$1 == "environments" { next } { print $1 }' | while read -r e; do
		"$dshost" help "$e" 2>/dev/null | grep -q 'ds\.env\.scene' && echo "$e"
	done)
fi
envs="$envs $scenery"
for e in $envs; do
	name=$(basename "$e" .so)
	if ! "$dshost" view --env "$e" --x random:3 -o "$name.html" >"$tmp/out" 2>"$tmp/err"; then
		result 1 "$name: a page"
		continue
	fi
	measured "$name.html"
	cp console "$tmp/err"
	[ "$(attribute ready)" = yes ] && [ "$(grep -c CONSOLE console)" -eq 0 ]
	result $? "$name: opens, and has nothing to say on the console"
	[ "$(asked_for)" -eq 0 ]
	result $? "$name: asks nothing of the network"
	[ "$(attribute pixels | tr ' ' '\n' | sort -u | wc -l)" -ge 3 ]
	result $? "$name: the slider changes what is seen"
done

# ---- two pictures of one page ----
for frame in 0 20; do
	browse "#frame=$frame" scenery.html --window-size=900,700 --virtual-time-budget=4000 --screenshot="$tmp/$frame.png"
done
[ -s 0.png ] && [ -s 20.png ] && ! cmp -s 0.png 20.png
result $? "two frames are two pictures"

# ---- without WebGL ----
timeout 600 "$chromium" --headless --no-sandbox --disable-gpu --disable-3d-apis --user-data-dir="$tmp/profile" \
	--virtual-time-budget=4000 --dump-dom "file://$tmp/scenery.html" > dom 2>console
[ "$(attribute ready)" = no ] && grep -q 'plays the episode with WebGL 2, which does not work here' dom
result $? "without WebGL there is a sentence and a still picture"

# ---- evil names ----
mkdir -p '<script>document.title="taken"<'
echo 0.2 > '<script>document.title="taken"</script>"]]>.txt'
"$dshost" view --env "$scenery" --set env.evil=yes --x '<script>document.title="taken"</script>"]]>.txt' --x center \
	-o evil.html >"$tmp/out" 2>"$tmp/err"
measured evil.html
[ "$(attribute ready)" = yes ] && ! grep -q '<title>taken' dom && [ "$(grep -c CONSOLE console)" -eq 0 ] &&
	grep -q '&lt;script&gt;document.title="taken"&lt;/script&gt;' dom
result $? "names that are scripts are text, and run nothing"
finish
