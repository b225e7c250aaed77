#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loader.sh GPUBPF OBJECTS LOOP CLANG TYPES CC [--supervise]: runs libbpf loaders that do not know about gpubpf.
. "$(dirname "$0")/../../cli/lib.sh"
clang=$4 types=$5 cc=$6 way=$7 o=$OBJ/count.bpf.o load=$OBJ/load
use_device pocl
quiet() { sed '/^device: /d; /launches: /d' "$T/out" > "$T/out2" && mv "$T/out2" "$T/out"; }

run "$GPUBPF" bpf $way -- "$load" "$o" "$LOOP 3 0"; quiet; is 42 "a loader, and the program that it probes"
prints '^counts 9216 3072 0 0 seen 0=1 total 3072 batch 1 missing No such file or directory split 3072$' "each thread is counted, data and maps are as a loader has them"
[ ! -s "$T/err" ]; ok $? "and nobody says anything"
run "$GPUBPF" bpf $way -a cuda__enter=nothing -a cuda__leave_with_a_long_name='step_*' -- "$load" "$o" "$LOOP 1 0"
prints '^counts 0 1024 0 0 total 0' "--attach binds programs to other kernels"
run "$GPUBPF" bpf $way -- "$load" "$o" true cuda__refused; is 2 "a program that the verifier refuses is the loader's error"
says "prog 'cuda__refused': BPF program load failed: Permission denied" "as libbpf tells it"
says "PROG LOAD LOG" "with a log"; says 'counts' "which names the map"; says 'count.bpf.c:' "and the line of the source"

# libbpf reads ring buffers and perf buffers; the perf buffers are too small for all records at once
run "$GPUBPF" bpf $way -- "$OBJ/rings" "$OBJ/rings.bpf.o" "$LOOP 3 0" 3072; is 0 "a loader that reads records"
prints '^ring 3072 sum 4717056 wrong 0 lost 0$' "has each of a ring buffer"; prints '^perf 3072 sum 4717056 wrong 0 lost 0$' "and of perf buffers"
awk '/^waits / { good = $2 <= $4 + 100 } END { exit !good }' "$T/err"; ok $? "and waits for them: $(grep '^waits ' "$T/err")"
for i in 1 2 3; do
	run "$GPUBPF" bpf $way -- "$OBJ/rings" "$OBJ/rings.bpf.o" "$LOOP 1 0" 1024 ended
	prints '^ring 1024 at the end$' "$i: all is there when the program has ended"
done

# one session, which several processes join and leave
printf '"%s" "%s" true > /dev/null || exit 1\nfor _ in $(seq 600); do "%s" session links | grep -q "nothing is attached" && exit 0; sleep 0.1; done; exit 1\n' \
	"$load" "$o" "$GPUBPF" > "$T/ends"
run "$GPUBPF" bpf $way -- sh "$T/ends"; is 0 "a loader that has ended has nothing attached"
# until launched|counted: waits until a kernel was launched, or a program counted; fails with the reason if that cannot
# happen.
cat > "$T/until" <<-E
	launched() { grep -q '"launches": *[1-9]' "$T/report"; }
	counted() { "$GPUBPF" map lookup counts key 1 0 0 0 -j 2> /dev/null | grep -q '"value": *[1-9]'; }
	until "$GPUBPF" session report -j > "$T/report" && \$1; do
		if grep -A 1 '"outcome": *"refused"' "$T/report" >&2 || [ -e "$T/ended" ]; then exit 1; fi
		sleep 0.1
	done
E
printf '{ LOOP_UNTIL="%s/told" "%s" 1 20 > /dev/null; > "%s/ended"; } & sh "%s/until" launched; "%s" "%s" "sh %s/until counted"; > "%s/told"; wait\n' \
	"$T" "$LOOP" "$T" "$T" "$load" "$o" "$T" "$T" > "$T/later"
