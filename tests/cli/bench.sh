#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench.sh GPUBPF OBJECTS - SOURCE BUILD: runs bench/run for a short time and checks that every row can be measured. The
# measured values do not matter.
. "$(dirname "$0")/lib.sh"
if ! have_device; then skip "bench/run" "$device"; finish; fi
ls /etc/OpenCL/vendors/pocl*.icd > "$T/icd" 2>/dev/null || { skip "bench/run" "PoCL is not installed"; finish; }
BENCH_ROUNDS=1 BENCH_ITEMS=4096 BENCH_LAUNCHES=2 GPUBPF_BUILD=$5 "$4/bench/run" pocl > "$T/out" 2> "$T/err"
rc=$?; is 0 "bench/run"
[ "$(grep -c '^| .*% |$' "$T/out")" = 11 ]; ok $? "measures every row"
! grep -i fail "$T/out"; ok $? "none failed"
finish
