#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opencl.sh GPUBPF OBJECTS LOOP DEVICE: gpubpf with a real OpenCL application: the counts are exact, and the
# application's output does not change.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
use_device "${4:-}"
json() { python3 -c "import json,sys; r=json.load(open('$T/r')); print($1)" 2>&1; }
# same LAUNCHES WHAT: compares the application's last line with that of a run without gpubpf; agent messages may follow
# that line
same() { [ -e "$T/native$1" ] || "$LOOP" "$1" 0 > "$T/native$1"; grep ' launches: ' "$T/native$1" > "$T/a"; grep ' launches: ' "$T/out" > "$T/b"; cmp -s "$T/a" "$T/b"; ok $? "$2: the output is its own"; }
"$LOOP" 2 0 > "$T/native2"; "$LOOP" 4 0 > "$T/native4"

run "$GPUBPF" kernel list --places -- "$LOOP" 4 0; is 42 "kernel list"
says '^  gpu/exit/  *step_one  *step_one  *0  *-  *1  *-  *arg$' "and the places at which programs can run"
says '^  step_one  *4  *1024  *64  yes' "lists the kernel, its launches and its sizes"; same 4 "kernel list"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 4 0; is 42 "run"; same 4 "run"
[ "$(json "[e['value'] for m in r['maps'] if m['name'] == 'counts' for e in m['entries']]")" = "[4096, 4096]" ]
ok $? "entries and exits are counted exactly: $(json "[e['value'] for m in r['maps'] if m['name'] == 'counts' for e in m['entries']]")"
[ "$(json "[(k['name'], k['launches'], k['probed'], k['missed'], k['reason']) for k in r['kernels']]")" = "[('step_one', 4, 4, 0, '')]" ]
ok $? "the kernel: $(json "[(k['name'], k['launches'], k['probed'], k['missed'], k['reason']) for k in r['kernels']]")"
[ "$(json "sum(h['count'] for m in r['maps'] if m['name'] == 'threads' for h in m['histogram'])")" = 4096 ]; ok $? "the histogram has them all"
[ "$(json "[e['value']['launch'] for e in r['events']]")" = "[0, 1, 2, 3]" ]; ok $? "events, typed: $(json "r['events'][:1]")"
[ "$(json "[(p['text'], p['thread'][0], p['kernel']) for p in r['prints']][:1]")" = "[('thread 5 of launch 0', 5, 'step_one')]" ]
ok $? "prints with coordinates: $(json "r['prints'][:1]")"
[ "$(json "r['dropped']")" = 0 ]; ok $? "nothing was dropped"
[ "$(json "0 < r['cost']['hook_ns'] < 10**10")" = True ]; ok $? "the launch hook was measured: $(json "r['cost']['hook_ns']")"
waits="r['cost']['wait_ns'] - sum(r['cost']['wait_%s_ns' % p] for p in ('ask', 'answer', 'load', 'others', 'rest'))"
[ "$(json "$waits")" = 0 ]; ok $? "what the program waited for adds up: $(json "r['cost']")"
[ "$(json "0.9 * sum(r['cost'][p] for p in ('queue_ns', 'lower_ns', 'build_ns')) <= r['cost']['wait_answer_ns']")" = True ]
ok $? "and for answers as long as they took"
[ "$(json "r['cost']['twins'] + r['cost']['cached']")" = 1 ]; ok $? "a twin was made"
POCL_MEMORY_LIMIT=3 run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "r['cost']['twins'], r['cost']['cached']")" = "0 1" ]; ok $? "or was on disk, however much memory the device has, and then counts as cached: $(json "r['cost']")"
"$(dirname "$0")/schema.py" "$(dirname "$0")/../../cli/report.schema.json" "$T/r"; ok $? "the report is as the schema says"
run "$GPUBPF" run -o "$p" -- "$LOOP" 4 0
says '^step_one#0 block 0,0,0 thread 5,0,0 enter: thread 5 of launch 0$' "prints come to standard error"
grep -q 'more records' "$T/err"; [ $? = 1 ]; ok $? "no record is said to be missing"
says '^  \[512, 1K)  *2048 |@*|$' "a histogram as bpftrace draws it"; same 4 "run again"
says '  probed (OpenCL C source)$' "the form of code in words"; says '^dropped: 0$' "and the drops"
grep -qE '^(session: load|twins: |launch hook)| registers' "$T/err"; [ $? = 1 ]; ok $? "without figures of stages"
run "$GPUBPF" run -v -o "$p" -- "$LOOP" 4 0; says '^session: load .*, verify .*, queue ' "-v prints the time of each stage"
says '^twins: 0 built, 1 from the cache' "the twins"; says '^launch hook: .* per launch$' "and the launch hook"
run "$GPUBPF" run --no-cache -o "$p" -- "$LOOP" 4 0; says '^the program waited [0-9.]* m*s for twins (probed copies) of its kernels$' "a wait that a user notices is reported"
run "$GPUBPF" run --no-sass -o "$p" -- "$LOOP" 4 0; says '^gpubpf: --route ptx has no effect on kernel step_one: its code is OpenCL C source$' "--no-sass without effect is reported"
run "$GPUBPF" kernel list --route sass -- "$LOOP" 1 0; says '^gpubpf: --route sass has no effect on kernel step_one: its code is OpenCL C source$' "by kernel list too"
run "$GPUBPF" run --route wrap -o "$p" -- "$LOOP" 4 0; ! grep -q 'has no effect' "$T/err"; ok $? "and not where it has an effect"
run "$GPUBPF" run -o "$OBJ/records.bpf.o" -- "$LOOP" 1 0; is 42 "records"
says '^  ring: { .thread = 7, .comm = "seven" }$' "a record of the struct that a variable points to"
says '^  perf: { .thread = 7, .comm = "seven" }$' "in a PERF_EVENT_ARRAY too"
says '^  wide_ring: { .a = 1, .b = 2, .c = 3 }$' "a record of the struct that the map names"
says '^  ring: 04 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00  |................|$' "two structs of its size: bytes"
says '^    0010: 65 73 00 00 .*|es..|$' "bytes and characters, 16 a line"
run "$GPUBPF" run -o "$OBJ/records.bpf.o" -j --report "$T/r" -- "$LOOP" 1 0
[ "$(json "[e['value'] for e in r['events'] if e['map'] == 'perf']")" = "[{'thread': 7, 'comm': 'seven'}]" ]; ok $? "typed as JSON: $(json "r['events']")"
[ "$(json "[str(e['value'])[:5] for e in r['events'] if e['map'] == 'ring'][1:]")" = "['04 00', '61 20']" ]; ok $? "and bytes as a string"
run "$GPUBPF" run -o "$OBJ/shown.bpf.o" -- "$LOOP" 4 0; is 42 "what types say"
says '^  step_one  { .calls = 4096, .threads = <4096 values, p50 511, p90 512, p99 512>, .*, .slots = { 4, 4, 8, .* 0 <repeats 29 times> } }$' \
	"a key that is a kernel; all members, histograms among them"
