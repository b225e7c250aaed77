#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tool.sh GPUBPF OBJECTS: tests one-liners on the command line that need no device.
. "$(dirname "$0")/../lib.sh"
run "$GPUBPF" -e 'gpu/exit/* { @ = coun(); }' -- touch "$T/started"; is 125 "a wrong program"; [ ! -e "$T/started" ]; ok $? "is not run"
says '^gpubpf: -e:1:18: coun is not known$' "its place"; says '^                   ^$' "is marked"; says '^try: did you mean count?$' "with what to do"
run "$GPUBPF" -e 'config = { max_loop_steps = 1000000 } gpu/exit/* { for ($i : 0..arg0) { @ = count(); } }' -- true; is 125 "one that the verifier refuses"; says ' at -e:1: config' "with its line"
run "$GPUBPF" -e 'gpu/exit/* { while (1) { @++; } }' -- true; is 125 "a loop without end"; says '^gpubpf: -e:1:14: this loop never ends' "is named"
run "$GPUBPF" -e 'BEGIN { @x[1, "a"] = 5; print(@x); exit(3); }' -- true; is 3 "exit(STATUS)"; says '^@x\[1, a\]: 5$' "maps without a probe in kernels"
run "$GPUBPF" -e 'BEGIN { assert(1 > 2, "wrong"); }' -- true; is 1 "assert()"; says '^-e:1:9: ERROR: wrong$' "states its position"
run "$GPUBPF" -j -e 'gpu/exit/* { @ = cnt(); }' -- true; is 125 "-j"; cp "$T/out" "$T/r"
python3 -c "import json; e = json.load(open('$T/r'))['errors'][0]; assert '-e:1:18' in str(e), e" 2> "$T/err"; ok $? "has it too"
printf 'gpu/exit/* {\n\t@ = $x;\n}\n' > "$T/s.bt"; run "$GPUBPF" run "$T/s.bt" -- true; is 125 "a script"; says "s.bt:2:6: .x is not defined here" "has its name and line"
run "$GPUBPF" run -o "$T/s.bt" -- true; is 125 "the same by -o"; run "$GPUBPF" "$T/none.bt" -- true; is 125 "one that is not there"; says 'none.bt: cannot be read: No such file' "is named"
run "$GPUBPF" run -e 'BEGIN { exit(); }' "$T/s.bt" -- true; is 2 "two programs"
run "$GPUBPF" run -e 1000 -- true; is 2 "a number"; says '--events 1000 sets the number of records' "is told what it was"
run "$GPUBPF" -e 'BEGIN { printf("%s\n", "begun"); } END { print("ended"); }' -- true; is 0 "BEGIN and END alone"; [ "$(grep -c '^begun$\|^ended$' "$T/err")" = 2 ]; ok $? "are run"
run "$GPUBPF" -e 'BEGIN { @t["x"] = tseries(-5, 1d, 3); @t["x"] = tseries(7, 1d, 3); @s = tseries(4, 1d, 5, "sum"); @s = tseries(5, 1d, 5, "sum"); @none = tseries(1, 100ms, 5); clear(@none); }' -- true
is 0 "time series"; says '^@t\[x\]:$' "have the map's key"; says '^hh:mm:ss |_*|$' "a frame"; says '^[0-9:]* | *\* *| 7$' "the last value"; says '^[0-9:]* | *\* *| 9$' "or a sum"; ! grep -q '@none' "$T/err"; ok $? "and can be cleared"
run "$GPUBPF" run --emit "$T/t.bpf.o" -e 'gpu/entry/* /lid == 0/ { @s[bid] = nsecs; } gpu/exit/* /@s[bid] && lid == 0/ { delete(@s, bid); } gpu/exit/* { @u[bid] = 1; delete(@u, bid); @t[lid % 2] = tseries(gid, 100ms, 10, "max"); @k[ustack(perf), ustack(raw, 127)] = count(); }'
run "$GPUBPF" prog verify "$T/t.bpf.o"; is 0 "time series, and modes of stacks, in kernels"; prints 'element of map @u may be reused .*; put gid into the key, or use the key bid with the filter /lid == 0/$' "a delete that other threads may notice"; prints 'map @s, whose keys each belong to one thread' "but not one of keys of one thread"
run "$GPUBPF" -e 'w:0x10:3:w { @ = count(); }' -- true; is 125 "a watchpoint of 3 bytes"; says '^gpubpf: -e:1:1: a watchpoint needs an address, a length and a mode$' "is refused"
run "$GPUBPF" -q -e 'END { printf("%d %s\n", $1, $2); }' --param 7 --param x -- true; says '^7 x$' "parameters"
run "$GPUBPF" -e 'gpu/exit/* { @ = count(); }'; is 2 "no program to run"
run "$GPUBPF" run --dump -e 'gpu/exit/* { @ = count(); }'; is 0 "--dump"; prints '^exit_1 (gpu/exit/\*):$' "has the program"; prints '; -e:1 gpu/exit' "its lines"; prints 'lock .*(r0 +0) += r1' "and its eBPF"
run "$GPUBPF" run --emit "$T/o.bpf.o" -e 'gpu/exit/a* { @x[kernel] = hist(duration); }'; is 0 "--emit"
run "$GPUBPF" prog verify "$T/o.bpf.o"; is 0 "an object like others"; prints '^exit_1 (gpu/exit/a\*): safe' "which verifies"
run "$GPUBPF" prog show -j "$T/o.bpf.o"; is 0 "and is shown"; prints '"@x"' "with its map"
run "$GPUBPF" run --dump -e 'BEGIN { exit(); }'; is 2 "nothing for kernels"; run "$GPUBPF" run --dump -- true; is 2 "--dump without a program"
"$GPUBPF" run --emit "$T/h.bpf.o" -e 'gpu/exit/* { @h = hist(tid); @l = lhist(lid, 32, 1024, 32); }'
run "$GPUBPF" prog verify "$T/h.bpf.o"; is 0 "histograms of threads"; ! grep -q 'warp size' "$T/out" "$T/err"; ok $? "are not told to rely on a warp size"
run "$GPUBPF" run --emit "$T/none/x" -e 'gpu/exit/* { @ = count(); }'; is 125 "a file that cannot be written"
mkdir "$T/disk"; ask='gpu/exit/a* { @x[kernel] = hist(duration); }'
if unshare -rm mount -t tmpfs -o size=4k none "$T/disk" 2> /dev/null; then
	unshare -rm sh -c 'mount -t tmpfs -o size=4k none "$1"; "$2" run --emit "$1/o" -e "$3"; echo "status $?"; ls "$1"' sh "$T/disk" "$GPUBPF" "$ask" > "$T/out" 2> "$T/err"
	says 'cannot be written: No space left on device' "--emit on a full disk"; [ "$(cat "$T/out")" = 'status 125' ]; ok $? "leaves no file"
