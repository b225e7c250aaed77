#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sums.sh GPUBPF OBJECTS LOOP: a GPU kernel (here on a CPU), a uprobe and a thread of the host add to one word, and no
# addition may be lost. GPUBPF_TEST_SUMS: number of additions of each, 200000 by default.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
each=${GPUBPF_TEST_SUMS:-200000} launches=$(((${GPUBPF_TEST_SUMS:-200000} + 1023) / 1024))
run "$GPUBPF" bpf -- "$OBJ/sums" "$OBJ/sums.bpf.o" "$LOOP $launches 0" "$each"
if [ "$rc" != 0 ] && [ "$(id -u)" != 0 ]; then skip "sums" "the Linux kernel takes no uprobe of ours"; finish; fi
if [ "$rc" = 4 ]; then skip "sums" "the Linux kernel has no uprobes here"; finish; fi
is 0 "a kernel of a GPU, a uprobe and a thread of the loader add to one word"
sum=$((launches * 1024 + 2 * each)); prints "^sum $sum $sum\$" "and nothing is lost: $sum, mapped and looked up"
finish
