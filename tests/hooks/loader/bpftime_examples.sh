#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpftime_examples.sh GPUBPF OBJECTS LOOP CLANG TYPES CC: runs the GPU examples of bpftime from their own sources, in
# $GPUBPF_BPFTIME/example/gpu. Each object runs by gpubpf run -o, and each loader by gpubpf bpf. The application is an
# OpenCL program whose kernel has the name that the example probes. It launches 1,024 threads three times.
. "$(dirname "$0")/../../cli/lib.sh"
clang=$4 types=$5 cc=$6 GPUBPF=$(realpath "$GPUBPF") LOOP=$(realpath "$LOOP") examples=${GPUBPF_BPFTIME:-}/example/gpu
use_device pocl
pocl=$OCL_ICD_VENDORS
if ! command -v bpftool > /dev/null; then skip "examples of bpftime" "no bpftool, which makes their skeletons"; finish; fi

# example FOLDER NAME: builds the unmodified object and loader. The application has the functions that the examples'
# uprobes name. PoCL makes file names of kernel names, so a kernel with a long name runs on Intel's runtime.
example() {
	from=$examples/$1 to=$T/o/$1 name=$1 object=$T/o/$1/$2.bpf.o loader=$T/o/$1/$2
	if [ ! -f "$from/$2.c" ]; then skip "$1" "GPUBPF_BPFTIME has no example/gpu/$1"; return 1; fi
	run "$(dirname "$0")/bpftime_build.sh" "$GPUBPF_BPFTIME" "$T/o" "$clang" "$types" "$cc" - "$1"
	is 0 "$1 compiles as it is"
	kernel=$(sed -n 's/^SEC("k\(ret\)\{0,1\}probe\/\(cuda_\)\{0,1\}\(_Z[^"]*\)").*/\3/p' "$from/$2.bpf.c" | head -n 1)
	programs=$(grep -c '^SEC("k' "$from/$2.bpf.c")
	cp "$LOOP" "$to/vec_add"
	for launch in $3; do objcopy --redefine-sym "host_step=$launch" "$to/vec_add"; done
	export LOOP_NAME="${kernel:-step_one}" OCL_ICD_VENDORS="$pocl"
	[ ${#kernel} -lt 240 ] || OCL_ICD_VENDORS=${GPUBPF_TEST_INTEL:-}
	if [ -z "$OCL_ICD_VENDORS" ]; then skip "$1" "no Intel runtime, and PoCL cannot run a kernel with a name of this length"; return 1; fi
}
# reports EXPRESSION TEXT: checks the report of gpubpf run -o. In EXPRESSION, m(NAME) is the list of a map's values, p
# the texts of prints, e the records, and l the number of probed launches.
by_itself() { run "$GPUBPF" run --clock monotonic "$@" -o "$object" -j -r "$T/r" -- "$to/vec_add" 3 "${pause:-0}"; }
reports() {
	got=$(python3 - "$T/r" "$1" 2>&1 <<-'P'
		import json, sys
		r = json.load(open(sys.argv[1]))
		def m(name):
		    return [e["value"] if "value" in e else e for e in next(x for x in r["maps"] if x["name"] == name)["entries"]]
		p, e = [x["text"] for x in r.get("prints", [])], r.get("events", [])
		l = sum(k.get("probed", 0) for k in r["kernels"])
		print(eval(sys.argv[2]))
	P
	)
	[ "$got" = True ]; ok $? "$name by itself: $2: $(echo "$got" | tail -n 1 | cut -c1-200)"
}
# by_loader PATTERN [OPTION]...: starts the loader. Once its program is attached, launches the kernel, and waits until the
# loader prints PATTERN.
by_loader() {
	pattern=$1; shift
	cat > "$T/go" <<-G
		cd "$to"; stdbuf -oL "$loader" ${argument:-} > "$T/shown" 2> "$T/shown.err" & it=\$!
		for i in \$(seq 600); do [ "\$("$GPUBPF" session links | wc -l)" -gt $programs ] && break; sleep 0.1; done
		./vec_add 3 ${pause:-0} > "$T/app";
		for i in \$(seq 600); do grep -q '$pattern' "$T/shown" && break; kill -0 \$it 2> /dev/null || break; sleep 0.1; done
		kill -TERM \$it; wait \$it; status=\$?; cat "$T/shown"; exit \$status
	G
	run "$GPUBPF" bpf "$@" -- sh "$T/go"
	is 0 "$name by its loader"; prints "$pattern" "and it prints $pattern"
}

if example atomizer atomizer; then
	by_itself; reports "len([t for t in p if t.startswith('Exited')]) > 0 and not [t for t in p if t.startswith('Enter')]" "without its loader no block runs"
	by_loader 'partition_num is set to: [1-9]'
fi
if example cuda-counter cuda_probe; then
	by_itself; reports "0 < m('call_count')[0] <= 3072 and m('total_time_ns')[0] > 0 and len(m('start_ts')) > 0" "calls and their time"
	by_loader 'calls: [1-9]'
fi
if example cudagraph cuda_probe; then
	by_itself; reports "m('call_count') == [3] and 0 < m('total_time_ns')[0] < 10**10" "a call per launch"
	by_loader 'calls: 3'
fi
if example cutlass/counter cutlass_launch_counter; then
	by_itself; reports "m('cutlass_call_count') == [3]" "a count per launch"
	by_loader 'CUTLASS launches: 3$'
fi
for hist in faiss-test llama-cpp-test pytorch-test threadhist; do
	if example $hist threadhist; then
		by_itself; reports "sum(m('call_count')) == 3072" "each thread of each launch"
		by_loader 'Thread 6: 3$'
	fi
done
if example gpu_shared_map gpu_shared_map; then
	by_itself; reports "0 < m('counter')[0] <= 3072 and l == 3" "a count"
	by_loader '^counter.0.=[1-9]'
fi
if example host_map_test host_map_test; then
	by_itself; reports "l == 3" "all launches"
	by_loader 'call_count.: total=3072 .from 1024 threads.'
fi
if example kernel_trace kernel_trace; then
	by_itself; reports "len(e) == 3" "a record per launch"
	by_loader 'total events: 3'; prints 'ts=[1-9][0-9]* block=(0,0,0) thread=(0,0,0)$' "with time and thread"
fi
if example kernelretsnoop kernelretsnoop; then
	by_itself --events 5000; reports "len(e) == 3072" "a record per thread"
	by_loader 'Total events collected: 3072'; [ "$(grep -c '^Thread (63, 0, 0) timestamp: [1-9]' "$T/out")" = 48 ]; ok $? "one of each thread"
fi
if example mem_trace mem_trace; then
	by_itself; reports "0 < m('counter')[0] <= 6144 and l == 3" "accesses of memory"
	by_loader 'counter.0.=[1-9]'
fi
if example rocm-counter rocm_probe; then
	by_itself; reports "0 < m('call_count')[0] <= 3072 and m('total_time_ns')[0] > 0" "calls and their time"
	by_loader 'calls: [1-9]'
fi
for sched in threadscheduling threadscheduling_dynamic_hook; do
	if example $sched threadscheduling; then
		by_itself; grep -q 'refused' "$T/r"; ok $? "$sched by itself: a CPU has no multiprocessors"
		grep -q 'multiprocessor' "$T/r"; ok $? "and the report says so"
	fi
done
if example directly_run_on_gpu directly_run; then
	run "$GPUBPF" prog run "$object" cuda__run; is 1 "directly_run_on_gpu: a loop without a bound is refused"
	says 'program cuda__gemm' "by name"
fi

"$GPUBPF" run -o "$OBJ/../../cli/shared_array.bpf.o" -a on_host="$LOOP:host_step" -- true > /dev/null 2> "$T/err"
if grep -q 'on_host is not attached' "$T/err"; then skip "examples with uprobes" "$(grep -m 1 'not attached' "$T/err")"; finish; fi
launch=_Z16cudaLaunchKernelIcE9cudaErrorPT_4dim3S3_PPvmP11CUstream_st
if example threadhist-gpu-kernel-shared-map threadhist $launch; then
	by_itself -a launch_kernel_ret_probe="$to/vec_add:$launch"; reports "m('call_count') == [3072, 3]" "threads and launches in one array"
	by_loader '^value(1)=3'; prints '^value(0)=3072$' "and the threads"
fi
launch=cudaLaunchKernel
for late in launchlate-kernel-gpu-shared-map launchlate; do
	if example $late launchlate $launch; then
		pause=50
		by_itself -a uprobe_cuda_launch="$to/vec_add:$launch"; reports "sum(m('time_histogram')) > 0 and m('time_histogram')[-1] == 0" "latencies below the last interval"
		argument=./vec_add; [ $late = launchlate ] || argument=./vec_add:$launch
		by_loader '^Total samples: [1-9]'
		argument='' pause=''
	fi
done
finish
