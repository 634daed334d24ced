#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fmu.sh - FMUs of both versions as environments: gradients against differences, with events too, both interfaces agree,
# parameters are found again from recorded outputs, and every broken FMU costs one line.
. "$(dirname "$0")/../lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir "$tmp/unpacked" && export TMPDIR="$tmp/unpacked"
python=$(command -v python3 || echo none)
if [ ! -e "$DS_TOP_BUILD/plugins/adapters/fmu.la" ] || [ -n "$DS_SANITIZE" ] || ! "$python" -c 'import zipfile' 2>/dev/null ||
	! command -v "${DS_CC:-cc}" >/dev/null; then
	echo "1..0 # SKIP the adapter fmu (expat), a compiler, python3 and a build without sanitizers are needed"
	exit 0
fi
cd "$tmp" || exit 99
make_fmu() { # make_fmu MODEL VERSION OUT ...
	PYTHONDONTWRITEBYTECODE=1 "$python" "$DS_TOP_SRC/tests/plugins/make_fmu.py" "$@"
}
for model in BALL VANDERPOL MASSES; do
	for version in 2 3; do
		make_fmu $model $version $model$version.fmu || exit 99
	done
done

# ---- gradients ----

agrees() { # agrees KIND COUNT WHAT EVAL-ARGUMENT...: the gradient is of that kind, and equals differences
	kind=$1 count=$2 what=$3
	shift 3
	run "$dshost" eval --gradient --fd "$@"
	grep -q "agrees with differences in $count of $count" "$tmp/out"
	result $? "$what: the gradient agrees with differences"
	run "$dshost" eval --gradient --json "$@"
	has "\"gradient_kind\": \"$kind\"" "$what: it is $kind"
}
agrees adjoint 6 "FMI 3, adjoint derivatives" --env ./MASSES3.fmu --set "env.vary=k x1=0:2 u=-5:5/4" --x random:3
agrees adjoint 2 "FMI 2, directional derivatives" --env ./MASSES2.fmu --set "env.minimize=spring force" --x random:2
agrees adjoint 2 "a start value" --env ./VANDERPOL3.fmu --set "env.vary=mu x1=-1:1" --x random:4
agrees fd 2 "events" --env ./BALL3.fmu --set env.stop=2 --x 9,0.8

"$python" - <<'END' || exit 99
import zipfile
faults = {"CRASH in DoStep": "crash", "CRASH in Instantiate": "make", "CRASH in FreeInstance": "free", "HANG in Terminate": "hang",
          "ERROR in DoStep": "refuse", "END at 2 s": "end", "NAN output": "nan", "NULL": "null", "ZERO by parameters": "zero",
          "WRONG by a state": "state", "WRONG adjoint": "adjoint"}
good = zipfile.ZipFile("MASSES3.fmu")
for fault, name in faults.items():
    with zipfile.ZipFile(name + ".fmu", "w") as z:
        for n in good.namelist():
            z.writestr(n, good.read(n).replace(b'modelName="MASSES"', b'modelName="%s"' % fault.encode()))
        z.writestr("resources/data.txt", "1")  # so that it is unpacked into a folder
END
agrees fd 2 "derivatives by parameters that are zero" --env ./zero.fmu --x random:3
agrees fd 2 "a wrong derivative by a state" --env ./state.fmu --x random:3
agrees fd 2 "adjoint derivatives that contradict directional ones" --env ./adjoint.fmu --x random:3
make_fmu MASSES 3 arrays.fmu -DARRAYS || exit 99
agrees adjoint 7 "elements of arrays" --env ./arrays.fmu --set "env.vary=p[1,2]=0:3 p[1,1]=1:40 x[1]=0:2 u=-5:5/4" --x random:3
result_at() { # result_at VARY FMU: loss and gradient at a point
	"$dshost" eval --env "./$2.fmu" --set "env.vary=$1" --set env.interface=exchange --gradient --json --x 12,0.8,0.3 2>>"$tmp/err" |
		sed 's/.*"x": \(.*\), "gradient_kind.*/\1/'
}
scalars=$(result_at "k=1:40 c=0:3 x1=0:2" MASSES3)
[ -n "$scalars" ] && [ "$scalars" = "$(result_at "p[1,1]=1:40 p[1,2]=0:3 x[1]=0:2" arrays)" ]
result $? "arrays have loss and gradient of the same model with scalars: $scalars"
run "$dshost" eval --env ./arrays.fmu --set "env.vary=p[1,1]=1:40" --set env.minimize=side --json
has '"loss": 7.0' "a whole number is an output"