else
	skip "--emit on a full disk" "no namespaces here"
fi
run "$GPUBPF" 'gpu/exit/* { @ = count(); }' -- true; is 2 "a program without -e"; says 'put -e before it' "says what to do"
run "$GPUBPF" -e 'gpu/exit/* { @ = count(); }' -c true; is 2 "-c CMD"; says 'after --' "says what to do"
run "$GPUBPF" -p launches -- true; is 2 "an option without a command"; says "gpubpf run -p" "says what to do"
run "$GPUBPF" -l 'gpu/exit/*'; is 2 "-l with a place"; says 'use gpubpf -l -- CMD' "says what to do"; run "$GPUBPF" -l; is 2 "-l alone"; says 'gpubpf -l -- ./app' "too"
run "$GPUBPF" -l -- true; is 0 "-l"; says 'never used a GPU runtime' "runs kernel list"
# probes of the Linux kernel: their programs run there and share the maps
mine=ls$$; cp "$(command -v ls)" "$T/$mine"  # no other process has its name
line='BEGIN { @x = 1; @k["none"] = 5; } uprobe:libc:malloc /comm == "'$mine'"/ { @x++; @sizes = hist(arg0); @huge = max(arg0); @by[comm, pid > 0] = count(); for ($i : 0..arg0 % 10 + 1) { @steps[$i < 5] = count(); } } uretprobe:libc:malloc /comm == "'$mine'"/ { @got = sum(retval != 0); }
END { print((@x > 1, @got == @x - 1, @by["'$mine'", true] == @x - 1, @huge < 10000000)); clear(@huge); clear(@x); clear(@got); clear(@sizes); clear(@steps); clear(@by); }'
run "$GPUBPF" -e "$line" -- "$T/$mine" /
if grep -q 'requires root\|not permitted' "$T/err"; then
	skip "probes of the Linux kernel" "this process may not load programs into the Linux kernel"
