#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# portable.sh - portable mode: the same records for all kernels of the BLAS, libm and our plugins; which programs enter and
# keep the mode; and results record their arithmetic.
. "$(dirname "$0")/lib.sh"
. "$DS_TOP_SRC/tests/cli/portable_cases.sh"
cd "$tmp" || exit 99
unset DS_PORTABLE DS_ISA GLIBC_TUNABLES OPENBLAS_CORETYPE OPENBLAS_BLOCK_FACTOR GOTO_BLOCK_FACTOR OPENBLAS_L2_SIZE
[ -z "${DS_SANITIZE-}" ] || {
	skip "digits are those of the build without sanitizers"
	finish
	exit 0
}
[ "$(uname -m)" = x86_64 ] || {
	skip "portable mode is one of x86-64 processors"
	finish
	exit 0
}

meta() { # meta DIR KEY
	sqlite3 "$1/run.sqlite" "SELECT value FROM meta WHERE key = '$2'"
}

arithmetic() { # arithmetic DIR: of its summary
	sed -n 's/.*"arithmetic": "\([^"]*\)".*/\1/p' "$1/summary.json"
}

# alike NAME DIR DIR: the records of all cases are the same, and there are some.
alike() {
	[ "$(ls "$2" | wc -l)" -ge 20 ] && ! grep -lq "^no record" "$2"/* && diff -rq "$2" "$3" > "$tmp/out" 2>&1
	result $? "$1"
}

# ---- the same bits ----
flags=--portable
records first
# Kernels of other processors, requested by the environment.
flags="--portable --isolate-optimizer --jobs 2"
OPENBLAS_CORETYPE=Prescott DS_ISA=baseline GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX \
	OPENBLAS_NUM_THREADS=4 OMP_NUM_THREADS=3 OPENBLAS_BLOCK_FACTOR=50 MALLOC_PERTURB_=85 LC_ALL=C.UTF-8 records old
alike "equal records with the kernels of an old processor" "$tmp/first" "$tmp/old"
if [ -n "${CHECK_ALL-}" ]; then
	OPENBLAS_CORETYPE=Haswell DS_ISA=avx2 flags="--portable --isolate-optimizer --jobs 2" records other
	alike "equal records with those of another one, with the optimizer isolated" "$tmp/first" "$tmp/other"
fi

# ---- without it they differ ----
free() { # free DIR FLAGS: a run that depends on the kernels of the BLAS
	"$dshost" --env bounce --opt boleap --budget 400 --seed 1000 --pictures false --out "$@" > "$tmp/out" 2> "$tmp/err" </dev/null
}
OPENBLAS_CORETYPE=Prescott free a
OPENBLAS_CORETYPE=Nehalem free b
table a > a.csv
table b > b.csv
! cmp -s a.csv b.csv
result $? "without it, kernels of the BLAS change a run"
"$dshost" compare a b > "$tmp/out" 2> "$tmp/err"
[ "$(grep -c "different arithmetic" "$tmp/err")" -eq 1 ] && grep -q "Prescott.*Nehalem" "$tmp/err"
result $? "compare says that two sets were made with different kernels"
"$dshost" report a b --out page > "$tmp/out" 2> "$tmp/err"
grep -q "different arithmetic" "$tmp/err" && grep -q "Prescott" page/index.html && grep -q "Nehalem" page/index.html &&
	head -n 1 page/runs.csv | grep -q "processor,arithmetic"
result $? "report says it, too"
OPENBLAS_CORETYPE=Prescott "$dshost" compare a a > "$tmp/out" 2> "$tmp/err"
! grep -q arithmetic "$tmp/err"
result $? "no word where they are the same"

# ---- record ----
case $(arithmetic a) in "x86_64 "*", glibc "*" (libm "*"), OpenBLAS "*" Prescott") true ;; *) false ;; esac
result $? "the summary names instruction set, libm and BLAS kernels: $(arithmetic a)"
[ "$(meta a arithmetic)" = "$(arithmetic a)" ] && [ -n "$(meta a processor)" ] &&
	[ "$(meta a variables)" = OPENBLAS_CORETYPE=Prescott ]
result $? "so does the record, with the variables that were set"
"$dshost" doctor > "$tmp/out"
grep -q "^arithmetic  *x86_64 .*glibc.*OpenBLAS" "$tmp/out" && grep -q "^portable  *off" "$tmp/out"
result $? "doctor names them"
case "$(sed -n 's/^instructions  *//p; s/^arithmetic .*OpenBLAS [^ ]* //p' "$tmp/out" | tr '\n' ' ')" in
"avx512 Prescott ") grep -q "^slow_kernels .*=SkylakeX" "$tmp/out" ;;
"avx2 Prescott ") grep -q "^slow_kernels .*=Haswell" "$tmp/out" ;;
*) ! grep -q "^slow_kernels" "$tmp/out" ;;
esac && ! OPENBLAS_CORETYPE=Prescott "$dshost" doctor | grep -q "^slow_kernels"
result $? "and advises where OpenBLAS falls back to kernels for old processors, unless the user chose them"
"$dshost" --env analytic --opt rand --budget 3 --pictures false --out c > "$tmp/out" 2> "$tmp/err"
case $(arithmetic c) in *BLAS*) false ;; x86_64*) true ;; esac
result $? "a run without a BLAS names none"
OPENBLAS_CORETYPE=Prescott "$dshost" --env analytic --opt cmaes --budget 3 --isolate-optimizer --pictures false --out d \
	> "$tmp/out" 2> "$tmp/err"