run "$GPUBPF" bpf $way -- sh "$T/later"; prints '^counts [1-9][0-9]* [1-9][0-9]* 0 0 seen 0=1' "a program that ran before its loader came"
printf '"%s" "%s" true > /dev/null; sleep 0.3; "%s" 1 0 > /dev/null; exit 0\n' "$load" "$o" "$LOOP" > "$T/after"
run "$GPUBPF" bpf $way -- sh "$T/after"; is 0 "a program that comes when a loader has ended"
[ ! -s "$T/err" ]; ok $? "is given the memory of its maps"
run "$GPUBPF" bpf $way -- "$OBJ/odd_loader"; is 0 "one that does what few do, and what none should"; prints '^all as it should be$' "finds bpf(2)"
# a loader that runs until something is written to the fifo
mkfifo "$T/end"
printf 'rm -f "%s/up"; "%s" "%s" "touch %s/up; cat %s/end" > "%s/said" &\nwhile [ ! -e "%s/up" ]; do sleep 0.05; done\n' \
	"$T" "$load" "$o" "$T" "$T" "$T" "$T" > "$T/stays"
{ cat "$T/stays"; printf '"%s" bpf -S "$GPUBPF_SESSION" -- "%s" 2 0; echo > "%s/end"; wait; cat "%s/said"\n' "$GPUBPF" "$LOOP" "$T" "$T"; } > "$T/joins"
run "$GPUBPF" bpf $way -- sh "$T/joins"; prints '^counts 6144 2048 0 0' "and one that joins by the session's socket"

# unmodified bpftool
if command -v bpftool > /dev/null; then
	cat - > "$T/tools" <<-E
		for what in map prog link btf; do bpftool \$what list; done
		id() { bpftool map list | sed -n "s/^\(1073[0-9]*\): [a-z]*  name \$1  .*/\1/p"; } # only the session's ids: the Linux kernel may have maps of this name, too
		counts=\$(id counts) seen=\$(id seen)
		bpftool map update id \$counts key 3 0 0 0 value 7 0 0 0 0 0 0 0
		bpftool map update id \$seen key 9 0 0 0 value 5 0 0 0 0 0 0 0 noexist
		bpftool map update id \$seen key 9 0 0 0 value 5 0 0 0 0 0 0 0 noexist 2>&1
		bpftool map lookup id \$counts key 3 0 0 0; bpftool map dump id \$seen
		bpftool map delete id \$seen key 9 0 0 0; bpftool map getnext id \$counts key 2 0 0 0
		bpftool prog dump xlated name cuda__enter
		mkdir "\$GPUBPF_PIN/below"; bpftool map pin id \$counts "\$GPUBPF_PIN/below/m"; bpftool prog pin name cuda__enter "\$GPUBPF_PIN/p"
		bpftool map pin id \$counts "\$GPUBPF_PIN/p" 2>&1; bpftool map pin id \$counts /sys/fs/bpf/none 2>&1
		bpftool map update pinned "\$GPUBPF_PIN/below/m" key 2 0 0 0 value 55 0 0 0 0 0 0 0
		bpftool map create "\$GPUBPF_PIN/new" type hash key 4 value 4 entries 4 name made
		bpftool map update pinned "\$GPUBPF_PIN/new" key 1 0 0 0 value 6 0 0 0; bpftool map dump pinned "\$GPUBPF_PIN/new"
		echo "pins are in \$GPUBPF_PIN"
		"$GPUBPF" map pin counts own && "$GPUBPF" map pin counts "\$GPUBPF_PIN/below/own" && bpftool map show pinned "\$GPUBPF_PIN/below/own" | sed 's/^/own: /'
		"$GPUBPF" map unpin own && "$GPUBPF" map unpin "\$GPUBPF_PIN/below/own" && ls "\$GPUBPF_PIN/own" "\$GPUBPF_PIN/below/own" 2>&1
		"$GPUBPF" map pin none own 2>&1; "$GPUBPF" map pin counts p 2>&1; "$GPUBPF" map pin counts /tmp/own 2>&1
		touch "\$GPUBPF_PIN/file"; "$GPUBPF" map unpin file 2>&1; "$GPUBPF" map unpin gone 2>&1
		echo > "$T/end"; wait; bpftool map lookup pinned "\$GPUBPF_PIN/below/m" key 2 0 0 0; bpftool prog show pinned "\$GPUBPF_PIN/p"
		rm -r "\$GPUBPF_PIN/below" "\$GPUBPF_PIN/new" "\$GPUBPF_PIN/p"
		for _ in \$(seq 600); do left=\$(bpftool map list | grep -c '^1073.* \(counts\|made\) '); [ \$left -gt 0 ] || break; sleep 0.1; done; echo \$left
	E
	cat "$T/stays" "$T/tools" > "$T/tool"; run "$GPUBPF" bpf $way -- sh "$T/tool"
	prints '^1073[0-9]*: array  name counts  flags 0x0' "bpftool lists maps"; prints '^1073[0-9]*: kprobe  name cuda__enter' "programs"
	prints '^1073[0-9]*: perf_event  prog 1073' "links"; prints '^1073[0-9]*: .*map_ids 1073' "BTF, and who uses it"
	prints '"key": 3,' "looks up"; prints '"value": 7' "what it has updated, by its types"
	prints 'File exists' "a key that is there is the error that it is of the kernel's"; prints '"key": 9,' "dumps"
	prints '^03 00 00 00' "walks"; prints 'r1 = map\[id:1073' "and shows instructions"
	prints '"value": 55' "pins: a map that is pinned is there when its loader has ended"; prints '^1073[0-9]*: kprobe  name cuda__enter .*' "and a program"
	prints 'Error: .*File exists' "a name that is taken"; prints 'Error: .*Operation not permitted' "a place that is not ours"
	prints '^own: 1073[0-9]*: array  name counts' "map pin: bpftool finds it"
	[ "$(grep -c '/own.: No such file' "$T/out")" = 2 ]; ok $? "map unpin: it is gone"
	prints 'no loader of the session has a map none' "pins that cannot be"; prints '/p: File exists' "are refused"
	prints '/tmp/own: a pin must be in the session' "with the reason"; prints '/file: it is no pin' "by map unpin"; prints '/gone: No such file' "too"
	prints '^key: 01 00 00 00  value: 06 00 00 00' "a map that is made there"
	[ "$(tail -n 1 "$T/out")" = 0 ]; ok $? "what had its loader goes with the names"
	pins=$(sed -n 's/^pins are in //p' "$T/out"); [ -n "$pins" ] && [ ! -e "$pins" ]; ok $? "and the folder with the session"
