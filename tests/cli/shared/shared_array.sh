#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shared_array.sh GPUBPF OBJECTS LOOP CLANG TYPES: objects with programs for the Linux kernel and for the GPU that share
# one array, on a CPU device. Only root may load programs into the Linux kernel.
. "$(dirname "$0")/../lib.sh"
clang=$4 types=$5 o=$OBJ/shared_array.bpf.o
json() { python3 -c "import json,sys; r=json.load(open('$T/r')); v=lambda n: [e['value'] for m in r['maps'] if m['name'] == n for e in m['entries']]; print($1)" 2>&1; }

run "$GPUBPF" prog verify "$o"; is 0 "the programs for the GPU are proven"
says 'in_linux is a program for the Linux kernel, which verifies it when a session starts' "and the others named"
use_device pocl
cp "$LOOP" "$T/app"

# without the privilege to load programs into the Linux kernel, the GPU programs run
if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
	run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" run -o "$o" -a in_linux="$T/app:host_step" -j -r "$T/r" -- "$T/app" 2 0
	is 42 "without the right to load programs into the kernel"
	says 'program in_linux is not attached: loading the object into the Linux kernel requires root, or CAP_BPF and CAP_PERFMON' "one line says so"
	[ "$(json "v('counts')[0]")" = 2048 ]; ok $? "and the GPU's programs count: $(json "v('counts')")"
else skip "without the right to load programs into the kernel" "no setpriv, or not root"; fi

# the following tests need a machine that can load and attach a uprobe
"$GPUBPF" run -o "$o" -a in_linux="$T/app:host_step" -- true > /dev/null 2> "$T/err"
if grep -q 'in_linux is not attached' "$T/err"; then skip "a uprobe" "$(grep -m 1 'not attached' "$T/err")"; finish; fi

run "$GPUBPF" run -o "$o" -- true; says "in_linux is not attached: its section names no function; pass --attach in_linux=BINARY:FUNCTION" "a section without a place"
run "$GPUBPF" run -o "$o" --no-kernel -- true; says "in_linux is not attached: this session loads nothing into the Linux kernel" "none where none is wanted"
run "$GPUBPF" run -o "$o" -a in_linux=nowhere -- true; says "in_linux is not attached: nowhere names no function of a binary" "no place"
run "$GPUBPF" run -o "$o" -a in_linux="$T/app:nowhere" -- true; says "in_linux is not attached: attaching it: .*'nowhere'" "no such function"
run "$GPUBPF" run -o "$o" -a in_linux="$T/app:host_step" -j -r "$T/r" -- "$T/app" 5 0; is 42 "a uprobe and programs in kernels"
[ "$(json "v('counts')")" = "[10240, 5, 0]" ]; ok $? "add to one array, and nothing is lost: $(json "v('counts')")"
[ "$(json "v('seen')[0]")" = 5 ]; ok $? "the GPU sees what the kernel counts: $(json "v('seen')")"
[ "$(json "v('alone') + v('shared_a.bss')")" = "[5120, 5120]" ]; ok $? "maps of the GPU alone are as ever"
[ "$(json "v('carried')")" = "[5125]" ]; ok $? "a hash has what both add: $(json "v('carried')")"; [ "$(grep -c 'not shared' "$T/err")" = 0 ]; ok $? "and nothing is said of it"
run "$GPUBPF" run -o "$OBJ/shared_nested.bpf.o" -a on_host="$T/app:host_step" -j -r "$T/r" -- "$T/app" 2 0; is 42 "a map of maps"
says 'map elements is not shared' "is one for each"; [ "$(grep -c 'not attached' "$T/err")" = 0 ]; ok $? "and the kernel takes it: $(cat "$T/err")"
[ "$(json "v('element')[0]")" = 2048 ]; ok $? "as the GPU does: $(json "v('element')")"
run "$GPUBPF" run -o "$OBJ/shared_jumps.bpf.o" -a on_host="$T/app:host_step" -j -r "$T/r" -- "$T/app" 2 0; is 42 "maps of programs"
says 'map of_host is left to the Linux kernel: GPUs do not support its type 3' "of which one is the kernel's"; [ "$(grep -c 'not attached' "$T/err")" = 0 ]; ok $? "and the kernel takes it: $(cat "$T/err")"
[ "$(json "v('steps')")" = "[0, 2048, 0, 2]" ]; ok $? "and all go on in others: $(json "v('steps')")"
"$GPUBPF" run -o "$o" -a in_linux="$T/app:host_step" -- "$T/app" 200 50 > /dev/null 2>&1 & tool=$!
until_true sh -c "'$GPUBPF' map lookup counts key 1 | grep -q 'value: [1-9]'"; ok $? "what the kernel counts is seen while it runs"
"$GPUBPF" map update counts key 1 value 1000000; until_true sh -c "'$GPUBPF' map lookup counts key 1 | grep -q 'value: 100000[1-9]'"
ok $? "and it counts on from what is put in"; kill $tool; wait $tool 2> /dev/null
# no other test uses this program name; the Linux kernel frees a program when its last file descriptor is closed
until_true sh -c '! bpftool prog show 2> /dev/null | grep -q in_linux'; ok $? "nothing stays in the kernel"

# bpftime's example launchlate: the time from the host's launch call to the start of the GPU kernel
{ cat "$types"; echo 'struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss; };'
  echo 'enum { BPF_F_MMAPABLE = 1024 }; typedef __s64 s64;'; } > "$T/vmlinux.h"
for name in launchlate launchlate-kernel-gpu-shared-map; do
	source=${GPUBPF_CORPUS:-}/bpftime-examples/$name/launchlate.bpf.c
	if [ ! -f "$source" ]; then skip "$name" "GPUBPF_CORPUS has no bpftime-examples/$name"; continue; fi
	"$clang" -g -O2 -target bpf -D__TARGET_ARCH_x86 -I "$T" -c "$source" -o "$T/launchlate.bpf.o" 2> "$T/err"; ok $? "$name compiles"
	run "$GPUBPF" run -o "$T/launchlate.bpf.o" -a uprobe_cuda_launch="$T/app:host_step" -a cuda__probe=step_one -j -r "$T/r" -- "$T/app" 3 0
	is 42 "$name"
	[ "$(json "sum(v('time_histogram'))")" = 3072 ]; ok $? "each thread came after a launch: $(json "v('time_histogram')")"
	[ "$(json "v('time_histogram')[0]")" = 0 ]; ok $? "and none at its very time, which a clock that lags would say"
done
finish
