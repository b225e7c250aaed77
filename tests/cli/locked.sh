#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# locked.sh GPUBPF OBJECTS LOCKED: applications that forbid themselves system calls with seccomp(2).
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
kernels() { python3 -c "import json; print([(k['name'], k['launches'], k['probed']) for k in json.load(open('$T/r'))['kernels']])"; }
for how in other prctl seccomp all early inherited; do
	[ -x "$LOOP" ] && timeout 60 "$LOOP" $how > "$T/native" 2> /dev/null
	[ $? = 42 ] || { skip "$how" "no OpenCL device, or no seccomp"; continue; }
	run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" $how; is 42 "$how"; cmp -s "$T/native" "$T/out"; ok $? "$how: its output is its own"
	case $how in
	other) [ "$(kernels)" = "[('step_one', 2, 2), ('step_two', 1, 1)]" ]; ok $? "a filter that leaves us our calls: $(kernels)";;
	early | inherited) [ "$(kernels)" = "[]" ]; ok $? "nothing is asked of it: $(kernels)"
		says 'seccomp filter forbids system call [0-9]*, which probing needs, to this process' "and it is told";;
	*) [ "$(kernels)" = "[('step_one', 1, 1)]" ] || [ "$(kernels)" = "[('step_one', 2, 1), ('step_two', 1, 0)]" ]
		ok $? "probed until then: $(kernels)"
		says 'seccomp filter forbids system call [0-9]*, which probing needs' "and it is told";;
	esac
done
finish
