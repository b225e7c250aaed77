#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# host.sh GPUBPF OBJECTS CALLS RUNTIME: programs of sections host/ run on the CPU at calls of an OpenCL runtime.
. "$(dirname "$0")/../lib.sh"
use_device "$4"
"$LOOP" 5 4 > "$T/native" 2> /dev/null
slot() { sed -n "s/^ *$1  *\([0-9]*\)$/\1/p" "$T/err"; }
same() { # SLOT VALUE NAME
	[ "$(slot "$1")" = "$2" ]; ok $? "$3: $2 (is $(slot "$1"))"
}
run "$GPUBPF" run -o "$OBJ/host.bpf.o" -- "$LOOP" 5 4; is 42 "host/ and gpu/ programs in one object"
cmp -s "$T/out" "$T/native"; ok $? "the application prints the same"
same 0 20 "programs at host/launch run once for each launch of 4 threads"
same 1 20 "programs at host/launch_exit get the same kernel, number and call"
same 2 5120 "programs in kernels count in the same map"
same 3 20 "programs in kernels find the launches that the host recorded"
[ -z "$(slot 4)" ]; ok $? "no launch is unknown in kernels: $(slot 4)"
same 5 4 "programs at host/copy_exit run once for each copy"
same 6 4096 "they get the bytes"
same 7 2 "copies through a queue with profiling have times of the device"
[ -z "$(slot 8)" ]; ok $? "which are not longer than the calls"
same 9 2 "they get the direction"

run "$GPUBPF" run -o "$OBJ/kernels.bpf.o" -- "$LOOP" 5 4; is 42 "programs at host/kernel"
same 0 20 "programs at host/kernel run once for each launch of the kernel"
same 1 20 "programs at host/kernel_exit run once for each launch"
[ -z "$(slot 2)" ]; ok $? "they get the times of the kernel: $(slot 2)"

run "$GPUBPF" -e 'host/launch { @l[kernel, func] = count(); } host/launch_exit { @d[kernel] = count(); @ok[duration > 0, retval] = count(); }
	host/alloc_exit { @alloc[ctx.host.pointer != 0] = count(); } host/free, host/sync, host/event, host/stream, host/module { @[func] = count(); }
	host/copy/clEnqueueW* { @w[func] = sum(ctx.host.bytes); }' -- "$LOOP" 3 1
is 42 "one-liners at host/"
says '^@l\[step_one, clEnqueueNDRangeKernel\]: 3$' "the kernel and the function have names"
says '^@d\[step_one\]: 3$' "host/launch_exit"
says '^@ok\[true, 0\]: 3$' "duration and retval are the call's"
says '^@alloc\[true\]: 3$' "host/alloc_exit gets the memory"
says '^@w\[clEnqueueWriteBuffer\]: 2048$' "a pattern selects functions"
says '^@\[clReleaseMemObject\]: 3$' "host/free"
says '^@\[clFinish\]: [1-9]' "host/sync"
says '^@\[clCreateUserEvent\]: 1$' "host/event"
says '^@\[clBuildProgram\]: 1$' "host/module"
says '^@\[clReleaseCommandQueue\]: 2$' "host/stream"
! grep -q 'nothing was probed' "$T/err"; ok $? "no message says that nothing was probed"

for bad in 'host/launched { @ = count(); }' 'host/launch { @ = sum(bid); }' 'host/launch { @ = sum(duration); }' 'host/copy { @[kernel] = count(); }' \
	'host/launch, gpu/exit/* { @ = count(); }' 'host/launch { @ = sum(lane); }'; do
	run "$GPUBPF" -e "$bad" -- "$LOOP" 1 1; [ "$rc" != 42 ]; ok $? "refused: $bad"
done
run "$GPUBPF" -e 'host/graph { @ = count(); }' -- "$LOOP" 1 1; is 42 "a probe without calls"
says 'no call of the application matched host/graph' "is reported"

# SUPPORT.md's table of host places reads these files; tests/tap.h describes the folder.
if [ -n "${GPUBPF_TEST_RAN:-}" ] && [ "$failed" = 0 ]; then
	mkdir -p "$GPUBPF_TEST_RAN"
	for event in launch copy alloc free sync event stream module kernel; do > "$GPUBPF_TEST_RAN/host-opencl $event"; done
fi
finish
