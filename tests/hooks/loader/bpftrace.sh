#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bpftrace.sh GPUBPF OBJECTS LOOP: runs unmodified one-liners of Debian's bpftrace on a GPU kernel.
. "$(dirname "$0")/../../cli/lib.sh"
GPUBPF=$(realpath "$GPUBPF")
use_device pocl
if ! command -v bpftrace > /dev/null; then skip "bpftrace" "it is not installed"; finish; fi
if ! bpftrace -e 'BEGIN { exit(); }' > "$T/out" 2>&1; then skip "bpftrace" "it does not run here: $(grep -m 1 ERROR "$T/out")"; finish; fi

# an application with a host function of the kernel's name, as compilers make host stubs
objcopy --redefine-sym host_step=step_one "$LOOP" "$T/app"
cd "$T" || exit 1
# line LAUNCHES TEXT: runs the one-liner TEXT on LAUNCHES launches of 1024 threads each
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

# arguments with helpers, look-ups and branches: each thread counts its number in @c, from which the test computes the rest
line 4 'uprobe:./app:step_one { $r = rand % 1000; @c[$r] = count(); @s = sum($r); @x = max($r); @n = min($r); @a = avg($r); @t = stats($r);
	@k[tid] = max($r); @p = sum($r > 499 ? 1 : 0); @q = max($r > 499 ? $r : 3); @l = lhist($r, 0, 1000, 500); }'
is 0 "random numbers"
awk -F '[][]' '/^@c/ { split($3, v, " "); n = v[2]; k = $2; count += n; sum += k * n; if (!seen++ || k < low) low = k; if (k > high) high = k
		if (k > 499) above += n } END { printf "%d %d %d %d %d %d\n", count, sum, low, high, sum / count, above }' "$T/out" > "$T/expected"
read -r count sum low high mean above < "$T/expected"
[ "$count" = 4096 ]; ok $? "count() of each number"
prints "^@s: $sum$" "sum()"; prints "^@n: $low$" "min()"; prints "^@x: $high$" "max()"; prints "^@k\[[0-9]*\]: $high$" "max() by a key"
prints "^@a: $mean$" "avg()"; prints "^@t: count 4096, average $mean, total $sum$" "stats()"
prints "^@p: $above$" "a sum of a choice"; prints "^@q: $high$" "a maximum of a choice"; prints "^\[500, 1000) *$above " "and lhist() are exact"
line 3 'uprobe:./app:step_one { @start[tid] = nsecs; @d = avg(nsecs - @start[tid]); @s = sum(nsecs); @m = max(nsecs); }'
is 0 "times"; prints '^@d: [0-9]' "a mean of differences"
awk '/^@m:/ { high = $2 } /^@s:/ { mean = $2 / 3072 } END { exit !(mean && mean <= high && high - mean < 60e9) }' "$T/out"; ok $? "their mean is before the last"
line 3 'uprobe:./app:step_one { @t = sum(pid > 1 ? tid - tid + 5 : 7); }'
prints '^@t: 15360$' "and of a choice between helpers"
line 3 'uprobe:./app:step_one { @[comm] = count(); }'; refuses 'program step_one is refused: [^:].*get_current_comm, which does not exist on a GPU' "as is what a GPU lacks"
line 3 'uprobe:./app:step_one+1 { @ = count(); }'; [ "$rc" != 0 ]; ok $? "and a place within a function"

# a supervisor answers the loader's system calls, so the loader finds the uprobes that it creates
way=--supervise
line 20 'uprobe:./app:step_one { @[pid] = count(); } uretprobe:./app:step_one { @r = count(); }'
is 0 "supervised: a uprobe and a uretprobe of a host stub"; prints '^@\[[0-9]*\]: 20480$' "are on the kernel"; prints '^@r: 20480$' "both"
run "$GPUBPF" bpf $way -- bpftrace -e 'uprobe:./app:step_one { @ = count(); }' -c "$T/app 20 0"
prints '^@: 20$' "and on the host's function without --gpu"
finish
