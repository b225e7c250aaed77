#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh GPUBPF OBJECTS LOOP: gpubpf run never changes the application's output and exit status.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o

run "$GPUBPF" run -o "$p" -- sh -c 'echo out; echo err >&2; exit 7'
is 7 "the program's status"; [ "$(cat "$T/out")" = out ]; ok $? "the program's output"; says '^err$' "and errors"
says 'never used a GPU runtime' "a program without a GPU: one line says so"
says 'program enter: warning: line 23: prints up to 1 line per thread' "what the verifier warns of is told"
run "$GPUBPF" run -o "$p" -- sh -c 'sleep 600 > /dev/null 2>&1 & echo $! > "$0"; exit 3' "$T/pid"; is 3 "one that goes to the background"
says "ended before it used a GPU runtime, and left s[leph]* (pid $(cat "$T/pid")).*run it in the foreground" "is told so"; kill "$(cat "$T/pid")"
if unshare -rm sh -c 'mount -t tmpfs none /proc' 2> /dev/null; then
	run unshare -rm sh -c 'mount -t tmpfs none /proc; exec "$@"' sh "$GPUBPF" run -o "$p" -- true
	is 125 "no /proc"; says 'probe.bpf.o: cannot open /proc/self/fd, which libbpf needs: No such file' "is named"; says 'try: mount /proc' "with what to do"
else skip "no /proc" "no namespaces here"; fi
run "$GPUBPF" run -o "$p" sh -c 'exit 3'; is 3 "-- may be left out"
run "$GPUBPF" run -o "$p" -- sh -c 'kill -TERM $$'; is 143 "death by SIGTERM is passed on"
run "$GPUBPF" run -o "$p" -- sh -c 'kill -SEGV $$'; is 139 "and by SIGSEGV"
run "$GPUBPF" run -o "$p" -- "$T/nothing"; is 127 "a program that is not there"; says 'nothing: cannot be run' "is named"
run env --ignore-signal=CHLD "$GPUBPF" run -o "$p" -- grep SigIgn /proc/self/status
is 0 "SIGCHLD ignored by who starts it"; prints '[13579bdf]....$' "is so for the program too"
(ulimit -Sn 50; run "$GPUBPF" run -o "$p" -- sh -c 'ulimit -Sn'; exit $rc); prints '^50$' "so is a limit on descriptors"
echo x > "$T/plain"; run "$GPUBPF" run -o "$p" -- "$T/plain"; is 126 "one that cannot be run"
{ printf '\177ELF\n'; echo "echo > '$T/started'"; } > "$T/image"; chmod +x "$T/image"; run "$GPUBPF" run -o "$p" -- "$T/image"
is 126 "a file of another machine's code"; says 'Exec format error; it is not an executable for this machine' "says so"; [ ! -e "$T/started" ]; ok $? "and no shell gets it"
run "$GPUBPF" run -o "$OBJ/bad.bpf.o" -- touch "$T/started"
is 125 "an unsafe program"; [ ! -e "$T/started" ]; ok $? "and the program is not started"; says 'rule: ' "with the diagnostic"
run "$GPUBPF" run -o "$p" --max-cost 3 -- touch "$T/started"; is 125 "a worst case above --max-cost"
run "$GPUBPF" run -o "$p" --report "$T/none/x" -- touch "$T/started"; is 125 "a report that cannot be written"
[ ! -e "$T/started" ]; ok $? "is told before the program starts"
LD_PRELOAD=libm.so.6 OPENCL_LAYERS=/x.so run "$GPUBPF" run -q -o "$p" -- sh -c 'echo $LD_PRELOAD; echo $OPENCL_LAYERS'
prints '^libm.so.6:.*agent.so$' "LD_PRELOAD keeps what was there"; prints 'agent.so:/x.so' "so does OPENCL_LAYERS"
mkdir -m 755 "$T/open"; mkdir -m 755 "$T/open/gpubpf"
XDG_RUNTIME_DIR=$T/open run "$GPUBPF" run -o "$p" -- true; is 125 "a runtime folder that others may read"; says '0700' "is refused"
cp "$GPUBPF" "$T/alone"; run "$T/alone" run -o "$p" -- true
if [ "$rc" = 0 ]; then skip "without the agent" "an installed one was found"; else
	is 125 "without the agent"; says 'agent' "one line names it"; fi