else
	is 0 "probes of the Linux kernel"; says '^(true, true, true, true)$' "share maps with BEGIN and END"; says '^@k\[none\]: 5$' "keep the values that BEGIN set"
	run "$GPUBPF" -e 'watchpoint:0x10000000:8:w { @ = count(); }' -- python3 -c 'if True:
		import ctypes
		mmap = ctypes.CDLL(None).mmap
		mmap.restype, mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
		place = ctypes.cast(mmap(0x10000000, 4096, 3, 0x32, -1, 0), ctypes.POINTER(ctypes.c_long))
		for i in range(7):
			place[0] = i'
	is 0 "a watchpoint"; says '^@: 7$\|is not attached' "counts the stores, or the reason is reported"
	run "$GPUBPF" -e 'kprobe:vfs_read { @ = count(); } kretprobe:vfs_read { @r = max(retval); }' -- true; is 0 "kprobes"; says '^@: [1-9]\|is not attached' "count or are reported"
	if [ -e /sys/kernel/tracing/events/syscalls/sys_enter_openat/format ]; then
		run "$GPUBPF" -e 'tracepoint:syscalls:sys_enter_openat /comm == "cat"/ { printf("%s %d\n", str(args.filename), uid); @ = count(); }' -- cat /etc/hostname
		is 0 "a tracepoint"; says "^/etc/hostname $(id -u)$" "has the fields of its format"
		run "$GPUBPF" -e 'tracepoint:syscalls:sys_enter_openat { @ = max(args.none); }' -- true; is 125 "a field that does not exist"; says '^gpubpf: -e:1:53: tracepoint:syscalls:sys_enter_openat has no number, string or array none$' "is refused"
		run "$GPUBPF" -e 'tracepoint:syscalls:sys_enter_newfstat[a]*, tracepoint:syscalls:sys_enter_openat* /comm == "cat"/ { @[probe] = count(); @f[str(args.filename)] = max(args.flag); }' -- cat /etc/hostname
		is 125 "a field that one of several tracepoints has"; says 'sys_enter_openat has no number, string or array flag$' "is refused at the others"
		run "$GPUBPF" -e 'tracepoint:syscalls:sys_enter_newfstat[a]*, tracepoint:syscalls:sys_enter_openat* /comm == "cat"/ { @[probe] = count(); @f[str(args.filename)] = max(args.filename > 0); }' -- cat /etc/hostname
		is 0 "a glob of tracepoints"; says '^@\[tracepoint:syscalls:sys_enter_openat\]: [1-9]' "attaches to each"; says '^@f\[/etc/hostname\]: 1$' "with the places of its own fields"
		run "$GPUBPF" -e 'tracepoint:sched:sched_process_exec { @[args.filename, str(args.filename), args.pid > 0] = count(); } tracepoint:sched:sched_switch /args.prev_comm == "'$mine'"/ { @s[args.prev_comm] = count(); @c[args.prev_comm[0]] = count(); }' -- "$T/$mine" /
		is 0 "strings in the record of a tracepoint"; says "^@\[$T/$mine, $T/$mine, true\]: 1$" "are read at their place"; says "^@s\[$mine\]: [1-9]" "and arrays of characters"; says '^@c\[108\]: [1-9]' "with elements"
		run "$GPUBPF" -e 'tracepoint:syscalls:none_* { @ = 1; }' -- true; is 125 "a glob of tracepoints that matches nothing"; says 'tracepoint:syscalls:none_\* matches nothing$' "is refused"
	else
		skip "tracepoints" "tracefs is not mounted"
	fi
	# the loop takes much processor time, however long that lasts
	busy=busy$$; cp "$(command -v sh)" "$T/$busy"
	run "$GPUBPF" -e 'profile:hz:999 /comm == "'$busy'"/ { @[comm] = count(); @u[ustack(2)] = count(); @k[kstack(2)] = count(); } END { print(@["'$busy'"] > 0); }' -- "$T/$busy" -c 'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done'
	is 0 "profile"; says '^true$' "samples a busy process"; says '^@u\[$' "with its stack"
	cp "$(command -v sh)" "$T/gone"
	run "$GPUBPF" -e 'profile:hz:999 /comm == "gone'$$'"/ { print(ustack(2)); }' -- timeout 280 sh -c 'exec 3< "$1"; rm "$1"; exec /proc/self/fd/3 -c "$2" "$3" "$4"' sh "$T/gone" \
		'printf %s "$0" > /proc/$$/comm; while :; do while read -r line; do case $line in *"gone (deleted)+"*) exit;; esac; done < "$1"; done' gone$$ "$T/err"
	is 0 "a program whose file was removed"; says "0x[0-9a-f]* (.*/gone (deleted)+0x" "has addresses in its stacks"
	run "$GPUBPF" -e 'software:faults:1 /comm == "'$mine'"/ { @ = count(); @a[curtask->comm, pcomm != "", ppid > 0, username, cgroup > 0] = count(); } END { print(@ > 0); }' -- "$T/$mine" /
	is 0 "events of software"; says '^true$' "are counted"; says "^@a\[$mine, true, true, $(id -un), true\]: " "with members of the task"
	run "$GPUBPF" -e 'rawtracepoint:sched_switch { @ = count(); @a = max(arg0); }' -- sleep 0.1; is 0 "a raw tracepoint"; says '^@: [1-9]\|is not attached' "counts or is reported"
	run "$GPUBPF" -e 'fentry:vfs_read { @ = max(args.count); } fexit:vfs_read { @r = max(retval); @n[args.file->f_mode > 0] = count(); }' -- cat /etc/hostname; is 0 "fentry"; says '^@: [1-9]\|is not attached' "counts or is reported"
	python=$(ls /usr/bin/python3.?? 2> /dev/null | head -1)
	if readelf -n "$python" 2> /dev/null | grep -q 'Name: gc__start'; then
		run "$GPUBPF" -e "usdt:$python:python:gc__start /comm == \"gc\"/ { @start[arg0] = count(); } usdt:$python:gc__done /comm == \"gc\"/ { @done = sum(arg0 < 1000000000); } usdt:$python:py*:gc__* /comm == \"gc\"/ { @glob[probe == \"usdt:$python:python:gc__start\"] = max(arg0 >= 0); } END { print((@start[2] > 2, @done > 2)); print((has_key(@glob, true), has_key(@glob, false))); }" -- "$python" -c 'import gc; open("/proc/self/comm", "w").write("gc"); [gc.collect() for i in range(3)]'
		is 0 "usdt probes"; says '^(true, true)$' "have their arguments"; [ "$(grep -c '^(true, true)$' "$T/err")" = 2 ]; ok $? "and a glob attaches to several"
		if readelf -h "$python" | grep -q 'Type: *EXEC'; then
			run "$GPUBPF" -e "uprobe:$python:Py_FinalizeEx { @ = max(*uaddr(\"Py_OptimizeFlag\")); @next = max(*uaddr(\"Py_InspectFlag\") + 1); }" -- "$python" -OO -bb -c ''
			is 0 "uaddr()"; says '^@: 2$' "reads a variable of the program"; says '^@next: 1$' "but not the next variable" # Py_BytesWarningFlag
		else
			skip "uaddr()" "python is position-independent"
		fi
	else
		skip "usdt probes" "no python with usdt probes"
	fi
	run "$GPUBPF" -e 'uprobe:libc:malloc /comm == "waits"/ { print(ustack(3)); printf("%s %d\n", func, reg("ip") > 0); print(usym(reg("ip"))); @u[usym(1)] = 1; exit(); }' -- python3 -c 'import os, sys, time
