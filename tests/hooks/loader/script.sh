#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# script.sh GPUBPF OBJECTS LOOP SOURCE TOOL_OBJECT CC SECONDS: runs random scripts of bpftool, bpftrace and a loader
# with a skeleton, with a session and with the Linux kernel. The outputs must be equal, apart from known differences.
# GPUBPF_TEST_SECONDS overrides SECONDS, and GPUBPF_TEST_SEED sets the first seed.
. "$(dirname "$0")/../../cli/lib.sh"
src=$4 tool=$5 cc=$6 seconds=${GPUBPF_TEST_SECONDS:-$7}
what="a script at random, as with the Linux kernel"
all_skipped() { skip "$what" "$1"; finish; }
for need in bpftool bpftrace python3 unshare objcopy; do command -v $need > /dev/null || all_skipped "$need is not installed"; done
[ "$(id -u)" = 0 ] || all_skipped "not root"
"$OBJ/feature_checks" < /dev/null | grep -q '^a kprobe: done' || all_skipped "the kernel lets us load nothing"
use_device pocl
. "$src/tool_same.sh"
bpftrace -e 'BEGIN { exit(); }' > "$T/out" 2>&1 || all_skipped "bpftrace does not run here: $(grep -m 1 ERROR "$T/out")"
objcopy --redefine-sym host_step=step_one "$LOOP" "$T/app"
bpftool gen skeleton "$OBJ/script.bpf.o" > "$T/script.skel.h" 2> "$T/err" && $cc -O1 -I"$T" "$src/users/script.c" -o "$T/loader" -lbpf 2> "$T/err" || all_skipped "no skeleton: $(grep -m 1 . "$T/err")"
. "$src/tool_words.sh"
seed=${GPUBPF_TEST_SEED:-$(date +%s)} until=$(($(date +%s) + seconds))
while [ "$n" = 0 ] || [ "$(date +%s)" -lt "$until" ]; do
	"$src/script_random.py" "$src/tool_words.sh" "$src/tool_random.py" "$seed" 15 > "$T/steps"
	if [ $((seed % 4)) = 0 ]; then way=--supervise; else way=; fi
	unshare -m sh -c "mount -t bpf bpf '$R/bpffs' && sh '$T/steps' '$R/bpffs' '$tool' '$T/app' '$T/loader'" 2> "$T/err" | same | counted > "$T/theirs"
	grep -q '^> ' "$T/theirs" || all_skipped "no BPF file system: $(head -1 "$T/err")"
	run "$GPUBPF" bpf --gpu --wait 280 $way -- sh -c "sh '$T/steps' \"\$GPUBPF_PIN\" '$tool' '$T/app' '$T/loader'"; is 0 "seed $seed${way:+, by a supervisor}"
	same < "$T/out" | counted > "$T/ours"; diff "$T/theirs" "$T/ours" > "$T/out"
	ok $? "seed $seed: $(grep -c '^> ' "$T/theirs") steps with the output that they have with the Linux kernel's"
	seed=$((seed + 1))
done
finish