run "$GPUBPF" run -o "$p" --report "$T/r" -- sh -c 'exit 5'; is 5 "--report"; [ ! -s "$T/out" ] && grep -q '^dropped: 0' "$T/r"; ok $? "holds the report"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- true
for m in schema kernels maps events dropped cost; do grep -q "\"$m\":" "$T/r"; ok $? "JSON has $m"; done
if command -v python3 > /dev/null; then python3 -m json.tool "$T/r" > /dev/null; ok $? "and is JSON"; fi

# -j prints one valid JSON document in every case
here=$(dirname "$0")
valid() { "$here/schema.py" "$here/../../cli/report.schema.json" "$T/r" > "$T/why" 2>&1; rc=$?; [ $rc = 0 ] || sed 's/^/# /' "$T/why"; ok $rc "$1: as the schema says"; }
json() { python3 -c "import json; r=json.load(open('$T/r')); print($1)" 2>&1; }
value() { [ "$(json "($2)")" = "$3" ]; ok $? "$1: $(json "($2)")"; }
valid "a run without kernels"
"$GPUBPF" run -o "$p" -j -- sh -c '[ -e /proc/$$/fd/1 ]; exit $((8 + $?))' 2> "$T/err" >&-; rc=$?; is 9 "standard output closed: it is for the program too"
says 'standard output: the report could not be written: Bad file descriptor' "and a document is told as lost"; sed '1,/; it follows/d' "$T/err" > "$T/r"; valid "with what it was"
run "$GPUBPF" run -o "$p" -q -- true; is 0 "-q"; says '^dropped: 0' "leaves the report"; ! grep -q '^gpubpf: ' "$T/err"; ok $? "without remarks"
run "$GPUBPF" run -o "$p" -j -- sh -c 'echo from the program; exit 3'; is 3 "-j alone"
[ "$(head -1 "$T/out")" = "from the program" ] && sed 1d "$T/out" > "$T/r"; valid "behind the program's own output the document"
value "of the run" "r['schema'], r['exit_status'], r['signal'], r['command'][0], len(r['objects'][0]['sha256']), r['start'] <= r['end']" "(1, 3, None, 'sh', 64, True)"
value "remarks are notes" "['warning: ' in r['notes'][0], 'never used a GPU runtime' in r['notes'][1]]" "[True, True]"
[ "$(grep -c '^gpubpf: ' "$T/err")" = 2 ]; ok $? "and on standard error"
value "nothing was matched" "[p['matched'] for p in r['programs']]" "[False, False]"
run "$GPUBPF" run -o "$p" -j -r - -- sh -c 'kill -TERM $$'; is 143 "-r -"; cp "$T/out" "$T/r"; valid "-r - is standard output"
value "of a signal" "r['exit_status'], r['signal']" "(None, 15)"
run "$GPUBPF" run -o "$OBJ/bad.bpf.o" -j --report "$T/r" -- touch "$T/started"; is 125 "a refusal"; valid "a refusal"
value "with its rule, place and remedy" "[(e['rule'], 'bad.bpf.c:13' in e['place'], e['remedy'] != '') for e in r['errors']]" "[('NULL_DEREF', True, True)]"
run "$GPUBPF" run -e 'gpu/entry/k { @ = foo(); }' -j --report "$T/r" -- touch "$T/started"; is 125 "a one-liner that is none"; valid "it too"
value "points into the text" "[(e['rule'], e['place'], 'gpubpf-lang(7)' in e['remedy']) for e in r['errors']]" "[('LANGUAGE', '-e:1:19', True)]"
run "$GPUBPF" run -o "$T/none.o" -j --report "$T/r" -- true; is 125 "an object that is not there"; valid "it too"
value "says so" "'none.o' in r['errors'][0]['what'] + r['errors'][0]['place']" True
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$T/nothing"; is 127 "a program that is not there"; valid "it too"
value "says so" "r['exit_status'], 'nothing' in r['errors'][0]['what']" "(127, True)"
run "$GPUBPF" run -o "$p" -q -j --report "$T/r" -- true; valid "-q silences remarks"; [ ! -s "$T/err" ]; ok $? "on standard error"
value "not in the document" "len(r['notes'])" 2
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$(printf 'no\377\302\205\342\200\256name')"; valid "bytes that are no UTF-8, and controls"
LC_ALL=C grep -q "$(printf '[\200-\237\377]')" "$T/r"; [ $? = 1 ]; ok $? "are escaped"
value "not lost" "r['command'][0] == 'no\\\\xff\\u0085\\u202ename'" True
LC_ALL=C grep -q "$(printf '[\200-\237\377]')" "$T/err"; [ $? = 1 ]; ok $? "nor do they come to the terminal"
run prlimit --nofile=12:12 "$GPUBPF" run -o "$p" -- true; is 125 "12 descriptors"
says 'true: cannot be run: Too many open files; raise the limit' "say so"
run prlimit --nofile=9:9 "$GPUBPF" run -o "$p" -- true; is 125 "9 descriptors"
says 'Too many open files' "say so"; says 'try: raise the limit on open files' "and what to do"
run prlimit --nofile=9:100 "$GPUBPF" run -o "$p" -- sh -c 'ulimit -Sn'; is 0 "a soft limit of 9"; prints '^9$' "is the program's alone"
# a complete report replaces -r FILE; otherwise FILE does not change
echo before > "$T/r"; run "$GPUBPF" run -o "$OBJ/bad.bpf.o" --report "$T/r" -- true
[ "$(cat "$T/r")" = before ]; ok $? "a refusal in text leaves the file as it was"
hold -o "$p" --report "$T/r"; kill -KILL $tool; wait $tool 2> /dev/null; let_go
[ "$(cat "$T/r")" = before ]; ok $? "so does a tool that is killed"; rm -f "$T"/r.??????
cp "$p" "$T/own.o"; run "$GPUBPF" run -o "$T/own.o" --report "$T/own.o" -- true; is 2 "the object as the report's file"
cmp -s "$p" "$T/own.o"; ok $? "which stays as it was"; says 'own.o: this is the --object file' "and is named"
run "$GPUBPF" run -o "$p" -j --report /dev/full -- true; is 125 "a full disk"
says '/dev/full: .*No space left on device; it follows' "is told"; grep -v "^gpubpf: " "$T/err" > "$T/r"; valid "and the report is on standard error"

