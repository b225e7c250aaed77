#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# twins_ahead.sh GPUBPF OBJECTS APP: the agent requests a twin when the application creates the kernel, not at the first
# launch.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
[ -x "$LOOP" ] && timeout 60 "$LOOP" 3 > "$T/native" 2> /dev/null
[ $? = 42 ] || { skip "twins ahead" "no OpenCL device"; finish; }
made() { timeout 20 "$GPUBPF" session report -j 2> /dev/null | grep -q '"twins": 3,'; }
"$GPUBPF" run -o "$p" --no-wait --no-cache -j --report "$T/r" -- "$LOOP" 3 "$T/go" > "$T/out" 2> "$T/err" & tool=$!
until_true made; ok $? "three programs: their twins are made before a launch"
> "$T/go"; wait $tool; rc=$?; is 42 "a program that waited with its launches"; cmp -s "$T/native" "$T/out"; ok $? "its output is its own"
probed=$(python3 -c "import json; print(sum(k['probed'] for k in json.load(open('$T/r'))['kernels']))")
[ "$probed" = 3 ]; ok $? "each is probed the first time, without waiting: $probed"
finish
