#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bridged.sh GPUBPF OBJECTS LOOP CLANG TYPES CC [--supervise]: programs of the Linux kernel and of a GPU (here a CPU)
# share a loader's maps. The loader does not know this: to the loader each is one map.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
way=$7 launches=100 loader=$T/bridged
# a private copy, since a uprobe applies to every process of its file, also to those of other tests
cp "$OBJ/bridged" "$loader"
"$GPUBPF" bpf -- "$loader" "$OBJ/bridged.bpf.o" "$LOOP 1 0" 1 > /dev/null 2>&1 # fills the compile caches
# bridged WHICH OBJECT PREFIX...: runs the loader with OBJECT and checks its output
bridged() {
	which=$1 o=$OBJ/$2; shift 2
	run "$@" "$GPUBPF" bpf $way -- "$loader" "$o" "$LOOP $launches 1" 200
	if [ "$rc" != 0 ] && [ "$(id -u)" != 0 ]; then skip "$which" "the Linux kernel takes no programs of ours"; return; fi
	if [ "$rc" = 4 ]; then skip "$which" "the Linux kernel has no uprobes here"; return; fi
	is 0 "a loader of programs for both, $which"
	prints "^asked 10\$" "what the loader puts in the kernel's program finds at once"; prints "^asked 12\$" "and when both have the map"
	prints "^before 1000 1000 1000 1000\$" "what that does is seen before a GPU's program is attached"; prints "^attached 2000 2000 2000 2000\$" "and after, at once"
	calls=$(sed -n 's/^calls //p' "$T/out"); sum=$((calls * 1000 + launches * 1024)); prints "^after $sum $sum $sum $sum\$" "of what both add nothing is lost, and nothing is there twice"
	prints "^values $calls $launches\$" "words of a value are their writers'"
	prints "^queues $launches 0 read $launches $((launches * (launches + 1) / 2))\$" "what the GPU puts into queues comes to the kernel's program in order, or to the reader"
	prints "^keys 1 " "and is no key any more"; prints "^deleted 0 -1\$" "what the loader deletes is gone for the kernel's program at once"
	prints "^ring $((calls + 1)) $launches wrong 0 late 0\$" "records of both come once, in order of time"
	prints "^perf $((calls + 1)) $launches " "and perf events once, of which a reader has a buffer a CPU"
	if grep -q 'no on_raw' "$T/out"; then skip "raw_tracepoint" "the kernel has none"; else prints 'called 1' "a raw tracepoint counts"; fi
	if grep -q 'no on_tracepoint' "$T/out"; then skip "tracepoint" "no tracefs"; else prints 'called . 1' "a tracepoint counts"; fi
	if grep -q 'no on_function' "$T/out"; then skip "fentry" "the kernel has no programs for functions"; else prints 'called . . 1' "fentry counts"; fi
	[ "$(grep -c 'not shared' "$T/err")" = 0 ]; ok $? "and nothing is said to be apart"
}
tracefs='mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null; exec "$@"'
[ ! -e /sys/kernel/tracing/events ] && unshare -m true 2> /dev/null && set -- unshare -m sh -c "$tracefs" sh || set --
bridged "the GPU's loaded first" bridged.bpf.o "$@"
bridged "the GPU's loaded last" bridged_last.bpf.o "$@"
finish
