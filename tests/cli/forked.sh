#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# forked.sh GPUBPF OBJECTS FORKED: a child process uses OpenCL, forked after its parent used OpenCL.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
# this device runs kernels in the calling thread, so it also works in a forked child
POCL_DEVICES=basic; export POCL_DEVICES
[ -x "$LOOP" ] && timeout 60 "$LOOP" 3 > "$T/native" 2> /dev/null
[ $? = 42 ] || { skip "children of a fork" "no OpenCL device works there"; finish; }
same() { cmp -s "$T/native" "$T/out"; ok $? "$1: the output is its own"; }
kernels() { python3 -c "import json; print(sorted((k['name'], k['launches'], k['probed'], k['outcome']) for k in json.load(open('$T/r'))['kernels']))"; }

run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 3; is 42 "run"; same "it"
[ "$(kernels)" = "[('step_after', 3, 3, 'probed'), ('step_before', 4, 1, 'refused')]" ]
ok $? "the child's own kernel is probed, the inherited one counted: $(kernels)"
says 'launches kernels that its parent made before the fork; they run unprobed' "one line says so"; one_line "that"
grep -q 'made before the fork of the process that launches it' "$T/r"; ok $? "the report says why"
finish