says '^  \[step_one\].threads$' "and drawn below"; says '^  \[512, 1K)  *2048 |@@*|$' "each in its slot"
says '^  \[256, 512)  *1024 |@@*|$' "linear ones in steps"; says '^  (\.\.\., 256)  *1024 ' "and what is below them"
[ "$(grep -c '^  \[8, 16)' "$T/err")" = 2 ]; ok $? "what is not declared a histogram is not drawn"
says '.kernel = step_one, .arg = 0x[0-9a-f]*, .name = step_one }$' "names as names, addresses in hex"
says 'show: text: launch even, step_one$' "text of constants and maps is printed"; says 'show: text: launch odd, step_one$' "of any element"
says '^  step_one  *1$' "a name as a key"; says '^  zeros     { 0 <repeats 39 times>, 1 }$' "zeros folded"
rm -f "$T/up" "$T/go"
"$GPUBPF" run -o "$OBJ/shown.bpf.o" -- sh -c '"$2" 1 0 > "$0.out"; > "$0"; until [ -e "$1" ]; do sleep 0.1; done' "$T/up" "$T/go" "$LOOP" > /dev/null 2>&1 & tool=$!
until_true [ -e "$T/up" ]
run "$GPUBPF" map lookup by_kernel key step_one; is 0 "a kernel is a key by its name"; prints '^key: step_one  value: { .calls = [1-9]' "as a dump has it"
run "$GPUBPF" map lookup by_kernel key step_none; is 1 "no kernel's name"; says 'map by_kernel: lookup: key: the session has no kernel step_none' "says so"
run "$GPUBPF" map lookup by_name key step_one; is 0 "struct gpubpf_name is too"; prints '^key: step_one  value: 1$' "as a dump has it"
let_go; wait $tool
rm -f "$T/up" "$T/go"
"$GPUBPF" run -o "$OBJ/shown.bpf.o" -a show='_ZN*' -- sh -c 'for n in _ZN1AC1Ev _ZN1AC2Ev; do LOOP_NAME=$n "$2" 1 0 > "$0.out"; done; > "$0"; until [ -e "$1" ]; do sleep 0.1; done' "$T/up" "$T/go" "$LOOP" > /dev/null 2>&1 & tool=$!
until_true [ -e "$T/up" ]
run "$GPUBPF" map lookup by_kernel key 'A::A()'; is 1 "two kernels are printed so"; says '2 kernels have the name A::A(); .* such as _ZN1AC2Ev' "and told apart by their own names"
run "$GPUBPF" map lookup by_kernel key _ZN1AC1Ev; is 0 "by which each is found"
let_go; wait $tool
# an object with a table of allocations joins a running session: the table must hold earlier allocations; then also
# freed ones
rm -f "$T/up" "$T/go"
"$GPUBPF" run -o "$p" -- sh -c 'LOOP_UNTIL=$1 "$2" 1 100 > "$0.out" & sleep 1; > "$0"; wait' "$T/up" "$T/go" "$LOOP" > /dev/null 2>&1 & tool=$!
until_true [ -e "$T/up" ]
"$GPUBPF" session attach -o "$OBJ/told.bpf.o" > /dev/null 2> "$T/err"; ok $? "an object with such a map joins"
until_true sh -c '"$1" map lookup made key 0 2> /dev/null | grep -q "size = 4096, .kind = 1, .number = 0"' - "$GPUBPF"; ok $? "and is told of what was there"
let_go; wait $tool
run "$GPUBPF" run -o "$OBJ/told.bpf.o" -- "$LOOP" 1 0; says '.size = 4096, .kind = 1, .number = 0, .stack = .*main' "and by itself, when the program has ended"
run "$GPUBPF" run -o "$OBJ/shown.bpf.o" -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "[(e['key'], e['value']['calls'], e['value']['threads']['percentiles']['p99']) for m in r['maps'] if m['name'] == 'by_kernel' for e in m['entries']]")" = "[('step_one', 4096, 512)]" ]
ok $? "in JSON too: $(json "[m['entries'] for m in r['maps'] if m['name'] == 'by_kernel']" | cut -c1-200)"
[ "$(json "[(k['id'], k['grid'], k['threads'], k['block']) for k in r['kernels']]")" = "[(0, [16, 1, 1], [1024, 1, 1], [64, 1, 1])]" ]
ok $? "the grid is blocks, as in the context: $(json "[(k['id'], k['grid'], k['threads'], k['block']) for k in r['kernels']]")"
run "$GPUBPF" run -o "$p" --first 2 -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "r['kernels'][0]['probed']")" = 2 ]; ok $? "--first 2 probes two launches"; same 4 "--first"
run "$GPUBPF" run -o "$p" --sample 2 -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "r['kernels'][0]['probed']")" = 2 ]; ok $? "--sample 2 probes every other"; same 4 "--sample"
built=$(dirname "$GPUBPF")/examples/consumer
run "$built/consumer" "$built/consumer.bpf.o" "$LOOP" 2 0; is 42 "a consumer in C"; grep -qxF "$(tail -1 "$T/native2")" "$T/out"; ok $? "the output is there"
[ "$(grep -c '^step_one: launch [01], block [0-9]* of 64 threads$' "$T/out")" = 32 ]; ok $? "each record comes, with names: $(tail -1 "$T/out")"
run "$GPUBPF" run -o "$p" --events 1 --jsonl "$T/lines" -q -- "$LOOP" 4 0; is 42 "--jsonl"; same 4 "--jsonl"
lines() { python3 -c "import json; l=[json.loads(x) for x in open('$1') if x.startswith('{')]; print(sorted(e['value']['launch'] for e in l if e.get('map') == 'records'), sorted(p['launch'] for p in l if 'text' in p), {e['backend'] for e in l})"; }
[ "$(lines "$T/lines")" = "[0, 1, 2, 3] [0, 1, 2, 3] {'opencl'}" ]; ok $? "a line for each record and print, whatever the report keeps: $(lines "$T/lines")"
run "$GPUBPF" run -o "$p" --events jsonl - -q -- "$LOOP" 4 0; [ "$(lines "$T/out")" = "[0, 1, 2, 3] [0, 1, 2, 3] {'opencl'}" ]; ok $? "on standard output, beside the program's own"
run "$GPUBPF" run -o "$p" --jsonl /dev/full -q -- "$LOOP" 4 0; is 42 "--jsonl: a full disk"
[ "$(grep -c 'events are no longer written: No space' "$T/err")" = 1 ]; ok $? "--jsonl: it is told once"
run "$GPUBPF" run -o "$p" --jsonl "$T/none/x" -- touch "$T/started"; is 125 "--jsonl: a file that cannot be written"; says 'none/x: cannot write events' "is told before the program starts"
run "$GPUBPF" run -o "$p" --events 1 -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "len(r['events']) + len(r['prints'])")" = 1 ] && [ "$(json "r['records']")" = 8 ]; ok $? "--events 1 keeps one record of eight"
run "$GPUBPF" run -o "$p" --events 0 -- "$LOOP" 4 0
says '^  \.\.\. and 4 more records (--events raises' "in text those of maps: prints were shown"
run "$GPUBPF" run -o "$p" --events 0 -j --report "$T/r" -- "$LOOP" 4 0
[ "$(json "len(r['events']) + len(r['prints'])")" = 0 ] && [ "$(json "r['records']")" = 8 ]; ok $? "--events 0 counts them alone"
run "$GPUBPF" run -o "$OBJ/miss.bpf.o" -- "$LOOP" 1 0
says 'no kernel is named step_on; launched kernels: step_one; did you mean --attach miss=step_one?' "no kernel matches: what was seen instead"
run "$GPUBPF" run -o "$OBJ/miss.bpf.o" --attach miss=step_one --attach 'miss=*one' --threads 1000 -j --report "$T/r" -- "$LOOP" 1 0
[ "$(json "r['maps'][0]['entries'][0]['value']")" = 1024 ]; ok $? "--attach binds it, once though two patterns match"
[ "$(json "r['dropped'], [m['dropped'] for m in r['maps']]")" = "24 [0, 24]" ]; ok $? "threads beyond --threads are dropped, and counted once"
run "$GPUBPF" run -o "$p" -o "$OBJ/miss.bpf.o" --attach miss='step*' -j --report "$T/r" -- "$LOOP" 1 0
[ "$(json "sorted(m['entries'][0]['value'] for m in r['maps'] if m['name'] == 'counts')")" = "[1024, 1024]" ]; ok $? "two objects on one kernel"
for bytes in 240 305; do # PoCL supports kernel names up to 252 bytes
	long=$(printf "step_%0$((bytes - 5))d" 0)
	LOOP_NAME=$long "$LOOP" 2 0 > "$T/native_long" 2> "$T/err" || [ $? = 42 ] || { skip "a kernel with a name of $bytes bytes" "the device has none of them"; continue; }
	LOOP_NAME=$long run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 2 0; is 42 "a kernel with a name of $bytes bytes"; same 2 "it"
	[ "$(json "[(k['name'], k['launches'], k['probed'], k['reason']) for k in r['kernels']]")" = "[('$long', 2, 2, '')]" ]
	ok $? "is probed under its whole name: $(json "[(k['probed'], k['reason']) for k in r['kernels']]")"
