#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpftrace.sh GPUBPF OBJECTS LOOP: unmodified one-liners of Debian's bpftrace, on a GPU kernel.
. "$(dirname "$0")/../cli/lib.sh"
GPUBPF=$(realpath "$GPUBPF")
use_device pocl
if ! command -v bpftrace > /dev/null; then skip "bpftrace" "it is not installed"; finish; fi
if ! bpftrace -e 'BEGIN { exit(); }' > "$T/out" 2>&1; then skip "bpftrace" "it does not run here: $(grep -m 1 ERROR "$T/out")"; finish; fi

# a program with a host function of the kernel's name, like a host stub
objcopy --redefine-sym host_step=step_one "$LOOP" "$T/app"
cd "$T" || exit 1
# line LAUNCHES TEXT: launches of 1024 threads each
line() { run "$GPUBPF" bpf --gpu $way -- bpftrace -e "$2" -c "$T/app $1 0"; }
# what STATUS NAME
refuses() { [ "$rc" != 0 ] && grep -q "$1" "$T/err"; ok $? "$2"; }

line 200 'uprobe:./app:step_one { @[pid] = count(); }'
is 0 "a uprobe of a host stub"; prints '^@\[[0-9]*\]: 204800$' "is on the kernel, and counts all threads"
line 3 'uprobe:./app:step_one /pid > 1/ { @a[tid, comm2] = count(); }'; refuses 'comm2' "what bpftrace refuses is its own error"
line 20 'uprobe:./app:step_one /pid > 1/ { @h = hist(tid); @s = sum(3); @a = avg(4); @t = stats(5); @l = lhist(7, 0, 10, 5); }'
prints ') *20480 |@' "hist()"; prints '^@s: 61440$' "sum()"; prints '^@a: 4$' "avg()"
prints '^@t: count 20480, average 5, total 102400$' "stats()"; prints '^\[5, 10) *20480 ' "and lhist() lose nothing"
line 3 'uretprobe:./app:step_one { @[probe, elapsed > 0] = count(); }'; prints '^@\[uretprobe:./app:step_one, 1\]: 3072$' "a uretprobe"
line 1 'BEGIN { printf("begins\n"); } uprobe:./app:step_one { printf("of %d\n", 4 + 3); } interval:ms:50 { @ticks = count(); } END { printf("ends\n"); }'
[ "$(grep -c '^of 7$' "$T/out")" = 1024 ]; ok $? "printf() of each thread"
prints '^begins$' "beside BEGIN"; prints '^@ticks: [1-9]' "interval"; prints '^ends$' "and END, which are the Linux kernel's"
line 3 'uprobe:./app:step_one { @[ustack] = count(); }'; prints '^\]: 3072$' "ustack is the launch's"
line 3 'kprobe:cuda__step_one { @[tid] = count(); }'; prints '^@\[[0-9]*\]: 3072$' "a kprobe with cuda__"
line 3 'uprobe:./app:step_one { @m = max(arg1); }'; refuses 'program step_one is refused: .*writes a value of map AT_m back after reading it' "max() is refused, with the reason"
line 3 'uprobe:./app:step_one { @[comm] = count(); }'; refuses 'program step_one is refused: .*get_current_comm, which does not exist on a GPU' "as is what a GPU lacks"
line 3 'uprobe:./app:step_one+1 { @ = count(); }'; [ "$rc" != 0 ]; ok $? "and a place within a function"

# a supervisor creates uprobes, so that the loader finds them
way=--supervise
line 20 'uprobe:./app:step_one { @[pid] = count(); } uretprobe:./app:step_one { @r = count(); }'
is 0 "supervised: a uprobe and a uretprobe of a host stub"; prints '^@\[[0-9]*\]: 20480$' "are on the kernel"; prints '^@r: 20480$' "both"
run "$GPUBPF" bpf $way -- bpftrace -e 'uprobe:./app:step_one { @ = count(); }' -c "$T/app 20 0"
prints '^@: 20$' "and on the host's function without --gpu"
finish