run "$GPUBPF" run -o "$p" --duration 0.3 -- sh -c 'until grep -q "continues unprobed" "$0"; do sleep 0.1; done; echo done; exit 6' "$T/err"
is 6 "--duration: the program's status"; prints '^done$' "it goes on"; says 'continues unprobed' "as it is told"
# a shell starts background jobs with SIGINT ignored, so env resets the signal
env --default-signal=INT "$GPUBPF" run -o "$p" -- sh -c 'trap "echo got; exit 9" INT; > "$0"; for _ in $(seq 3000); do sleep 0.1; done' "$T/traps" > "$T/out" 2> "$T/err" &
tool=$!; until_true [ -e "$T/traps" ]; kill -INT $tool; wait $tool; rc=$?
is 9 "Ctrl-C reaches the program"; prints '^got$' "which ends as it likes"; says '^dropped: ' "and the report comes"
# as timeout(1), which sends its signal to the tool, and then to the group of the tool and the program; on a busy machine the
# second signal can come too late, as the user's second signal, so try again
interrupt_twice() {
	rm -f "$T/traps"
	env --default-signal=INT "$GPUBPF" run -o "$p" -- sh -c 'trap "sleep 0.6; echo slow; exit 9" INT; > "$0"; for _ in $(seq 3000); do sleep 0.1; done' "$T/traps" > "$T/out" 2> "$T/err" &
	tool=$!; until_true [ -e "$T/traps" ]; kill -INT $tool; sleep 0.1; kill -INT $tool; wait $tool; rc=$?
	[ $rc = 9 ]
}
for _ in $(seq 20); do interrupt_twice && break; done
is 9 "a process sends the signal twice, and the tool waits for the program"; prints '^slow$' "which ends as it likes"
"$GPUBPF" run -o "$p" -- sh -c 'trap "" TERM; > '"$T/ready"'; until [ -e '"$T/reported"' ]; do sleep 0.1; done; echo survived' > "$T/out" 2> "$T/err" &
tool=$!; until_true [ -e "$T/ready" ]; kill -TERM $tool
until_true grep -q '^dropped: ' "$T/err"; ok $? "a program that ignores the signal: the report comes all the same"; > "$T/reported"
wait $tool; rc=$?; is 0 "and its status counts"; prints survived "when it ends"
hold -o "$p"; kill -KILL $tool; wait $tool 2> /dev/null; let_go
until_true [ -s "$T/go" ]; ok $? "the tool killed with -9: the program goes on"
ls "$T/run/gpubpf/" | grep -q "^$tool-"; ok $? "and its socket stays"
run "$GPUBPF" run -o "$p" -- true; ls "$T/run/gpubpf/" | grep -q "^$tool-"; [ $? = 1 ]; ok $? "until the next tool starts"
run "$GPUBPF" map show; is 1 "the dead session is not found"
python3 -c "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1]); s.listen(); open(sys.argv[2], 'w'); s.accept()[0].close()" "$T/ends" "$T/listens" &
until_true [ -e "$T/listens" ]; run "$GPUBPF" map show --session "$T/ends"; is 1 "a session that ends"; says 'ends: the session ended before it answered$' "says so"
hold -o "$p"; run "$GPUBPF" map dump -j counts; is 0 "map dump of a running session"; prints '"name": "counts"' "holds the map"
run "$GPUBPF" map show; prints '^records (RINGBUF' "map show"
run "$GPUBPF" map dump nope; is 1 "a map that it does not have"; says 'no map nope' "is named"
run "$GPUBPF" session report; prints '^dropped: ' "session report"
let_go; wait
# the user pushes values into maps of a running session, and pops them
hold -o "$OBJ/queue.bpf.o"; run "$GPUBPF" map peek jobs; is 1 "peek at an empty queue"; says 'map jobs is empty' "says so"
run "$GPUBPF" map push jobs value 1 0 0 0 0xff 0 0 0; is 0 "push"
run "$GPUBPF" map enqueue jobs value hex 02 0 0 0 10 0 0 0; is 0 "enqueue, in base 16"
run "$GPUBPF" map peek jobs; is 0 "peek"; prints '^value: { .number = 1, .times = 255 }$' "at the oldest, by its type"
run "$GPUBPF" map dequeue jobs -j; is 0 "dequeue"; prints '"times": 255' "the oldest, in JSON"
run "$GPUBPF" map pop jobs; is 0 "pop"; prints '^value: { .number = 2, .times = 16 }$' "the next"
run "$GPUBPF" map pop jobs; is 1 "pop of an empty queue"; says 'map jobs is empty' "says so"; one_line "it"
"$GPUBPF" map dump > /dev/full 2> "$T/err"; rc=$?; is 1 "an answer to a full disk"; says 'the answer could not be written: No space left' "is told, with the reason"
for i in 1 2 3; do "$GPUBPF" map push results value $i 0 0 0 0 0 0 0; done
run "$GPUBPF" map pop results; prints '^value: 3$' "a stack gives the newest"
run "$GPUBPF" map dump results; [ "$(tr -d ' \n' < "$T/out")" = 'results(STACK,roomfor8)VALUE12' ]; ok $? "the dump has the oldest first"
for i in 1 2 3 4; do run "$GPUBPF" map push jobs value $i 0 0 0 0 0 0 0; done; is 1 "push to a full queue"
says 'map jobs is full' "says so"; run "$GPUBPF" map dump -j jobs; [ "$(grep -c '"times"' "$T/out")" = 3 ]; ok $? "and has three"
prints '"dropped": 1' "and counts one that was refused"
run "$GPUBPF" map push jobs value 1 2 3; is 1 "half a value"; says 'map jobs: push: value: it has 8 bytes or 2 members, not 3' "is refused"
run "$GPUBPF" map push jobs value hex; is 1 "no bytes"; says 'it has 8 bytes, not 0' "are refused"
run "$GPUBPF" map push jobs value 1 0 0 0 256 0 0 0; is 1 "a number that is no byte"; says '256 is not a byte' "is named"
run "$GPUBPF" map push jobs 1; is 2 "no value"; says 'gpubpf map push NAME value DATA' "shows how"
run "$GPUBPF" map pop counts; is 1 "pop of an array"; says 'map counts, of type ARRAY, does not support pop' "is refused"
run "$GPUBPF" map peek nope; is 1 "peek at no map"; says 'no map nope' "is named"
run "$GPUBPF" map pop; is 2 "pop of nothing"
# elements by key
run "$GPUBPF" map update counts key 0 value 18446744073709551615; is 0 "an element is set"
run "$GPUBPF" map lookup counts key 0 0 0 0; prints '^key: 0  value: 18446744073709551615$' "and looked up, by bytes"
run "$GPUBPF" map lookup counts key 0 -j; [ "$(tr -d ' \n' < "$T/out")" = '{"key":0,"value":18446744073709551615}' ]; ok $? "in JSON"
run "$GPUBPF" map lookup counts key 0 -j --json-strings; [ "$(tr -d ' \n' < "$T/out")" = '{"key":0,"value":"18446744073709551615"}' ]
ok $? "beyond 2^53 as a string with --json-strings"
run "$GPUBPF" map update counts key 0 value 18446744073709551616; is 1 "a number that is too large"
says 'map counts: update: value: 18446744073709551616 does not fit into unsigned 64 bits' "is named"; one_line "it"
run "$GPUBPF" map update counts key 1 value 1; is 1 "an index behind the end"; says 'map counts has no element of that index' "is told"
run "$GPUBPF" map delete counts key 0; is 1 "an element of an array is not deleted"; says 'cannot be deleted' "says so"
run "$GPUBPF" map lookup paid key .number=1 .times=2; is 1 "a key that is not there"; says 'map paid has no such key' "says so"
run "$GPUBPF" map update paid key .times=2 .number=1 value 7 exist; is 1 "is not set where it must be"
run "$GPUBPF" map update paid key .times=2 .number=1 value 7 noexist; is 0 "a key by its members"
run "$GPUBPF" map update paid key .times=2 .number=1 value 7 noexist; is 1 "once"; says 'map paid has that key' "says so"
run "$GPUBPF" map lookup paid key hex 1 0 0 0 2 0 0 0; prints '^key: { .number = 1, .times = 2 }  value: 7$' "the same by its bytes"
run "$GPUBPF" map getnext paid; prints '^next key: { .number = 1, .times = 2 }$' "the first key"
run "$GPUBPF" map getnext paid key .number=1 .times=2; is 1 "behind which there is none"
"$GPUBPF" map watch paid -i 0.05 -j > "$T/watched" 2>&1 & watch=$!
until_true grep -q '"value":7}' "$T/watched"; ok $? "watch has what is there"
"$GPUBPF" map update paid key .number=3 value 9; until_true grep -q '"value":9}' "$T/watched"; ok $? "what comes"
"$GPUBPF" map delete paid key .number=1 .times=2; until_true grep -q '{"key":{"number":1,"times":2},"value":null}' "$T/watched"
ok $? "and what goes"; "$GPUBPF" map update paid key .number=4 value 20; until_true grep -q '"value":20}' "$T/watched"
run "$GPUBPF" map top paid -n 1; [ "$(awk 'NR > 1 && NF { printf $NF " " }' "$T/out")" = '20 9 ' ]; ok $? "top has the largest first"
prints '^  KEY  *VALUE$' "in the columns of dump"
run "$GPUBPF" map top nope; is 1 "of a map that is there"; says 'no map nope' "which is named"
run "$GPUBPF" map lookup paid; is 2 "no key"; says 'gpubpf map lookup NAME key DATA' "shows how"
run "$GPUBPF" map lookup jobs key 1; is 1 "a queue has no keys"; says 'map jobs, of type QUEUE, does not support lookup' "says so"
run "$GPUBPF" map update paid key .number=5 value 1; is 1 "a full one"; says 'map paid is full' "says so"
let_go; wait $tool; wait $watch; ok $? "watch ends with the session"; [ "$(wc -l < "$T/watched")" = 4 ]; ok $? "having told each change once"
wait
finish