done
run "$GPUBPF" run -o "$OBJ/call.bpf.o" -- "$LOOP" 1 0; is 42 "gpu/call"
says 'program called: no inspected kernel calls a function, so there is no function help\*' "gpu/call: where there is none, it says so"
run "$GPUBPF" -e 'gpu/insn/OpFMul { @ = count(); }' -- "$LOOP" 1 0; is 42 "gpu/insn"
says 'gpu/insn/ cannot be probed on .*: OpenCL C source has no opcodes' "gpu/insn: refused in OpenCL C, with the reason"
run "$GPUBPF" run -o "$p" --no-wait --no-cache -j --report "$T/r" -- "$LOOP" 2 0; is 42 "--no-wait"
[ "$(json "'--wait)' in r['kernels'][0]['reason']")" = False ]; ok $? "does not speak of --wait: $(json "r['kernels'][0]['reason']")"
[ "$(json "r['kernels'][0]['probed'] + r['kernels'][0]['missed']")" = 2 ]; ok $? "what is not probed is missed: $(json "r['kernels']")"
run "$GPUBPF" run -o "$p" --wait 0.001 --no-cache -j --report "$T/r" -- "$LOOP" 4 0; is 42 "--wait 0.001"; same 4 "--wait 0.001"
GPUBPF_BACKEND=cuda run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 4 0
is 42 "another backend"; same 4 "another backend"; [ "$(json "r['kernels']")" = "[]" ]; ok $? "and nothing is probed"

