#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# order.sh GPUBPF OBJECTS LOOP: a GPU program (here on a CPU) and two of the Linux kernel share maps, in all orders: sums must be
# exact. GPUBPF_TEST_ORDERS: runs every n-th case, default 61, 1: all. One session runs all, so that equal twins are made once.
. "$(dirname "$0")/../cli/lib.sh"
use_device pocl
all=$("$OBJ/order" cases | sed -n 's/^cases //p') every=${GPUBPF_TEST_ORDERS:-61} ran=0 exact=0
[ "$all" -gt 0 ]; ok $? "$all orders there are"
run "$GPUBPF" bpf -- "$OBJ/order" 0 1
if grep -q 'Operation not permitted\|No such file' "$T/out"; then skip "orders" "the Linux kernel takes no programs or uprobes of ours"; finish; fi
: > "$T/wrong"
for i in $(seq 0 "$every" $((all - 1))); do
	run "$GPUBPF" bpf -q -- "$OBJ/order" "$i" $((i + 1)); ran=$((ran + 1))
	if [ "$rc" = 0 ]; then exact=$((exact + 1)); else cat "$T/out" "$T/err" >> "$T/wrong"; fi
done
cp "$T/wrong" "$T/out"; [ "$exact" = "$ran" ]; ok $? "$exact of $ran orders are exact"
finish
