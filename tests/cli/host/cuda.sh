#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cuda.sh GPUBPF DRIVER CUDA: programs of sections host/ run on the CPU at calls of the CUDA driver. The fake driver is in
# the folder DRIVER.
. "$(dirname "$0")/../lib.sh"
export LD_LIBRARY_PATH="$2" GPUBPF_BACKEND=cuda GPUBPF_PTXAS=
"$LOOP" 5 > "$T/native"
line() { grep -q -x -e "$1" "$T/err"; ok $? "$2: $1"; }

run "$GPUBPF" -e '
host/launch { @l[kernel, func] = count(); @number[ctx.launch] = count(); @in[ctx.host.stream != 0] = count(); }
host/launch_exit { @d[kernel, duration > 0, retval] = count(); }
host/copy { @copies[func, ctx.host.direction] = sum(ctx.host.bytes); @streams[func] = sum(ctx.host.stream != 0); }
host/copy_exit { @clock[ctx.done.clock, retval] = count(); }
host/alloc { @before[func] = sum(ctx.host.bytes); }
host/alloc_exit { @alloc[func, ctx.host.pointer != 0] = count(); @times[duration > 0] = count(); }
host/free { @free[func, ctx.host.pointer != 0] = count(); }
host/sync, host/event, host/stream, host/module, host/graph { @[func] = count(); }
host/graph_exit, host/sync_exit { @thread[ctx.host.tid == ctx.host.pid, retval] = count(); }' -- "$LOOP" 5
is 42 "one-liners at host/"
cmp -s "$T/out" "$T/native"; ok $? "the application prints the same"
line '@l\[step_one, cuLaunchKernel\]: 6' "a captured launch is a launch, and a node of a graph is none"
line '@d\[step_one, true, 0\]: 6' "host/launch_exit"
for i in 0 1 2 3 4 5; do line "@number\[$i\]: 1" "each launch has its number"; done
line '@in\[true\]: 6' "the stream"
line '@copies\[cuMemcpyHtoD_v2, 1\]: 260' "copies to the device: the bytes"
line '@copies\[cuMemcpyDtoDAsync_v2, 3\]: 256' "copies on the device"
line '@copies\[cuMemcpyDtoHAsync_v2, 2\]: 256' "copies to the host"
line '@copies\[cuMemcpy2D_v2, 1\]: 64' "a copy of rows"
line '@copies\[cuMemcpy2D_v2, 0\]: 0' "a copy of no memory"
line '@copies\[cuMemsetD32_v2, 4\]: 128' "a fill"
line '@streams\[cuMemcpyDtoHAsync_v2\]: 1' "the stream of a copy"
line '@clock\[1, 0\]: 7' "copies have the time of the call"
line '@clock\[1, 1\]: 1' "the driver's error"
line '@before\[cuMemAlloc_v2\]: 4096' "an allocation before the first module"
line '@alloc\[cuMemAlloc_v2, true\]: 1' "and its address"
line '@alloc\[cuMemAllocAsync, true\]: 1' "an allocation in a stream"
line '@times\[true\]: 2' "durations"
line '@free\[cuMemFree_v2, true\]: 1' "host/free"
line '@free\[cuMemFreeAsync, true\]: 1' "host/free in a stream"
for f in cuCtxSynchronize cuStreamSynchronize cuEventSynchronize cuEventCreate cuEventRecord cuStreamWaitEvent cuEventDestroy_v2 cuStreamCreate \
	cuStreamDestroy_v2 cuModuleLoadData cuModuleUnload cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphAddKernelNode_v2 \
	cuGraphInstantiateWithFlags cuGraphExecDestroy; do
	line "@\[$f\]: 1" "one call"
done
line '@\[cuGraphLaunch\]: 2' "launches of the graph"
line '@thread\[true, 0\]: 10' "the calling thread"

# SUPPORT.md's table of host places reads these files; tests/tap.h describes the folder.
if [ -n "${GPUBPF_TEST_RAN:-}" ] && [ "$failed" = 0 ]; then
	mkdir -p "$GPUBPF_TEST_RAN"
	for event in launch copy alloc free sync event stream module graph; do > "$GPUBPF_TEST_RAN/host-cuda $event"; done
fi
finish
