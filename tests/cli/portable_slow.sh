#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# portable_slow.sh - the runs of portable_cases.sh in portable mode on emulated processors (qemu-user), from those
# without AVX on: equal records on all of them. DS_PROCESSORS names others.
. "$(dirname "$0")/lib.sh"
. "$DS_TOP_SRC/tests/cli/portable_cases.sh"
unset DS_ISA OPENBLAS_CORETYPE GLIBC_TUNABLES
command -v qemu-x86_64 > /dev/null && [ "$(uname -m)" = x86_64 ] || {
	skip "there is no qemu-x86_64 (qemu-user)"
	finish
	exit 0
}
# A program that is started from an emulated one runs on the real processor: all in one process, therefore, which
# has its variables from the start.
for v in $("$dshost" doctor --portable); do
	export "${v?}"
done
flags="--isolation none"
records here
for processor in ${DS_PROCESSORS:-Nehalem Westmere Denverton Haswell EPYC max}; do
	runner="qemu-x86_64 -cpu $processor"
	# shellcheck disable=SC2086 # words
	qemu-x86_64 -strace -cpu "$processor" "$dshost" --env bounce --opt boleap --budget 5 --pictures false $flags \
		--out "$tmp/once" > "$tmp/out" 2> "$tmp/calls"
	[ -s "$tmp/once/run.sqlite" ] && grep -q "openat(" "$tmp/calls" && ! grep "execve" "$tmp/calls" > "$tmp/out"
	result $? "the emulator of $processor is not left"
	rm -rf "$tmp/once"
	records "$processor"
	[ "$(ls "$tmp/here" | wc -l)" -ge 20 ] && ! grep -lq "^no record" "$tmp/here"/* &&
		diff -rq "$tmp/here" "$tmp/$processor" > "$tmp/out" 2>&1
	result $? "equal records on $processor"
done
finish
