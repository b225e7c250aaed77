#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpftime.sh GPUBPF OBJECTS LOOP CLANG TYPES CC: runs bpftime's examples with their unmodified loaders on an OpenCL
# kernel.
. "$(dirname "$0")/../../cli/lib.sh"
launches="3 0" options=
clang=$4 types=$5 cc=$6 GPUBPF=$(realpath "$GPUBPF") LOOP=$(realpath "$LOOP")
use_device pocl
if ! command -v bpftool > /dev/null; then skip "bpftime's loaders" "no bpftool, which makes their skeletons"; finish; fi

{ cat "$types"; echo 'struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss; };'
  echo 'enum { BPF_F_MMAPABLE = 1024 }; typedef __s64 s64;'; } > "$T/vmlinux.h"
# compile FOLDER NAME: builds the unmodified object, its skeleton and its loader
compile() {
	from=${GPUBPF_CORPUS:-}/bpftime-examples/$1 to=$T/$1
	if [ ! -f "$from/$2.c" ]; then skip "$1" "GPUBPF_CORPUS has no bpftime-examples/$1"; return 1; fi
	mkdir -p "$to/.output"; cp "$from/$2.c" "$to"
	"$clang" -g -O2 -target bpf -D__TARGET_ARCH_x86 -I "$T" -c "$from/$2.bpf.c" -o "$to/$2.bpf.o" 2> "$T/err" &&
		bpftool gen skeleton "$to/$2.bpf.o" > "$to/.output/$2.skel.h" &&
		$cc -w -I "$to" "$to/$2.c" -o "$to/$2" -lbpf -lelf 2> "$T/err"
	ok $? "$1 compiles as it is"
	set --; for p in $(grep -o '^int cuda__[a-z_]*' "$from"/*.bpf.c | cut -c5-); do set -- "$@" -a "$p=step_one"; done
	attach=$*
}
# go PATTERN APP LOADER [ARG]...: starts the loader in its folder. Once its program is attached, runs APP with
# $launches, and waits until the loader prints PATTERN.
go() {
	cat > "$T/go" <<-E
		cd "$to"; stdbuf -oL "$3" "${4:-}" > "$T/shown" & it=\$!
		until [ -s "$T/shown" ] && "$GPUBPF" session links | grep -q step_one; do sleep 0.1; done
		"$2" $launches; until grep -q '$1' "$T/shown"; do sleep 0.1; done
		kill -TERM \$it; wait \$it; status=\$?; cat "$T/shown"; exit \$status
	E
	# shellcheck disable=SC2086
	run "$GPUBPF" bpf $options $attach -- sh "$T/go"
}

if compile gpu_shared_map gpu_shared_map; then
	go "^counter.0.=[1-9]" "$LOOP" "$to/gpu_shared_map"; is 0 "it runs with its own loader"
	prints '^counter\[0\]=[1-9]' "and shows what GPU and host share"; prints 'pid=[0-9]* *calls: [1-9]' "and who"
fi
if compile threadscheduling threadscheduling; then
	go . "$LOOP" "$to/threadscheduling"; is 0 "it runs with its own loader"
	says 'never ran: kernel step_one was not probed (refused): .*multiprocessor' "a CPU has no multiprocessors to show, and a line says so"
fi

if compile cudagraph cuda_probe; then
	go "calls: [1-9]" "$LOOP" "$to/cuda_probe"; is 0 "it runs with its own loader"
	prints 'pid=.*calls: [1-9]' "and shows calls, which its program does not count atomically"
fi
if compile host_map_test host_map_test; then
	go "call_count.: total=3072 .from 1024 threads." "$LOOP" "$to/host_map_test"; is 0 "it runs with its own loader"
	prints 'key=0  (call_count): total=3072 (from 1024 threads)' "each thread has its own count"; prints 'key=2  (thread_id): total=[1-9]' "and number"
	prints 'key=0: 1024 threads have timestamps' "and time"; prints 'key=[0-9]  *value: [1-9]' "and what they share is shown"
	export BPFTIME_MAP_GPU_THREAD_COUNT=100
	go "call_count.: total=300 .from 100 threads." "$LOOP" "$to/host_map_test"; is 0 "it runs with memory for fewer threads than there are"
	prints 'key=0: 100 threads have timestamps' "and shows those that it has room for"
	unset BPFTIME_MAP_GPU_THREAD_COUNT
fi

# these examples share arrays between the GPU and uprobes, which run in the Linux kernel
cp "$LOOP" "$T/app"
"$GPUBPF" run -o "$OBJ/../../cli/shared_array.bpf.o" -a on_host="$T/app:host_step" -- true > /dev/null 2> "$T/err"
if grep -q 'on_host is not attached' "$T/err"; then skip "arrays shared with the Linux kernel's programs" "$(grep -m 1 'not attached' "$T/err")"; finish; fi
if compile threadhist-gpu-kernel-shared-map threadhist; then
	launch=$(sed -n 's/^SEC("uretprobe.*:\(.*\)")/\1/p' "$from/threadhist.bpf.c")
	objcopy --redefine-sym "host_step=$launch" "$LOOP" "$to/vec_add"
	go "^value(1)=3" "$to/vec_add" "$to/threadhist"; is 0 "it runs with its own loader"
	prints '^value(0)=3072$' "the threads of the GPU are counted"; prints '^value(1)=3$' "and what the kernel's uprobe saw, in one array"
fi
if compile launchlate-kernel-gpu-shared-map launchlate; then
	go "^Total samples: 3072" "$T/app" "$to/launchlate" "$T/app:host_step"; is 0 "it runs with its own loader"
	prints '^Total samples: 3072$' "each thread came after a launch that the kernel's uprobe saw"
fi
if compile launchlate launchlate; then # the loader does not map its arrays: the tool copies them within 10 ms
	objcopy --redefine-sym host_step=cudaLaunchKernel "$LOOP" "$to/app"
	launches='20 50'; go "^Total samples: [1-9]" "$to/app" "$to/launchlate" "$to/app"; is 0 "it runs with its own loader"
	prints '^Total samples: [1-9]' "threads came after a launch that the kernel's uprobe saw"
fi
finish
