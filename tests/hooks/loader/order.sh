#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# order.sh GPUBPF OBJECTS LOOP: one program of a GPU (here a CPU) and two of the Linux kernel share maps, in all orders
# of loading and attaching. Their sums must be exact. GPUBPF_TEST_ORDERS=N runs every N-th case (default 61; 1: all).
# Cases run in parallel, each in its own session.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
all=$("$OBJ/order" cases | sed -n 's/^cases //p') every=${GPUBPF_TEST_ORDERS:-61} running=0
[ "$all" -gt 0 ]; ok $? "$all orders there are"
run "$GPUBPF" bpf -- "$OBJ/order" 0 1
if grep -q 'Operation not permitted\|No such file' "$T/out"; then skip "orders" "the Linux kernel takes no programs or uprobes of ours"; finish; fi
one() { # one NUMBER: runs a case. Its output stays in $T/cases, as NUMBER.exact if the sums are exact
	timeout 300 "$GPUBPF" bpf -q -- "$OBJ/order" "$1" $(($1 + 1)) > "$T/cases/$1" 2>&1 && mv "$T/cases/$1" "$T/cases/$1.exact"
}
mkdir "$T/cases"
# Sort the cases by their number modulo 4: each remainder has its own twins, which later cases find in the cache.
seq 0 "$every" $((all - 1)) | awk '{ print $1 % 4, $1 }' | sort -n > "$T/numbers"
while read -r _ i; do
	one "$i" & running=$((running + 1))
	[ "$running" -lt "$(nproc)" ] || { wait; running=0; }
done < "$T/numbers"
wait
ran=$(wc -l < "$T/numbers") exact=$(ls "$T/cases" | grep -c '\.exact$')
for f in "$T"/cases/*; do case $f in *.exact) ;; *) cat "$f";; esac; done > "$T/wrong"
cp "$T/wrong" "$T/out"; [ "$exact" = "$ran" ]; ok $? "$exact of $ran orders are exact"
# A session's FIFO has the name of a FIFO in another session. The old folder of all FIFOs has such names here.
for id in $(seq 1073741824 1073741840); do mkdir "$T/run/gpubpf/gpubpf-map:$id:0:0:0"; done
one 1037; cp "$T/cases/1037"* "$T/out"; [ -e "$T/cases/1037.exact" ]; ok $? "sessions at once: a ring's name is the session's own"
finish
