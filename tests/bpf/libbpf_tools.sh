#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libbpf-tools as Debian has them, with nothing for a GPU: what they tell of a workload, and what they say of what this kernel lacks, is the
# same as without us. libbpf_tools.sh GPUBPF -
. "$(dirname "$0")/../cli/lib.sh"
what="libbpf-tools, as without us"
all_skipped() { skip "$what" "$1"; finish; }
[ -x /usr/sbin/execsnoop ] || all_skipped "libbpf-tools are not installed"
{ [ "$(id -u)" = 0 ] && unshare -m true 2> /dev/null; } || all_skipped "not root, or no unshare"
if [ ! -e /sys/kernel/tracing/events ]; then
	[ -z "${GPUBPF_TEST_IN:-}" ] || all_skipped "no tracefs"
	exec env GPUBPF_TEST_IN=1 unshare -m sh -c 'mount -t tracefs tracefs /sys/kernel/tracing 2> /dev/null; exec sh "$@"' sh "$0" "$@"
fi
[ -e /sys/kernel/btf/vmlinux ] || all_skipped "the kernel has no BTF"

# NAME|ARGUMENTS|what is compared of its output: lines of the workload, or as many of its first lines
tools='execsnoop||lines
exitsnoop||lines
opensnoop|-n gpw_cat|lines
statsnoop||lines
sigsnoop||lines
killsnoop||lines
mountsnoop||lines
syscount|-d 5 -c gpw|2
biolatency|1 5|2
biosnoop||1
biopattern|1 5|1
biotop|1 5|0
bitesize||1
cachestat|1 3|1
capable||lines
cpudist|1 5|2
cpufreq|-d 4|1
drsnoop||1
filelife||lines
filetop|1 3|0
fsslower|-t ext4|1
funclatency|do_sys_openat2|1
gethostlatency||lines
hardirqs|1 5|2
klockstat||1
ksnoop|trace do_sys_openat2|1
llcstat|1|1
numamove|1 3|1
offcputime|-p 1 1|0
oomkill||1
readahead|-d 4|1
runqlat|1 5|2
runqlen|1 5|2
runqslower|1000000|2
slabratetop|1 3|0
softirqs|1 5|2
tcpconnect||lines
tcplife||1
tcpstates||1
vfsstat|1 3|1
wakeuptime|-p 1 1|0
memleak|-p $$ 1 3|1
profile|1|0'
cp /bin/true "$T/gpw_true"; cp /bin/cat "$T/gpw_cat"; cp /bin/sh "$T/gpw_sh"

workload() {
	for _ in 1 2 3 4 5 6 7 8; do
		"$T/gpw_true" one two; "$T/gpw_cat" /etc/hostname > /dev/null; "$T/gpw_cat" /nothing/here 2> /dev/null
		"$T/gpw_sh" -c 'kill -USR1 $$' 2> /dev/null; > "$T/gpw_file"; rm "$T/gpw_file"
		sleep 0.25
	done
}
# all WHERE PREFIX...: each tool, at once, while the workload runs; their outputs, errors and statuses to that folder
all() {
	where=$T/$1; shift; mkdir "$where"
	echo "$tools" | while IFS='|' read -r name args compare; do
		[ -x "/usr/sbin/$name" ] || continue
		( timeout -s INT -k 60 "$last" "$@" "/usr/sbin/$name" $args > "$where/$name.out" 2> "$where/$name.err" < /dev/null; echo $? > "$where/$name.rc" ) &
	done
	sleep "$first"; workload
	for _ in $(seq 300); do [ "$(ls "$where" | grep -c '\.rc$')" = "$(ls "$where" | grep -c '\.out$')" ] && break; sleep 0.5; done
}
first=3 last=9
plain() { sed -E 's/[0-9]+/N/g; s/ +/ /g; s/^ //' "$1"; }
# told SIDE NAME COMPARE: what is compared
told() {
	o=$T/$1/$2
	case $3 in
	lines) plain "$o.out" | grep gpw_ | sort -u;;
	*) plain "$o.out" | head -n "$3";;
	esac
	plain "$o.err" | grep -v '^gpubpf: ' | sort -u; cat "$o.rc"
}
# compared SIDE: of each tool a line, same NAME LINES STATUS or other NAME
compared() {
	echo "$tools" | while IFS='|' read -r name args compare; do
		[ -e "$T/theirs/$name.out" ] || continue
		told theirs "$name" "$compare" > "$T/want"; told "$1" "$name" "$compare" > "$T/got"
		if diff "$T/want" "$T/got" > "$T/$name.diff"; then echo "same $name $(grep -c gpw_ "$T/got") $(cat "$T/$1/$name.rc")"
		else echo "other $name"; fi
	done > "$T/all"
	while read -r verdict name lines rc; do
		[ "$verdict" = same ] || cp "$T/$name.diff" "$T/out"
		[ "$verdict" = same ]; ok $? "$name, $1: ${lines:-?} lines of the workload, exit status $rc"
	done < "$T/all"
	seen=$(awk '$1 == "same" && $3 > 0' "$T/all" | wc -l); [ "$seen" -ge 3 ]; ok $? "of $seen of them lines of the workload were compared"
}
all theirs
all ours "$GPUBPF" bpf --
all supervised "$GPUBPF" bpf --supervise --
compared ours
compared supervised
finish