open("/proc/self/comm", "w").write("waits")
for i in range(20000):
    x = bytearray(50000 + i % 1000)
    if os.path.getsize(sys.argv[1]): break
    time.sleep(0.01)
print("printed" if i < 19999 else "never")' "$T/err"
	is 0 "stacks of programs"; prints '^printed$' "are printed while the program runs"; says '^malloc 1$' "with func and registers"; says 'malloc+0$' "and their functions"; says '^[a-z_]*malloc$' "usym() names one"; says '^@u\[0x1\]: 1$' "or prints the address"
	cp "$(command -v sh)" "$T/js$$"
	run "$GPUBPF" -e 'uprobe:libc:execve /comm == "js'$$'"/ { join(arg1); join(arg1, "-"); }' -- "$T/js$$" -c 'env echo a "b c" "" d; true'
	is 0 "join()"; says '^env echo a b c  d$' "prints the strings of an array"; says '^env-echo-a-b c--d$' "with a text between them"
	run "$GPUBPF" -e 'rawtracepoint:sys_enter /comm == "'$mine'"/ { @[syscall_name(arg1)] = count(); @n[syscall_name(99999)] = count(); }' -- "$T/$mine" /
	is 0 "syscall_name()"; says '^@\[openat\]: [1-9]' "names system calls"; says '^@n\[99999\]: [1-9]' "or prints the number"
	run "$GPUBPF" -e 'uprobe:libc:*alloc /comm == "'$mine'"/ { @[func, probe] = count(); }' -- "$T/$mine" /; is 0 "a glob of functions"; says '^@\[malloc, uprobe:libc:malloc\]: [1-9]' "attaches to each"; says '^@\[[a-z_]*c*alloc, ' "with its name"
	run "$GPUBPF" -e 'uprobe:/bin/ls:no_such_function { @ = count(); }' -- true; is 0 "a function that does not exist"; says 'is not attached' "is reported"
