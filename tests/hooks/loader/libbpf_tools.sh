#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libbpf_tools.sh GPUBPF - - [built]: runs Debian's libbpf-tools, or with "built" those in the folder
# GPUBPF_LIBBPF_TOOLS. They have no GPU part: their output on a workload, and their messages about missing features of
# the Linux kernel, must not change.
. "$(dirname "$0")/../../cli/lib.sh"
what="libbpf-tools, as without us"
all_skipped() { skip "$what" "$1"; finish; }
tools_in=/usr/sbin missing="libbpf-tools are not installed"
[ "${4:-}" != built ] || { tools_in=${GPUBPF_LIBBPF_TOOLS:-/nowhere} missing="GPUBPF_LIBBPF_TOOLS names no folder in which bcc's libbpf-tools are built"; }
[ -x "$tools_in/execsnoop" ] || all_skipped "$missing"
. "$(dirname "$0")/same.sh"
tools='execsnoop||lines
exitsnoop||lines
opensnoop|-n gpw_cat|lines
statsnoop|-x|lines
sigsnoop||lines
killsnoop||lines
mountsnoop||lines
syscount|-d 3 -c gpw|2
biolatency|1 2|2
biosnoop||1
biopattern|1 2|1
biotop|1 2|0
bitesize||1
cachestat|1 3|1
capable||lines
cpudist|1 2|2
cpufreq|-d 2|1
drsnoop||1
filelife||lines
filetop|1 3|0
fsslower|-t ext4|1
funclatency|do_sys_openat2|1
gethostlatency||lines
hardirqs|1 2|2
klockstat||1
ksnoop|trace do_sys_openat2|1
llcstat|1|1
numamove|1 3|1
offcputime|-p 1 1|0
oomkill||1
readahead|-d 2|1
runqlat|1 2|2
runqlen|1 2|2
runqslower|1000000|2
slabratetop|1 3|0
softirqs|1 2|2
tcpconnect||lines
tcplife||1
tcpstates||1
vfsstat|1 3|1
wakeuptime|-p 1 1|0
memleak|-p $$ 1 3|1
profile|1|0
bindsnoop||lines
biostacks|1|1
ext4dist|1 3|2
btrfsdist|1 3|2
ext4slower|1|1
fsdist|-t ext4 1 3|2
futexctn|-p 1 1 2|1
javagc|-p 1|0
mdflush||1
nfsdist|1 3|2
solisten||lines
syncsnoop||lines
tcpconnlat||1
tcppktlat||1
tcprtt|-i 1 -d 3|1
tcpsynbl|1 3|1
tcptop|1 3|0
tcptracer||1
softirqslower|1000000|1
xfsslower|1|1
bashreadline||1
zfsdist|1 3|2'
all theirs
all ours "$GPUBPF" bpf --
all supervised "$GPUBPF" bpf --supervise --
for side in ours supervised; do
	compared $side
	seen=$(awk '$1 == "same" && $3 > 0' "$T/all" | wc -l); [ "$seen" -ge 3 ]; ok $? "of $seen of them lines of the workload were compared"
done
finish
