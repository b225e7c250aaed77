#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpftime_build.sh SOURCE DEST CLANG TYPES CC NVCC [FOLDER]...: builds GPU examples of bpftime, all by default. SOURCE is
# a checkout of eunomia-bpf/bpftime. TYPES serves as vmlinux.h. DEST/FOLDER gets the object, the loader, and the CUDA
# program vec_add if NVCC is not "-" and the example has one.
# $NVCC_OPTIONS selects the architecture, by default that of this machine's GPU.
source=$1/example/gpu dest=$2 clang=$3 types=$4 cc=$5 nvcc=$6; shift 6
mkdir -p "$dest"
{ cat "$types"; echo 'struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss; };'
  echo 'enum { BPF_F_MMAPABLE = 1024 }; typedef __s64 s64;'; } > "$dest/vmlinux.h"

build() {
	from=$source/$1 to=$dest/$1
	name=$(basename "$from"/*.bpf.c .bpf.c)
	mkdir -p "$to/.output"
	"$clang" -g -O2 -target bpf -D__TARGET_ARCH_x86 -I "$dest" -c "$from/$name.bpf.c" -o "$to/$name.bpf.o" &&
		bpftool gen skeleton "$to/$name.bpf.o" > "$to/.output/$name.skel.h" &&
		cp "$from/$name.c" "$to/.output/$name.skel.h" "$to" &&
		$cc -w -I "$to" "$to/$name.c" -o "$to/$name" -lbpf -lelf || return
	for cu in "$from"/vec_add*.cu; do
		if [ "$nvcc" != - ] && [ -e "$cu" ]; then "$nvcc" -w ${NVCC_OPTIONS:--arch=native} -o "$to/vec_add" "$cu" || return; fi
	done
}

failed=0
# shellcheck disable=SC2046 # a list of names without blanks
[ $# != 0 ] || set -- $(cd "$source" && find . -name '*.bpf.c' -printf '%h\n' | sort)
for folder; do build "$folder" || { echo "bpftime_build.sh: $folder was not built" >&2; failed=1; }; done
exit $failed