fi
run "$GPUBPF" -e 'uprobe:/bin/ls { @ = 1; }' -- true; is 125 "a probe without a function"; says '^gpubpf: -e:1:1: uprobe:/bin/ls needs 2 parts after uprobe:$' "is refused"
run "$GPUBPF" -e 'uprobe:/bin/ls:main { @ = lid; }' -- true; is 125 "a word of GPU kernels"; says '^gpubpf: -e:1:27: lid is not available at uprobe:/bin/ls:main$' "is refused"
run "$GPUBPF" run --emit "$T/k.bpf.o" -e 'gpu/exit/none* { @ = 1; } kprobe:vfs_rea[dl]* { @ = 1; } kretprobe:vmlinux:vfs_read { @ = 2; }'; is 0 "a glob of kernel functions"
readelf -SW "$T/k.bpf.o" | grep -c ' kprobe/vfs_read+0' > "$T/out"; prints '^1$' "becomes a program for each"; readelf -SW "$T/k.bpf.o" | grep -c ' kprobe/vfs_write' > "$T/out"; prints '^0$' "that matches"
run "$GPUBPF" -e 'kprobe:no_such_function { @ = 1; }' -- true; says 'program linux_1 is not attached' "a kprobe is never one of GPU kernels"
run "$GPUBPF" run --emit "$T/two.bpf.o" -e "uprobe:$(dirname "$GPUBPF")/hooks/libgpubpf-agent.so:dlsy[m] { @ = 1; } gpu/exit/none* { @ = 1; }"; readelf -sW "$T/two.bpf.o" | grep -c ' linux_' > "$T/out"; prints '^1$' "a function with two symbols has one probe"
if [ -r /sys/kernel/btf/vmlinux ]; then
	code() { readelf -x "fentry/$1" "$T/f.bpf.o" | grep ' 0x'; }
	run "$GPUBPF" run --emit "$T/f.bpf.o" -e 'fentry:vfs_open, fentry:vfs_rea[d] { @ = max((uint64)args.file); } gpu/exit/none* { @b = 1; }'; is 0 "functions with parameters of the same name"
	[ "$(code vfs_open)" != "$(code vfs_read)" ]; ok $? "have them at their own places"
	run "$GPUBPF" -e '#include <linux/no_such_header.h>