else skip "bpftool" "it is not installed"; fi

# system calls that do not concern a GPU go to the Linux kernel
"$OBJ/feature_checks" > "$T/theirs" < /dev/null; what="what libbpf asks to learn what the kernel can do has the kernel's answers, $(grep -c . "$T/theirs") of them"
if grep -q '^a kprobe: done' "$T/theirs"; then
	run "$GPUBPF" bpf $way -- "$OBJ/feature_checks" < /dev/null; diff "$T/theirs" "$T/out" > "$T/err"; ok $? "$what"
else skip "$what" "the kernel lets us load nothing, and the session does"; fi
if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
	run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf $way -- "$load" "$o" "$LOOP 3 0"; quiet
	is 42 "without the right to load programs into the kernel"; prints '^counts 9216 3072 0 0 seen 0=1 total 3072' "the same is counted"
	run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf $way -- "$OBJ/rings" "$OBJ/rings.bpf.o" "$LOOP 1 0" 1024
	prints '^ring 1024 sum 523776 wrong 0 lost 0$' "and the same records come"
else skip "without the right to load programs into the kernel" "no setpriv, or not root"; fi
preload=$(dirname "$GPUBPF")/hooks/libgpubpf-bpf.so
LD_PRELOAD=$preload "$OBJ/feature_checks" > "$T/out" < /dev/null; cmp -s "$T/theirs" "$T/out"; ok $? "without a session the preload does nothing"
LD_PRELOAD=$preload GPUBPF_SESSION=$T/nowhere "$OBJ/feature_checks" > "$T/out" < /dev/null; cmp -s "$T/theirs" "$T/out"; ok $? "nor with one that has ended"
run "$GPUBPF" bpf; is 2 "no loader"; one_line "it is told"

finish
