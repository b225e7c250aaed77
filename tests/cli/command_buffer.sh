#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# command_buffer.sh GPUBPF OBJECTS APP: tests kernels that an application records in OpenCL command buffers. gpubpf
# counts and reports their launches but does not probe them.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
[ -x "$LOOP" ] && timeout 60 "$LOOP" 5 > "$T/native" 2> /dev/null
[ $? = 42 ] || { skip "command buffers" "no OpenCL device has cl_khr_command_buffer"; finish; }
same() { cmp -s "$T/native" "$T/out"; ok $? "$1: the output is its own"; }
kernels() { python3 -c "import json; print([(k['name'], k['launches'], k['probed'], k['missed'], k['outcome']) for k in json.load(open('$T/r'))['kernels']])"; }

run "$GPUBPF" kernel list -- "$LOOP" 5; is 42 "kernel list"; same "it"
says '^  step_two  *5  *1024  *64  no  *recorded in a command buffer' "lists the recorded kernel, its launches and why not"
says '^  step_one  *2  *1024  *64  yes' "beside the one that is launched by itself"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 5; is 42 "run"; same "it"
[ "$(kernels)" = "[('step_one', 2, 2, 0, 'probed'), ('step_two', 5, 0, 5, 'refused')]" ]; ok $? "counts: $(kernels)"
grep -q 'recorded in a command buffer' "$T/r"; ok $? "the report says why"

# the application changes arguments and sizes of the recorded commands between launches
OCL_ICD_VENDORS=${GPUBPF_TEST_INTEL:-none}; export OCL_ICD_VENDORS
timeout 60 "$LOOP" 7 change > "$T/native" 2> /dev/null
[ $? = 42 ] || { skip "mutable command buffers" "no OpenCL device has cl_khr_command_buffer_mutable_dispatch"; finish; }
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 7 change; is 42 "commands that change"; same "they"
[ "$(kernels)" = "[('step_one', 2, 2, 0, 'probed'), ('step_two', 7, 0, 7, 'refused')]" ]; ok $? "counts: $(kernels)"
finish
