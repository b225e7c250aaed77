# SPDX-License-Identifier: Apache-2.0
# Compares the output of tools without a GPU part with and without gpubpf. A script sources this file after it has
# defined cli/lib.sh's functions and all_skipped(), and has set $tools_in to the folder of the tools. It then sets
# $tools to lines of NAME|ARGUMENTS|COMPARE. COMPARE selects the part of the output to compare: the workload's lines, a
# number of first lines, or `all` lines, each once. Finally the script calls all() with and without gpubpf, and
# compared().
{ [ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null; } || all_skipped "not root, or no unshare"
if [ ! -e /sys/kernel/tracing/events ]; then
	[ -z "${GPUBPF_TEST_IN:-}" ] || all_skipped "no tracefs"
	exec env GPUBPF_TEST_IN=1 unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null; exec sh "$@"' sh "$0" "$@"
fi
[ -e /sys/kernel/btf/vmlinux ] || all_skipped "the kernel has no BTF"

cp /bin/true "$T/gpw_true"; cp /bin/cat "$T/gpw_cat"; cp /bin/sh "$T/gpw_sh"

workload() {
	for _ in 1 2 3 4 5 6 7 8; do
		"$T/gpw_true" one two; "$T/gpw_cat" /etc/hostname > /dev/null; "$T/gpw_cat" /nothing/here 2> /dev/null
		"$T/gpw_sh" -c 'kill -USR1 $$' 2> /dev/null; > "$T/gpw_file"; rm "$T/gpw_file"
		sleep 0.25
	done
}
# cpu_time: prints the CPU time of the tools' process groups, in clock ticks
cpu_time() {
	cat "$where"/*.pid > "$T/pids"
	cat /proc/[0-9]*/stat 2> /dev/null | sed 's/.*) //' |
		awk 'NR == FNR { group[$1]; next } $3 in group { ticks += $12 + $13 } END { print ticks + 0 }' "$T/pids" -
}
# settle: waits until the tools sleep, i.e. use less than 10 ticks in a second, for at most two minutes
settle() {
	before=-1000
	for _ in $(seq 120); do
		sleep 1; now=$(cpu_time); used=$((now - before)); before=$now
		[ "$used" -lt 0 ] || [ "$used" -ge 10 ] || return 0
	done
}
# all WHERE PREFIX...: runs all tools at once during the workload; stores outputs, errors and exit statuses in WHERE.
# Interrupts those that do not end by themselves. Waits for the tools' CPU time, since a busy machine starts them slowly.
all() {
	where=$T/$1; shift; mkdir "$where"
	echo "$tools" | while IFS='|' read -r name args compare; do
		[ -x "$tools_in/$name" ] || continue
		( timeout -s INT -k 60 400 "$@" "$tools_in/$name" $args > "$where/$name.out" 2> "$where/$name.err" < /dev/null &
		echo $! > "$where/$name.pid"; wait $!; echo $? > "$where/$name.rc" ) &
	done
	sleep 2; settle; workload; sleep 3; settle
	for pid in "$where"/*.pid; do [ -e "${pid%.pid}.rc" ] || kill -INT "$(cat "$pid")" 2> /dev/null; done
	for _ in $(seq 300); do [ "$(ls "$where" | grep -c '\.rc$')" = "$(ls "$where" | grep -c '\.pid$')" ] && break; sleep 0.5; done
}
# removes numbers and addresses, and what varies: a newer opensnoop fails at some unrelated events, and a busy machine
# loses some
plain() { sed -E '/^Lost [0-9]+ events on CPU/d; /^error polling ring.perf buffer: Operation not permitted/d; s/ Consider increasing --.*//; s/0x[0-9a-f]+/N/g; s/[0-9]+/N/g; s/ +/ /g; s/^ //' "$1"; }
# told SIDE NAME COMPARE: prints the part of the output that COMPARE selects
told() {
	o=$T/$1/$2
	case $3 in
	# without the command line of another tool, which also contains the name
	lines) plain "$o.out" | grep gpw_ | grep -v -e '-n gpw_' | sort -u;;
	all) plain "$o.out" | sort -u;;
	*) plain "$o.out" | head -n "$3";;
	esac
	plain "$o.err" | grep -v '^gpubpf: ' | sort -u; cat "$o.rc"
}
# compared SIDE: prints a line per tool: "same NAME LINES STATUS" or "other NAME"
compared() {
	echo "$tools" | while IFS='|' read -r name args compare; do
		[ -e "$T/theirs/$name.out" ] || continue
		told theirs "$name" "$compare" > "$T/want"; told "$1" "$name" "$compare" > "$T/got"
		if diff "$T/want" "$T/got" > "$T/$name.diff"; then echo "same $name $(grep -c gpw_ "$T/got") $(cat "$T/$1/$name.rc")"
		else echo "other $name"; fi
	done > "$T/all"
	while read -r verdict name lines rc; do
		[ "$verdict" = same ] || cp "$T/$name.diff" "$T/out"
		[ "$verdict" = same ]; ok $? "$name, $1: the same, ${lines:-?} lines of the workload, exit status $rc"
	done < "$T/all"
}
