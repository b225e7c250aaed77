#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A peer's examples with their own loaders, unmodified, on an OpenCL kernel. bpftime.sh GPUBPF OBJECTS LOOP CLANG TYPES CC
. "$(dirname "$0")/../cli/lib.sh"
clang=$4 types=$5 cc=$6
use_device pocl
if ! command -v bpftool > /dev/null; then skip "bpftime's loaders" "no bpftool, which makes their skeletons"; finish; fi

{ cat "$types"; echo 'struct pt_regs { unsigned long ax; };'; } > "$T/vmlinux.h"
for name in gpu_shared_map threadscheduling; do
	from=${GPUBPF_CORPUS:-}/bpftime-examples/$name
	if [ ! -f "$from/$name.c" ]; then skip "$name" "GPUBPF_CORPUS has no bpftime-examples/$name"; continue; fi
	mkdir -p "$T/$name/.output"; cp "$from/$name.c" "$T/$name"
	"$clang" -g -O2 -target bpf -D__TARGET_ARCH_x86 -I "$T" -c "$from/$name.bpf.c" -o "$T/$name/$name.bpf.o" 2> "$T/err" &&
		bpftool gen skeleton "$T/$name/$name.bpf.o" > "$T/$name/.output/$name.skel.h" &&
		$cc -w -I "$T/$name" "$T/$name/$name.c" -o "$T/$name/$name" -lbpf -lelf 2> "$T/err"
	ok $? "$name compiles as it is"
	case $name in gpu_shared_map) shown='^counter\[0\]=[1-9]';; *) shown='SM  *[0-9]*: .* [1-9][0-9]* threads';; esac
	cat > "$T/go" <<-E
		stdbuf -oL "$T/$name/$name" > "$T/shown" & it=\$!
		until "$GPUBPF" session list | grep -q step_one; do sleep 0.1; done
		"$LOOP" 3 0; until grep -q '$shown' "$T/shown"; do sleep 0.1; done
		kill -TERM \$it; wait \$it; status=\$?; cat "$T/shown"; exit \$status
	E
	set --; for p in $(grep -o '^int cuda__[a-z_]*' "$from/$name.bpf.c" | cut -c5-); do set -- "$@" -a "$p=step_one"; done
	run "$GPUBPF" bpf "$@" -- sh "$T/go"; is 0 "$name runs with its own loader"
	prints "$shown" "and shows what is on the GPU"
	[ $name != gpu_shared_map ] || { prints 'pid=[0-9]* *calls: [1-9]' "and who"; }
done
finish