case $(arithmetic d) in *Prescott) true ;; *) false ;; esac
result $? "that of an optimizer in a process of its own is named"

# ---- resume ----
OPENBLAS_CORETYPE=Nehalem "$dshost" resume a --budget 401 > "$tmp/out" 2> "$tmp/err"
[ "$(grep -c "other arithmetic" "$tmp/err")" -eq 1 ]
result $? "a resume with other kernels says so in one line"
OPENBLAS_CORETYPE=Nehalem "$dshost" resume d > "$tmp/out" 2> "$tmp/err"
[ -z "$(meta d resumed_arithmetic)" ]
result $? "and notes nothing where nothing new is evaluated"
OPENBLAS_CORETYPE=Nehalem "$dshost" resume d --budget 4 > "$tmp/out" 2> "$tmp/err"
case $(meta d resumed_arithmetic) in *Nehalem) true ;; *) false ;; esac
result $? "else it notes them"
free p --portable
free q --portable
OPENBLAS_CORETYPE=Haswell DS_ISA=baseline "$dshost" resume p --budget 420 > "$tmp/out" 2> "$tmp/err"
! grep -q warning "$tmp/err" && "$dshost" resume q --budget 420 > "$tmp/out" 2> "$tmp/err"
result $? "a run in portable mode goes on in it by itself"
same "and its record is the same with other kernels asked for" p q
grep -q "^portable = true" p/run.ini && grep -q '"portable": true' p/summary.json
result $? "run.ini and summary.json say that it is portable"

# ---- ways to enter the mode ----
"$dshost" --env bounce --opt boleap --budget 420 --seed 1000 --pictures false --set run.portable=true --out e \
	> "$tmp/out" 2> "$tmp/err" && same "--set run.portable=true" p e