#ifdef BPFTRACE_HAVE_BTF
BEGIN { print(sizeof(struct task_struct) > 0); }
#endif' -- true; is 0 "a header of the Linux kernel"; says '^true$' "is replaced by its BTF"
else
	skip "parameters of several functions" "the Linux kernel has no BTF"
fi
run "$GPUBPF" -e 'kprobe:* { @ = 1; }' -- true; is 125 "a glob that matches too much"; says '^gpubpf: -e:1:1: kprobe:\* matches [0-9]* probes; the maximum is 1024$' "states the limit"; says '^try: use a longer glob$' "and what to do"
run "$GPUBPF" -e 'kprobe:no_such_[f]unction { @ = 1; }' -- true; is 125 "a glob without a match"; says 'kprobe:no_such_\[f\]unction matches nothing' "is refused"
run "$GPUBPF" -e 'uprobe:/bin/l*:main { @ = 1; }' -- true; is 125 "a glob of files"; says 'uprobe:/bin/l\*:main: the name of a file is no glob' "is refused"
run "$GPUBPF" -e 'uprobe:/none/app:* { @ = 1; }' -- true; is 125 "a glob in a file that does not exist"; says 'uprobe:/none/app:\* cannot be expanded' "is refused"
run "$GPUBPF" -e 'profile:hz:x { @ = 1; }' -- true; is 125 "a profile without a number"; says 'not an interval of samples' "is refused"
run "$GPUBPF" -e 'software:nothing:1 { @ = 1; }' -- true; is 125 "an event that does not exist"; says 'software:nothing is not an event' "is refused"
run "$GPUBPF" -e 'iter:task { @ = 1; }' -- true; is 125 "iter"; says 'probes of this kind are not supported: iter:task' "is refused"
run "$GPUBPF" -e "usdt:$(command -v env):nothing { @ = 1; }" -- true; is 125 "a usdt probe that does not exist"; says 'has no usdt probe nothing$' "is refused"
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$mount" ]; then
	run "$GPUBPF" -e "BEGIN { print(cgroup_path(cgroupid(\"$mount\"))); print(cgroup_path(0)); }" -- true; is 0 "cgroupid()"; says '^unified:/$' "is what cgroup_path() names"; says "^0$" "which prints other numbers"
else
	skip "cgroupid()" "no cgroups of version 2 are mounted"
