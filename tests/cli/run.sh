#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpubpf run: the program's output and status are its own, whatever happens. run.sh GPUBPF OBJECTS LOOP
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o

run "$GPUBPF" run -o "$p" -- sh -c 'echo out; echo err >&2; exit 7'
is 7 "the program's status"; [ "$(cat "$T/out")" = out ]; ok $? "the program's output"; says '^err$' "and errors"
says 'never used a GPU runtime' "a program without a GPU: one line says so"
run "$GPUBPF" run -o "$p" sh -c 'exit 3'; is 3 "-- may be left out"
run "$GPUBPF" run -o "$p" -- sh -c 'kill -TERM $$'; is 143 "death by SIGTERM is passed on"
run "$GPUBPF" run -o "$p" -- sh -c 'kill -SEGV $$'; is 139 "and by SIGSEGV"
run "$GPUBPF" run -o "$p" -- "$T/nothing"; is 127 "a program that is not there"; says 'nothing: cannot be run' "is named"
run env --ignore-signal=CHLD "$GPUBPF" run -o "$p" -- grep SigIgn /proc/self/status
is 0 "SIGCHLD ignored by who starts it"; prints '[13579bdf]....$' "is so for the program too"
(ulimit -Sn 50; run "$GPUBPF" run -o "$p" -- sh -c 'ulimit -Sn'; exit $rc); prints '^50$' "so is a limit on descriptors"
echo x > "$T/plain"; run "$GPUBPF" run -o "$p" -- "$T/plain"; is 126 "one that cannot be run"
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
for m in kernels maps events dropped cost; do grep -q "\"$m\":" "$T/r"; ok $? "JSON has $m"; done
if command -v python3 > /dev/null; then python3 -m json.tool "$T/r" > /dev/null; ok $? "and is JSON"; fi

run "$GPUBPF" run -o "$p" --duration 0.3 -- sh -c 'sleep 1; echo done; exit 6'
is 6 "--duration: the program's status"; prints '^done$' "it goes on"; says 'goes on unprobed' "as it is told"
# a shell's background jobs ignore SIGINT, unless somebody takes that back
env --default-signal=INT "$GPUBPF" run -o "$p" -- sh -c 'trap "echo got; exit 9" INT; sleep 5 & wait' > "$T/out" 2> "$T/err" &
tool=$!; sleep 0.7; kill -INT $tool; wait $tool; rc=$?
is 9 "Ctrl-C reaches the program"; prints '^got$' "which ends as it likes"; says '^dropped: ' "and the report comes"
"$GPUBPF" run -o "$p" -- sh -c 'trap "" TERM; sleep 4; echo survived' > "$T/out" 2> "$T/err" &
tool=$!; sleep 0.5; kill -TERM $tool; sleep 2.6
says '^dropped: ' "a program that ignores the signal: the report comes all the same"
wait $tool; rc=$?; is 0 "and its status counts"; prints survived "when it ends"
"$GPUBPF" run -o "$p" -- sh -c 'sleep 1; echo finished > '"$T/finished" > /dev/null 2>&1 &
tool=$!; sleep 0.4; kill -KILL $tool; wait $tool 2> /dev/null; sleep 1.2
[ -s "$T/finished" ]; ok $? "the tool killed with -9: the program goes on"
run "$GPUBPF" map show; is 1 "the dead session is not found"
"$GPUBPF" run -o "$p" -- sleep 2 > /dev/null 2>&1 &
sleep 0.7; run "$GPUBPF" map dump -j counts; is 0 "map dump of a running session"; prints '"name": "counts"' "holds the map"
run "$GPUBPF" map show; prints '^records (RINGBUF' "map show"
run "$GPUBPF" map dump nope; is 1 "a map that it does not have"; says 'no map nope' "is named"
run "$GPUBPF" session report; prints '^dropped: ' "session report"
wait
finish
