#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vm_device.sh CLANG ROOT: the interpreter's core loop compiles for every device and calls no function.
clang=$1 root=$2
targets=(nvptx64-nvidia-cuda amdgcn-amd-amdhsa spirv64)
echo "1..${#targets[@]}"
n=0
for target in "${targets[@]}"; do
	n=$((n + 1))
	ir=$("$clang" "--target=$target" -nogpulib -ffreestanding -O2 -Wall -Werror -I"$root" -I"$root/include" -S -emit-llvm \
		-o - "$root/tests/interp/vm_device.c" 2>&1) && ! grep -q '^declare .*@[^l]' <<<"$ir" &&
		grep -q '^define .*@gpubpf_vm_on_device' <<<"$ir" && echo "ok $n - $target" ||
		{ echo "not ok $n - $target"; grep -E '^declare|error' <<<"$ir" | sed 's/^/# /'; }
done