DS_PORTABLE=1 "$dshost" --env bounce --opt boleap --budget 420 --seed 1000 --pictures false --out f > "$tmp/out" 2> "$tmp/err"
same "DS_PORTABLE=1" p f
grep -q "^portable = true" f/run.ini
result $? "and it is recorded as portable"
"$dshost" run --config p/run.ini --budget 420 --out g > "$tmp/out" 2> "$tmp/err"
same "run.ini again" p g
printf '[bench]\nenvs = bounce\nopts = boleap\nseed = 1000\nruns = 2\n[run]\nbudget = 420\nportable = true\n' > x.ini
OPENBLAS_CORETYPE=Prescott "$dshost" bench x.ini --out h > "$tmp/out" 2> "$tmp/err"
same "bench" p h/bounce/boleap/seed-1000
grep -q '"arithmetic": "x86_64 portable.*Nehalem"' h/bench.json
result $? "bench.json names the arithmetic of each run"
refuses 3 "portable = true" "bench does not mix both modes" "$dshost" bench x.ini --out h --set run.portable=false
"$dshost" --env bounce --opt boleap --budget 400 --runs 2 --seed 1000 --pictures false --portable --out s > "$tmp/out" 2> "$tmp/err"
[ "$(arithmetic s/seed-1000)" = "$(arithmetic p)" ] && DS_ISA=baseline "$dshost" resume s --budget 420 > "$tmp/out" 2> "$tmp/err"
result $? "several runs, and their resume"
same "which is the same again" p s/seed-1000
one() { # one COMMAND...: what eval says of a point
	"$@" eval --env torus --set env.preset=small --set env.steps=4 --set env.precision=f32 --gradient 2> "$tmp/err" |
		grep -v '[0-9] s'
}
one "$dshost" > free.txt
one env DS_ISA=baseline "$dshost" > fixed.txt
one env DS_PORTABLE=1 "$dshost" > portable.txt
cmp -s fixed.txt portable.txt && [ -s portable.txt ]
result $? "eval; portable mode computes the bits of our baseline kernels"
"$dshost" eval --x p --json > "$tmp/out" 2> "$tmp/err"
result $? "eval of a point of a portable run"
"$dshost" landscape --env bounce --grid 5x5 --portable --out l > "$tmp/out" 2> "$tmp/err" &&
	sqlite3 l/landscape.sqlite "SELECT value FROM meta WHERE key = 'arithmetic'" | grep -q "x86_64 portable"
result $? "landscape"
DS_PORTABLE=1 "$dshost" check "$DS_TOP_BUILD/plugins/envs/bounce.so" > "$tmp/out" 2> "$tmp/err"
result $? "check"

# ---- where it cannot be ----
env $("$dshost" doctor --portable) "$dshost" doctor > "$tmp/out"
grep -q "^portable  *on" "$tmp/out"
result $? "doctor prints the variables for other programs"
OPENBLAS_L2_SIZE=512 OPENBLAS_BLOCK_FACTOR=50 env $("$dshost" doctor --portable) \
	sh -c '[ -z "$OPENBLAS_L2_SIZE$OPENBLAS_BLOCK_FACTOR" ]'
result $? "and takes back those that would change the blocks of a BLAS"
refuses 6 "do not reach this program" "a program that never gets its variables does not start anew for ever" \
	sh -c 'DS_PORTABLE=1 DS_PORTABLE_PROCESS=$$ exec "$0" list' "$dshost"

# ---- our own kernels ----
# Nothing of portable mode may hold instructions that round once where others round twice, or that only approximate.
# Functions with "fused" in their name are for other modes.
if command -v objdump > /dev/null; then
	found=0
	for o in $(find "$DS_TOP_BUILD/plugins/envs/engines" -name '*portable_avx*.o' -path '*libs*') \
		$(find "$DS_TOP_BUILD/plugins/envs/engines/physics/cloth" "$DS_TOP_BUILD/plugins/envs/engines/physics/control" \
			"$DS_TOP_BUILD/plugins/envs/engines/physics/fem" "$DS_TOP_BUILD/plugins/optimizers/methods" -name '*.o' -path '*libs*'); do
		objdump -d "$o" | awk '/^[0-9a-f]+ </ { used = !/fused/ } used' |
			grep -Eq '\bv?(fn?m(add|sub)[0-9]*|rsqrt|rcp)[0-9]*[ps][sd]\b' && echo "#   $o" && found=1
	done
	result "$found" "no fused or approximate instruction in portable kernels"
else
	skip "no objdump"
fi
finish