fi
run "$GPUBPF" -e 'BEGIN { print(cgroupid("/none")); }' -- true; is 125 "a cgroup that does not exist"; says 'the cgroup /none cannot be read' "is refused"
run "$GPUBPF" -e 'uprobe:/bin/ls:main { print(*uaddr("no_symbol")); }' -- true; is 125 "a symbol that does not exist"; says '/bin/ls has no symbol no_symbol$' "is refused"
run "$GPUBPF" -e 'gpu/exit/* { print(ksym(1)); cat("/none"); }' --emit "$T/label.bpf.o"; is 0 "names of numbers in kernels"
run "$GPUBPF" -e 'BEGIN { print((comm == "gpubpf", pid > 0, uid, numaid >= 0, ncpus > 0, cpu >= 0, ppid > 0, jiffies > 0)); print((username,)); cat("/proc/%d/comm", pid); cat("/none"); }' -- true
is 0 "words of the host"; says "^(true, true, $(id -u), true, true, true, true, true)$" "are those of the tool"; says "^($(id -un),)$" "with the user's name"; says '^gpubpf$' "and files"; says '^cat: /none: No such file' "or the reason"
run "$GPUBPF" run --emit "$T/own.bpf.o" -e 'gpu/entry/* { @s[tid] = nsecs; @k[kernel, gid] = 1; } gpu/exit/* /@s[tid]/ { delete(@s[tid]); delete(@k[kernel, gid]); }'
run "$GPUBPF" prog verify "$T/own.bpf.o"; is 0 "a thread's own keys"; ! grep -q "may be reused" "$T/out" "$T/err"; ok $? "are deleted without a warning"
run "$GPUBPF" run --emit "$T/own.bpf.o" -e 'gpu/entry/* { @s[lid] = nsecs; } gpu/exit/* { delete(@s[lid]); }'
run "$GPUBPF" prog verify "$T/own.bpf.o"; grep -q 'may be reused' "$T/out" "$T/err"; ok $? "keys of several threads bring one"
run "$GPUBPF" -e 'uprobe:/bin/ls:main, gpu/exit/* { @ = 1; }' -- true; is 125 "a probe of a kernel and of a GPU"; says 'share a block only with' "is refused"
mkdir "$T/inc"
printf '#ifndef H\n#define H\nstruct pair { int a; int b; };\n#define LIMIT 7\nmacro twice(x) { x * 2 }\n#endif' > "$T/inc/a.h"
printf '#include "../inc/a.h"\nfn three() : int64 { return 3; }\nEND { printf("imported %%d\\n", LIMIT); }\n' > "$T/inc/b.bt"
printf '#include "a.h"\n#include "a.h"\nimport "b.bt";\nimport "b.bt";\nBEGIN { print((sizeof(struct pair), LIMIT, twice(4), three())); assert(1 > 2, "here"); }\n' > "$T/inc/m.bt"
run "$GPUBPF" "$T/inc/m.bt" -- true; is 1 "#include and import"; says '^(8, 7, 8, 3)$' "read structs, constants, macros and functions"; [ "$(grep -c '^imported 7$' "$T/err")" = 1 ]; ok $? "import reads a file once"; says 'inc/m.bt:5:65: ERROR: here$' "and positions stay those of the script"
printf '\nBEGIN { print($none); }\n' > "$T/inc/e.h"; run "$GPUBPF" -e "#include \"$T/inc/e.h\"" -- true; is 125 "an error in an included file"; says "inc/e.h:2:15: .none is not defined here" "has its name and line"; says '^  BEGIN { print(.none); }$' "and its text"
printf '#include "s.h"\n' > "$T/inc/s.h"; run "$GPUBPF" -e "import \"$T/inc/s.h\";" -- true; is 125 "a file that includes itself"; says 'inc/s.h:1:1: files are included more than 8 levels deep' "is refused"
run "$GPUBPF" -e "#include \"$T/inc/none.h\"" -- true; is 125 "a file that does not exist"; says 'inc/none.h cannot be included: No such file' "is refused"
printf 'BEGIN { 1 + 2; print(4); }\n' > "$T/inc/w.bt"; run "$GPUBPF" "$T/inc/w.bt" -- true; is 0 "a value that is not used"; says '^gpubpf: .*inc/w.bt:1:11: this value is not used; print it' "brings a warning"; says '^4$' "and the program runs"
for long in '0 + ' '(uint8)' '1 || ' '1 ? 1 : ' '*' 'args.a['; do
	python3 -c "import sys; open(sys.argv[1], 'w').write('gpu/exit/*(int *a) { @ = sum(' + sys.argv[2] * 100000 + '1); }')" "$T/long.bt" "$long"
	run "$GPUBPF" "$T/long.bt" -- true; is 125 "100000 times '$long'"; says 'store parts of it in variables' "is refused with what to do"
done
python3 -c "import sys; open(sys.argv[1], 'w').write('BEGIN { print(' + '1 + ' * 1000 + '1); exit(); }')" "$T/long.bt"
run "$GPUBPF" "$T/long.bt" -- true; is 0 "1000 operators"; says '^1001$' "are done"
finish