# ---- one model, four ways ----

for model in VANDERPOL MASSES; do
	for fmu in ${model}2 ${model}3; do
		for way in exchange cosimulation; do
			"$dshost" eval --env ./$fmu.fmu --set env.interface=$way --set env.points=50 --set env.substeps=40 --json 2>>"$tmp/err" |
				sed -n 's/.*"loss": \([^,]*\),.*/\1/p'
		done
	done >losses
	[ "$(wc -l <losses)" -eq 4 ] && awk 'NR == 1 { a = $1 } { d = ($1 - a) / a; if (d > 1e-6 || d < -1e-6) bad = 1 } END { exit bad }' losses
	result $? "$model: both versions and both interfaces have one loss: $(sort -u losses | tr '\n' ' ')"
done

# ---- parameters from a recording ----

record() { # record FMU PARAMETERS OUT COLUMN...: the recording of an episode
	"$dshost" eval --env "./$1" --x "$2" --set env.points=40 --channels --json >channels.json 2>>"$tmp/err"
	"$python" - "$3" "$4" <<'END'
import json, sys
given = json.load(open("channels.json"))
found = given["channels"]
values = found["outputs"] if isinstance(found, dict) else next(c for c in found if c["name"] == "outputs")
values = values.get("values", values.get("data", values)) if isinstance(values, dict) else values
flat = [v for row in values for v in (row if isinstance(row, list) else [row])]
names, stop = sys.argv[2].split(":")[0].split(","), float(sys.argv[2].split(":")[1])
width = len(flat) // 41
with open(sys.argv[1], "w") as f:
    f.write("time," + ",".join(names) + "\n")
    for k in range(41):
        f.write(",".join(map(repr, [stop * k / 40, *flat[k * width:k * width + len(names)]])) + "\n")
END
}
record MASSES3.fmu 17,1.25 masses.csv x1,v1:4.0
cat >fit.ini <<'END'
[run]
env = ./MASSES3.fmu
opt = pbh
budget = 150

[env]
vary = k=1:40 c=0:3
recording = masses.csv
weights = v1=0.5
END
status 0 "a fit from an .ini file" "$dshost" run --config fit.ini --out fit
"$python" -c 'import json; x = json.load(open("fit/summary.json"))["best_x"]; assert abs(x[0] - 17) < 1e-5 and abs(x[1] - 1.25) < 1e-5, x' 2>"$tmp/err"
result $? "the parameters of the two masses are found again"
record BALL2.fmu 9,0.8 ball.csv h:3.0
status 0 "a fit with events" "$dshost" run --env ./BALL2.fmu --opt cmaes --budget 400 --set env.recording=ball.csv --set "env.vary=g e" --out ball
"$python" -c 'import json; x = json.load(open("ball/summary.json"))["best_x"]; assert abs(x[0] - 9) < 0.05 and abs(x[1] - 0.8) < 0.01, x' 2>"$tmp/err"
result $? "the parameters of the ball are found again"

# ---- mistakes and broken FMUs ----

line() { # line STATUS WORDS WHAT EVAL-ARGUMENT...
	wanted=$1 words=$2 what=$3
	shift 3
	run timeout 60 "$dshost" eval "$@"
	[ "$status" -eq "$wanted" ] && [ "$(grep -c 'error' "$tmp/err")" -eq 1 ] && grep -q "$words" "$tmp/err"
	result $? "$what: one line, status $wanted"
}
"$python" - <<'END'
import re, zipfile
good = zipfile.ZipFile("MASSES3.fmu")
with zipfile.ZipFile("norange.fmu", "w") as z:
    for n in good.namelist():
        z.writestr(n, re.sub(rb' (min|max)="[0-9]*"', b"", good.read(n)))
