#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tool.sh GPUBPF OBJECTS - STEPS OBJECT [RANDOM]: runs bpftool commands on the maps and programs of the Linux kernel and
# on those of a session. The outputs must be equal, apart from known differences. Runs the script STEPS, or with
# GPUBPF_TEST_SECONDS new scripts that RANDOM writes.
. "$(dirname "$0")/../../cli/lib.sh"
steps=$4 o=$5 random=${6:-}
what="bpftool's steps, as with the Linux kernel's maps and programs"
all_skipped() { skip "$what" "$1"; finish; }
command -v bpftool > /dev/null || all_skipped "bpftool is not installed"
{ command -v unshare > /dev/null && [ "$(id -u)" = 0 ]; } || all_skipped "no unshare, or not root"
"$OBJ/feature_checks" < /dev/null | grep -q '^a kprobe: done' || all_skipped "the kernel lets us load nothing"
. "$(dirname "$0")/tool_same.sh"
# theirs STEPS stores the output with the Linux kernel's maps. ours STEPS WAY [NAME] compares it with the session's
# output.
theirs() {
	unshare -m sh -c "mount -t bpf bpf '$R/bpffs' && sh '$1' '$R/bpffs' '$o'" 2> "$T/err" | same > "$T/theirs"
	grep -q '^> ' "$T/theirs" || all_skipped "no BPF file system: $(head -1 "$T/err")"
}
ours() {
	run "$GPUBPF" bpf --gpu $2 -- sh -c "sh '$1' \"\$GPUBPF_PIN\" '$o'"; is 0 "bpftool's steps${2:+, by a supervisor}${3:-}"
	same < "$T/out" > "$T/ours"; diff "$T/theirs" "$T/ours" > "$T/out"
	ok $? "$(grep -c '^> ' "$T/theirs") commands with the output that they have with the Linux kernel's${3:-}"
}
if [ -z "$random" ]; then
	theirs "$steps"
	for way in '' --supervise; do ours "$steps" "$way"; done
	finish
fi
seed=${GPUBPF_TEST_SEED:-$(date +%s)} until=$(($(date +%s) + ${GPUBPF_TEST_SECONDS:-60}))
while [ "$n" = 0 ] || [ "$(date +%s)" -lt "$until" ]; do
	"$random" "$(dirname "$steps")/tool_words.sh" "$seed" 300 > "$T/steps"
	if [ $((seed % 4)) = 0 ]; then way=--supervise; else way=; fi
	theirs "$T/steps"; ours "$T/steps" "$way" ", seed $seed"
	seed=$((seed + 1))
done
finish