"$GPUBPF" run -q -o "$p" -- sh -c '"$1" 4 0; until [ -e "$2" ]; do sleep 0.1; done' sh "$LOOP" "$T/dumped" > /dev/null 2>&1 & one=$!
dumped() { timeout 20 "$GPUBPF" map dump --csv > "$T/csv" 2> /dev/null; grep -q '^counts,,,,1,,4096$' "$T/csv"; }
until_true dumped; > "$T/dumped"; wait $one
[ "$(head -3 "$T/csv" | tr '\n' ' ')" = "map,process,backend,device,key,copy,value counts,,,,0,,4096 counts,,,,1,,4096 " ]; ok $? "map dump --csv: $(sed -n 2p "$T/csv")"
# lasting ARG...: starts gpubpf run ARG... in the background with an application that launches kernels until let_go
lasting() { rm -f "$T/go"; LOOP_UNTIL=$T/go "$GPUBPF" run "$@" -- "$LOOP" 1 20 > "$T/out" 2>&1 & }
launches() { sed -n 's/ launches: .*//p' "$T/out"; }
rm -f "$T/go"; LOOP_UNTIL=$T/go "$GPUBPF" run -o "$p" -j --report "$T/r1" -- "$LOOP" 1 20 > "$T/out1" 2>&1 & one=$!
lasting -o "$p" -j --report "$T/r"; two=$!
both() { timeout 20 "$GPUBPF" map dump > "$T/dump" 2>&1; grep -q '2 sessions are running; name one with --session: [0-9]* (loop), [0-9]* (loop)' "$T/dump"; }
until_true both; ok $? "map dump while two run lists both"
timeout 20 "$GPUBPF" map dump --session $one | grep -q '^counts'; ok $? "with --session it dumps one"; let_go
wait $one; rc=$?; is 42 "one of two tools at once"; wait $two; rc=$?; is 42 "the other"; same "$(launches)" "two at once"
[ "$(json "r['maps'][0]['entries'][0]['value']")" = $(($(launches) * 1024)) ]; ok $? "each counts its own"
lasting -o "$OBJ/queue.bpf.o" -j --report "$T/r"; tool=$!; until_true probing
for i in 3 4 5; do timeout 20 "$GPUBPF" map push jobs value $i 0 0 0 7 0 0 0; done 2> "$T/err"
taken() { timeout 20 "$GPUBPF" map dump results | grep -q 35; }
until_true taken; let_go; wait $tool; rc=$?; is 42 "a program that takes work from the tool"
[ "$(json "[[(e.get('key'), e['value']) for e in m['entries']] for m in r['maps'] if m['name'] in ('jobs', 'results')]")" = "[[], [(None, 21), (None, 28), (None, 35)]]" ]
ok $? "all of it is done, in order: $(json "[m['entries'] for m in r['maps']]")"
lasting -o "$p"; tool=$!; until_true probing; kill -KILL $tool; wait $tool 2> /dev/null; let_go
until_true grep -q launches "$T/out"; same "$(launches)" "the tool killed with -9 in the middle"
run "$GPUBPF" run -o "$p" --duration 1 -j --report "$T/r" -- "$LOOP" 40 50; is 42 "--duration in the middle"; same 40 "--duration"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" 4 0 9; is 137 "a program that is killed"
[ "$(json "r['maps'][0]['entries'][0]['value']")" = 4096 ]; ok $? "its counts survive"

