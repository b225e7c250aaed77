#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_run.sh GPUBPF OBJECTS LOOP [CLANG TYPES CC --supervise]: BPF_PROG_TEST_RUN of a loader runs programs of the session
# on the GPU.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
way=$7 object=$OBJ/../../cli/loader.direct.bpf.o
test_run() { run "$GPUBPF" bpf $way -- "$OBJ/test-run" "$object" cuda__run "$@"; is 0 "test_run $*"; }
test_run 512; prints '^ran: retval 9, 512 bytes, sum 8256, timed$' "two runs on the data"
[ "$(grep -c '^invalid: Invalid argument$' "$T/out")" = 3 ]; ok $? "flags, a CPU and a context of another size are refused"
test_run 256; prints '^No space left on device: retval 9, 512 bytes, sum 2080, timed$' "too small a room receives the first bytes"
test_run 512 attach; prints '^attached$' "a kprobe of __directly_run is accepted"; prints '^ran: retval 9, 512 bytes, sum 8256, timed$' "and the program runs"
OCL_ICD_VENDORS=/nonexistent; export OCL_ICD_VENDORS
run "$GPUBPF" bpf $way -b opencl -- "$OBJ/test-run" "$object" cuda__run 512; prints '^No such device: retval 0' "without a device it fails"
says 'cuda__run: opencl: ' "with a line that has the reason"
finish