END
printf 'time,x1\n0,1\n1,abc\n' >bad.csv
line 3 "'nosuch' is not a variable" "a wrong name" --env ./MASSES3.fmu --set env.vary=nosuch
line 3 "has no min and max" "a range is missing" --env ./MASSES3.fmu --set env.vary=x1
line 3 "vary = k=0:20" "no parameter has a range" --env ./norange.fmu
line 3 "is an array: name its elements, from x.1." "an array" --env ./arrays.fmu --set env.vary=x=0:1
line 3 "is a structural parameter" "a size is set" --env ./arrays.fmu --set "env.vary=u=0:1" --set env.set=n=3
line 3 "it is calculated" "an output is varied" --env ./MASSES3.fmu --set 'env.vary="spring force"=0:1'
line 3 "recording:3: 'abc' is not a number" "a bad recording" --env ./MASSES3.fmu --set env.recording=bad.csv
"$python" - <<'END'
import shutil, zipfile
good = zipfile.ZipFile("VANDERPOL3.fmu")
def copy(name, skip=(), **change):
    with zipfile.ZipFile(name, "w") as z:
        for n in good.namelist():
            if not any(n.startswith(s) for s in skip):
                z.writestr(change.get("rename", {}).get(n, n), change.get("contents", {}).get(n, good.read(n)))
        for n, data in change.get("more", {}).items():
            z.writestr(n, data)
xml = good.read("modelDescription.xml")
copy("nobinary.fmu", skip=["binaries"])
copy("windows.fmu", rename={"binaries/x86_64-linux/model.so": "binaries/x86_64-windows/model.dll"})
copy("badxml.fmu", contents={"modelDescription.xml": xml[:-30]})
copy("noxml.fmu", skip=["model"])
copy("version.fmu", contents={"modelDescription.xml": xml.replace(b'fmiVersion="3.0"', b'fmiVersion="1.0"')})
copy("traversal.fmu", more={"resources/../../escaped": b"x"})
copy("absolute.fmu", more={"/tmp/escaped": b"x"})
link = zipfile.ZipInfo("resources/link"); link.create_system = 3; link.external_attr = 0o120777 << 16
copy("link.fmu", more={link: "/etc/passwd"})
copy("elf.fmu", contents={"binaries/x86_64-linux/model.so": b"not an ELF file"})
copy("entities.fmu", contents={"modelDescription.xml": xml.replace(b'<?xml version="1.0"?>', b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "%s">' %
    (b"a" * 100) + b"".join(b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 30) for i in range(9)) + b"]>").replace(b"<ModelV", b"<A>&j;</A><ModelV")})
copy("file.fmu", contents={"modelDescription.xml": xml.replace(b'<?xml version="1.0"?>', b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "/etc/passwd">]>')
    .replace(b'"VANDERPOL"', b'"&x;"')})
copy("twice.fmu", contents={"modelDescription.xml": xml.replace(b'name="x1"', b'name="x0"')})
copy("missing.fmu", contents={"binaries/x86_64-linux/model.so": good.read("binaries/x86_64-linux/model.so").replace(b"fmi3Reset", b"fmi3Rezet")})
copy("token.fmu", contents={"modelDescription.xml": xml.replace(b"{token}", b"{other}")})
masses, two = zipfile.ZipFile("MASSES3.fmu"), zipfile.ZipFile("BALL2.fmu")
for name, of, old, new in (("reference", masses, b'valueReference="21"', b'valueReference="777"'), ("indicators", two, b'EventIndicators="1"', b'EventIndicators="1e9"')):
    with zipfile.ZipFile(name + ".fmu", "w") as z:
        for n in of.namelist():
            z.writestr(n, of.read(n).replace(old, new))
with zipfile.ZipFile("bomb.fmu", "w") as z:  # the sizes are in the directory at the end
    for k in range(3):
        z.writestr(f"resources/{k}", b"")
