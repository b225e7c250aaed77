#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# places.sh GPUBPF OBJECTS LOOP [CLANG TYPES CC --supervise]: the places that loaders name with kprobes: memory
# accesses, kernels with long names, and functions that no kernel has; for these a message says so.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
way=$7
places() { run "$GPUBPF" bpf $way -- "$OBJ/places" "$@"; }
places __memcapture "$LOOP 3 0"; is 0 "a kprobe of __memcapture"; prints '^counted 6144$' "runs at each access of each thread"
prints '^GPU_RINGBUF: made$' "a loader creates a map of a type that Linux lacks"
places __memcapture "$LOOP 3 0" access; prints '^counted 6144$' "and may read what the access gives"
places cuda__step_one "$LOOP 1 0" access; says 'is not attached: .*reads mem.bytes of the context, which gpu/entry/ does not provide' "which a kernel's entry does not give: a line"
places __memcapture "$LOOP 1 0" ret; prints '^Operation not supported$' "its return is refused"; says 'a memory access has no return' "with a line"
places __directly_run "$LOOP 1 0"; prints '^attached$' "a program that runs by itself is accepted"; prints '^counted 0$' "and does not run in a kernel of the application"
places __directly_run "$LOOP 1 0" ret; prints '^Operation not supported$' "its return is refused"; says 'use kprobe/__directly_run' "with a remedy"
places cuda__step_one+4 "$LOOP 1 0"; prints '^Operation not supported$' "an offset is refused"; says 'cannot be probed at a byte offset' "with a line"
for size in 255 256 1456 4095; do places "k/$size" true; prints '^attached$' "a name of $size bytes"; done
places k/4096 true; prints '^Invalid argument$' "a longer one is refused"; says 'whole name has 1 to 4095 bytes' "with the limit"
name=$(printf 'k%.0s' $(seq 1456)) # PoCL uses the kernel's name as a file name, so it must be shorter
if [ -e "${GPUBPF_TEST_INTEL:-}" ]; then
	run env OCL_ICD_VENDORS="$GPUBPF_TEST_INTEL" LOOP_NAME="$name" "$GPUBPF" bpf $way -- "$OBJ/places" k/1456 "$LOOP 1 0"
	prints '^counted 1024$' "a kernel with a name of 1,456 bytes counts"
else skip "a kernel with a name of 1,456 bytes counts" "no Intel runtime"; fi
places cuda__step_two "$LOOP 1 0"; says 'program cuda__count: no kernel is named step_two; launched kernels: step_one' "no kernel of the name: a line"
places cuda__step_two true; says 'cuda__count never ran: .*the session saw no kernel launch' "no launch at all: a line"
places cuda__step_one "$LOOP 1 0"; prints '^counted 1024$' "one that runs"; [ "$(grep -c 'never ran\|no kernel is' "$T/err")" = 0 ]; ok $? "has none"
places cuda__step_one "$LOOP 1 0" clock; prints '^clock since 1970$' "helper 502 of loaders' programs has the base of NVIDIA's globaltimer"
places cuda__step_one "$LOOP 1 0" cookie; prints '^cookie 0x123456789abc$' "the program gets the cookie of its link"
finish
