#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# view_live.sh - `dshost view --live`: it follows a resumed run and shows its best episode, does not change its folder, and
# replies only to its own page: raw requests with a wrong host, token, path, method, a huge header, a slow client.
. "$(dirname "$0")/../../lib.sh"
cd "$tmp" || exit 99
if ! command -v bash >/dev/null; then
	skip "view --live: there is no bash to send requests with"
	finish
	exit
fi
server=
run_pid=
trap 'kill $server $run_pid 2>/dev/null; rm -rf "$tmp"' EXIT

refuses 6 "nowhere" "no run" "$dshost" view --live nowhere
refuses 2 "port 70000: expected a port" "no port" "$dshost" view --live run --port 70000
refuses 2 "live follows one run and writes no file" "a file, too" "$dshost" view --live run -o a.html

# A run that takes its time.
"$dshost" --env "$DS_TOP_BUILD/tests/plugins/.libs/scenery.so" --opt rand --budget 40 --pictures no --out run >/dev/null 2>&1
ls -A run > before
"$dshost" view --live run > address 2> said &
server=$!
n=0
while [ ! -s address ] && [ $n -lt 100 ]; do
	sleep 0.1
	n=$((n + 1))
done
port=$(sed -n 's|^http://127\.0\.0\.1:\([0-9]*\)/[0-9a-f]\{32\}/$|\1|p' address)
token=$(sed -n 's|^.*/\([0-9a-f]*\)/$|\1|p' address)
[ -n "$port" ] && [ ${#token} -eq 32 ] && grep -q 'following run; Ctrl-C ends it' said
result $? "prints its address, on this machine, with a token"

# send TEXT: what comes back for these bytes (printf escapes) goes to answer.
send() {
	printf '%b' "$1" > request
	bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && { cat request >&3; cat <&3; }' - "$port" > answer 2>/dev/null
}
code() {
	head -n 1 answer | cut -d' ' -f2
}
# get PATH [HEADER...]: as a browser would.
get() {
	path=$1
	shift
	head="GET $path HTTP/1.1\r\nHost: 127.0.0.1:$port\r\n"
	for h in "$@"; do
		head="$head$h\r\n"
	done
	send "$head\r\n"
}
# answers CODE NAME
answers() {
	[ "$(code)" = "$1" ]
	passed=$?
	[ $passed -eq 0 ] || echo "#   $(code) instead of $1"
	result $passed "$2: $1"
}

get "/$token/"
answers 200 "the page"
grep -qi "^Content-Security-Policy: default-src 'none'; connect-src 'self'; frame-src 'self'; script-src 'sha256-[^;]*; style-src 'sha256-" answer &&
	grep -qi '^Cross-Origin-Resource-Policy: same-origin' answer && grep -qi '^X-Content-Type-Options: nosniff' answer &&
	! sed '1,/^.$/d' answer | grep -Eq 'https?://|@[A-Z]+@'
result $? "lets only its own script run and loads nothing"
n=0
get "/$token/state"
while ! grep -q '"page":[1-9]' answer && [ $n -lt 100 ]; do
	sleep 0.2
	n=$((n + 1))
	get "/$token/state"
done
answers 200 "the state"
best=$(field run/summary.json best_evaluation)
grep -q "\"evaluations\":40,.*\"best_id\":$best,.*\"ended\":\"budget\",.*\"page\":$best" answer
result $? "has evaluations, the best one, the end, and the page of the best episode"
get "/$token/best.html?$best"
answers 200 "the best episode"
"$dshost" view run -o best.html >/dev/null 2>&1
awk 'on { print } /^\r$/ { on = 1 }' answer > got.html
cmp -s got.html best.html
result $? "is the page that view writes"

# ---- the run continues ----
"$dshost" resume run --budget 300 --pictures no >/dev/null 2>&1
sleep 1
get "/$token/state"
sleep 1
get "/$token/state"
grep -q '"budget":300,"evaluations":300,' answer
result $? "what has come since is there"

# ---- who is not let in ----
get "/$token/" "Origin: http://evil.example"
answers 403 "another page"
get "/$token/state" "Sec-Fetch-Site: cross-site"
answers 403 "another site"
send "GET /$token/ HTTP/1.1\r\nHost: evil.example:$port\r\n\r\n"
answers 403 "another name of this machine"
send "GET /$token/ HTTP/1.1\r\n\r\n"
answers 400 "no host"
get "/"
answers 404 "no token"
get "/00000000000000000000000000000000/state"
answers 404 "a wrong token"
get "/$token/../../../../etc/passwd"
answers 404 "a way out"
get "/$token/run.sqlite"
answers 404 "a file"
send "POST /$token/ HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nContent-Length: 4\r\n\r\nabcd"
answers 405 "another method"
grep -q '^Allow: GET' answer
result $? "it says which"
send 'nonsense\r\n\r\n'
answers 400 "nonsense"
head -c 20000 /dev/zero | tr '\0' a > long
send "GET /$token/ HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nX: $(cat long)\r\n\r\n"
answers 431 "a giant head"
! grep -q 'passwd\|root:' answer
result $? "nothing of this machine is told"

# ---- slow clients ----
bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && { printf "GET /" >&3; cat <&3; }' - "$port" > slow 2>/dev/null &
slow=$!
get "/$token/state"
answers 200 "others beside a slow client"
n=0
while kill -0 $slow 2>/dev/null && [ $n -lt 100 ]; do
	sleep 0.2
	n=$((n + 1))
done
[ $n -lt 100 ] && [ ! -s slow ]
result $? "a slow client is dropped"
kill $slow 2>/dev/null
kids=
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && cat <&3' - "$port" >/dev/null 2>&1 &
	kids="$kids $!"
done
for k in $kids; do wait "$k"; done
get "/$token/state"
answers 200 "after more clients than there is room for"

# 100 local programs that hold connections without the token, and some that come again and again: the user is served.
cat > hold.py <<'EOT'
import socket, sys, threading, time
port, path = int(sys.argv[1]), sys.argv[2]
held = []
def hold(k):
    end = time.time() + 12
    while time.time() < end:
        try:
            s = socket.create_connection(("127.0.0.1", port), timeout=5)
            s.sendall(b"GET /" if k % 2 else b"")
            held.append(s)
            time.sleep(0.05 if k % 10 == 0 else 3)
        except OSError:
            time.sleep(0.05)
for k in range(100):
    threading.Thread(target=hold, args=(k,), daemon=True).start()
time.sleep(1)
worst = 0
for _ in range(40):
    begin = time.time()
    s = socket.create_connection(("127.0.0.1", port), timeout=5)
    s.settimeout(5)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    text = b""
    while chunk := s.recv(65536):
        text += chunk
    assert text.startswith(b"HTTP/1.1 200 "), text[:80]
    worst = max(worst, time.time() - begin)
assert worst < 3, worst
EOT
if command -v python3 >/dev/null; then
	status 0 "40 of 40 requests beside 100 slow clients without the token" python3 hold.py "$port" "/$token/state"
else
	skip "slow clients: no python3"
fi

# ---- the end ----
ls -A run > after
cmp -s before after
result $? "the folder of the run has no file more"
kill -INT $server
status=0
wait $server || status=$?
server=
[ $status -eq 0 ]
result $? "Ctrl-C ends it, with status 0"
finish