bomb = bytearray(open("bomb.fmu", "rb").read())
at = bomb.find(b"PK\x01\x02")
while at >= 0:
    bomb[at + 24:at + 28] = (2**31 - 1).to_bytes(4, "little")
    at = bomb.find(b"PK\x01\x02", at + 1)
open("bomb.fmu", "wb").write(bomb)
open("short.fmu", "wb").write(open("VANDERPOL3.fmu", "rb").read()[:300])
data = bytearray(open("VANDERPOL3.fmu", "rb").read()); data[100] ^= 255; open("flipped.fmu", "wb").write(data)
END
line 6 "model.so is not in it: this FMU was made for other machines" "no binary" --env ./nobinary.fmu
line 6 "model.so is not in it: this FMU was made for other machines" "a binary of another platform" --env ./windows.fmu
line 4 "bad XML" "XML that ends early" --env ./badxml.fmu
line 4 "modelDescription.xml is not in it" "no description" --env ./noxml.fmu
line 4 "fmiVersion is not 2.0 or 3.0: 1.0" "another version" --env ./version.fmu
line 4 "outside of its folder" "a name with .." --env ./traversal.fmu
line 4 "outside of its folder" "an absolute name" --env ./absolute.fmu
line 4 "is a link" "a link" --env ./link.fmu
line 4 "limit on input amplification" "a bomb of entities" --env ./entities.fmu
line 4 "external entity" "an entity of another file" --env ./file.fmu
line 4 "two variables have the name 'x0'" "a name twice" --env ./twice.fmu
line 4 "not a whole number: 1e9" "a wrong number of event indicators" --env ./indicators.fmu
line 4 "more than 4 GiB" "a bomb of zeros" --env ./bomb.fmu
line 6 "lacks the function fmi3Reset" "a missing function" --env ./missing.fmu
line 6 "model.so: file too short" "a library that is none" --env ./elf.fmu
line 4 "ZIP" "an archive that is cut" --env ./short.fmu
line 4 "damaged" "an archive with a wrong byte" --env ./flipped.fmu
line 5 "cannot be instantiated" "another token" --env ./token.fmu
line 5 "died of signal\|crashed" "a crash in DoStep" --env ./crash.fmu --set env.interface=cosimulation
line 5 "DoStep returned error" "a DoStep that fails" --env ./refuse.fmu --set env.interface=cosimulation
line 5 "ended the simulation at t = 2 s, the episode lasts until 4 s: set stop=2" "an FMU that ends early" --env ./end.fmu --set env.interface=cosimulation
status 0 "and with that stop runs" "$dshost" eval --env ./end.fmu --set env.interface=cosimulation --set env.stop=2
line 4 "create() failed: .*killed by SIGABRT" "a crash in Instantiate" --env ./make.fmu
line 5 "'spring force' is nan" "an output that is not a number" --env ./nan.fmu
line 5 "cannot be instantiated" "no instance" --env ./null.fmu
line 5 "setting 'c', value reference 777, returned error" "a wrong value reference" --env ./reference.fmu
status 0 "a crash in FreeInstance is a warning" "$dshost" eval --env ./free.fmu
grep -q "warning: .*at the end a worker was killed by SIGABRT" "$tmp/err"
result $? "which says so"
status 0 "Terminate hangs: nobody calls it" timeout 60 "$dshost" eval --env ./hang.fmu
"$python" -c 'import zipfile; zipfile.ZipFile("MASSES3.fmu", "a").writestr("resources/data.txt", "1")'
status 0 "an FMU with resources" "$dshost" eval --env ./MASSES3.fmu
for _ in $(seq 150); do # the folder of the crash is removed after the death of its worker
	[ -z "$(ls "$TMPDIR")" ] || sleep 0.2
done
[ ! -e /tmp/escaped ] && [ -z "$(ls "$TMPDIR")" ]
result $? "nothing is left behind, not by the crash either"
# A jump of the loss is 6e-7 away from the second point: differences that straddle it say 8.
agrees fd 2 "events near a jump" --env ./BALL3.fmu --x 4.8813799238643512,0.59722657054851536
finish