# applications built with a sanitizer; TSan ignores code without instrumentation, because it sees only
# half of the accesses of the drivers' own threads and would report false races
export TSAN_OPTIONS=ignore_noninstrumented_modules=1
for s in address thread; do
	ASAN_OPTIONS=detect_leaks=0 timeout 60 "$LOOP-$s" 2 0 > "$T/native2" 2> /dev/null
	[ $? = 42 ] || { skip "$s" "not built, or it does not run here"; continue; }
	ASAN_OPTIONS=detect_leaks=0 LOOP_FORKS=1 run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP-$s" 2 0
	is 42 "a program with -fsanitize=$s, which forks"; same 2 "it"
	[ "$(json "r['kernels'][0]['probed']")" = 2 ]; ok $? "it is probed"
done

# a copy of the tool with its folders, in which the workers hang or die
fake() { # NAME COMMAND
	mkdir -p "$T/$1/core/worker" "$T/$1/hooks"
	cp "$GPUBPF" "$T/$1/gpubpf"
	cp "$(dirname "$GPUBPF")/hooks/libgpubpf-agent.so" "$T/$1/hooks/"
	for w in compile clread build; do
		printf '#!/bin/sh\n%s\n' "$2" > "$T/$1/core/worker/gpubpf-$w"
		chmod +x "$T/$1/core/worker/gpubpf-$w"
	done
}
fake env "tr '\\0' '\\n' < /proc/\$\$/environ > $T/env.txt; exit 1"
LD_PRELOAD=libm.so.6 LD_LIBRARY_PATH=$T/env run "$T/env/gpubpf" run -o "$p" --no-cache -- "$LOOP" 1 0; is 42 "a LD_PRELOAD of the user's"
grep -q "^LD_LIBRARY_PATH=$T/env" "$T/env.txt" && ! grep -q '^LD_PRELOAD' "$T/env.txt"; ok $? "does not reach the workers, where libraries are does"
fake slow 'exec sleep 1000'
start=$(date +%s)
run "$T/slow/gpubpf" run -o "$p" --no-cache --wait 2 -j --report "$T/r" -- "$LOOP" 4 0
is 42 "a compile that takes for ever"; same 4 "it"
[ $(($(date +%s) - start)) -lt 90 ]; ok $? "the program waited as long as --wait says, not longer"
[ "$(json "r['kernels'][0]['probed']")" = 0 ] && [ -n "$(json "r['kernels'][0]['reason']")" ]; ok $? "the reason: $(json "r['kernels'][0]['reason']")"
[ "$(json "'not ready when probing ended' in r['kernels'][0]['reason'] and '--wait' in r['kernels'][0]['reason']")" = True ]; ok $? "it says what to do"
WORKERS=$(realpath "$(dirname "$GPUBPF")/core/worker")
fake late "sleep 3; exec $WORKERS/gpubpf-build"
for w in compile clread; do ln -sf "$WORKERS/gpubpf-$w" "$T/late/core/worker/gpubpf-$w"; done
rm -f "$T/go"; LOOP_UNTIL=$T/go "$T/late/gpubpf" run -o "$p" --no-cache --wait 0.5 -j --report "$T/r" -- "$LOOP" 1 20 > "$T/out" 2> "$T/err" & tool=$!
until_true probing; let_go; wait $tool; rc=$?; is 42 "a twin that comes late"; same "$(launches)" "it"
late=$(json "r['kernels'][0]['probed']"); missed=$(json "r['kernels'][0]['missed']")
[ "$late" -gt 0 ] && [ "$missed" -gt 0 ] && [ $((late + missed)) = "$(launches)" ]; ok $? "is used from then on: $late launches, $missed missed"
[ "$(json "r['maps'][0]['entries'][0]['value']")" = $((late * 1024)) ]; ok $? "and counts those"
[ "$(json "'before its twin (probed copy) was ready' in r['kernels'][0]['reason']")" = True ]; ok $? "the others are told"
fake dead 'exit 1'
run "$T/dead/gpubpf" run -o "$p" --no-cache -j --report "$T/r" -- "$LOOP" 4 0
is 42 "workers that die"; same 4 "they"
[ "$(json "r['kernels'][0]['probed']")" = 0 ] && [ -n "$(json "r['kernels'][0]['reason']")" ]; ok $? "the reason: $(json "r['kernels'][0]['reason']")"
fake crash 'kill -SEGV $$'
run "$T/crash/gpubpf" run -o "$p" --no-cache -j --report "$T/r" -- "$LOOP" 4 0
is 42 "workers that crash"; same 4 "they"
rm -rf "$T/slow" "$T/late" "$T/dead" "$T/crash" "$T/env"
finish
