#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# switches.sh GPUBPF OBJECTS LOOP CLANG TYPES CC [--supervise]: a loader enables and disables probes and buffers; the
# results must equal those with the Linux kernel.
. "$(dirname "$0")/../../cli/lib.sh"
way=$7
use_device pocl
if "$OBJ/switches" > "$T/theirs"; then
	run "$GPUBPF" bpf $way -- "$OBJ/switches" "$LOOP 1 0 0"; is 0 "a loader that switches its probes and buffers on and off"
	[ ! -s "$T/err" ]; ok $? "and nobody says anything"
	diff "$T/theirs" "$T/out" > "$T/err"; ok $? "sees what it sees of the Linux kernel's, $(grep -c . "$T/theirs") answers"
else skip "what the Linux kernel does" "it takes no uprobes of ours"; fi
finish
