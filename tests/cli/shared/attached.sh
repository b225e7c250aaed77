#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# attached.sh GPUBPF OBJECTS LOOP: attaches texts, ready probes and objects in a running session, and detaches programs by
# name. Also tests what map show prints.
. "$(dirname "$0")/../lib.sh"
use_device pocl
asks() { what=$1; shift; run "$GPUBPF" "$@"; is 0 "$what"; }
# fails WHY WHAT ARG...: gpubpf ARG... must exit with 1 and print a line that contains WHY
fails() { why=$1 what=$2; shift 2; run "$GPUBPF" "$@"; is 1 "$what"; says "$why" "says so"; }
# has N NAME: the printed list has N programs
has() { [ "$(grep -c '^ *[0-9]' "$T/out")" = "$1" ]; ok $? "$2 ($1 links)"; }

LOOP_UNTIL=$T/until "$GPUBPF" run -o "$OBJ/elements.bpf.o" -- "$LOOP" 1 20 > /dev/null 2>&1 & tool=$!
until_true timeout 60 "$GPUBPF" session report > /dev/null 2>&1

asks "a program text" session attach -e 'gpu/entry/step_one { @runs[kernel] = count(); }'; has 2 "is attached"
prints '  -e gpu entry step_one { @runs\[kernel\] = count(); }$' "and its text names the object"
counted() { "$GPUBPF" map lookup @runs key step_one | grep -q 'value: [1-9]'; }
until_true counted; ok $? "and runs"
printf 'gpu/exit/step_one { @exits = count(); }\n' > "$T/exits.bt"
asks "a script" session attach -o "$T/exits.bt"; has 3 "is attached"
asks "a ready probe" session attach --probe launches; has 4 "is attached"; prints 'count_launches .*launches.bpf.o$' "with its object"
asks "two ready probes" session attach --probe kerneltime,blocktime; prints kernel_begins "are attached"; prints blocktime.bpf.o "both"
fails '^gpubpf: -e: printf(), print() or another action of the host runs in the tool that starts the session' "an action of the host" \
	session attach -e 'gpu/entry/step_one { printf("here"); }'
fails '^gpubpf: -e: BEGIN runs in the tool' "a block of the host" session attach -e 'BEGIN { print(@a); } gpu/entry/step_one { @a = count(); }'
fails '^gpubpf: -e:1:1: nonsense is not a probe' "a text that is none" session attach -e 'nonsense'
run "$GPUBPF" session attach -o "$OBJ/probe.bpf.o" --probe launches enter; is 2 "a program of several objects"; says "several objects are passed" "says so"
run "$GPUBPF" session attach --probe no_such_probe; is 2 "a probe that is none"; says no_such_probe "says so"
run "$GPUBPF" session attach; is 2 "no program"; says '-o FILE, -e PROGRAM or --probe NAME$' "says what is possible"

fails "no attached program has the number or name 'nothing', so nothing was detached" "an unknown name" session detach count_launches nothing
asks "a program by its name" session detach count_launches; ! grep -q count_launches "$T/out"; ok $? "is detached"
fails "or name 'count_launches'" "it again" session detach count_launches
asks "programs by a glob, and by numbers" session detach 'kernel_*' 0 1; ! grep -q 'kernel_begins\|kernel_ends\|use_all' "$T/out"; ok $? "are detached"
asks "a program with its pattern" session detach '*=step_one'; ! grep -q step_one "$T/out"; ok $? "is detached"; prints blocktime.bpf.o "no other"
asks "all" session detach '*'; prints 'nothing is attached' "are detached"
run "$GPUBPF" session detach; is 2 "nothing to detach"

asks "two elements" map update hash key 1 value 1; asks "another" map update hash key 2 value 2; asks "one element" map update array key 3 value 1
asks "map show" map show
prints '^  key 4 bytes, value 8 bytes, 2 of 4 entries used$' "has the sizes and the number of elements"
prints '^  key 4 bytes, value 4 bytes, 1 of 4 entries not zero$' "of an array those that are not zero"
prints '^  no key, value 8 bytes, 0 of 4 entries used$' "of a queue too"
prints '^  no key, value 8 bytes, at most 4 entries$' "of a bloom filter none"
prints '^  no key, room for 4096 bytes of records$' "of a ring its bytes"
! grep -q '^used_once ' "$T/out"; ok $? "it has no scratch map"
asks "as JSON" map show -j; prints '"used_entries": 2' "has the number too"; ! grep -q used_once "$T/out"; ok $? "and no scratch map"
asks "a dump" map dump; ! grep -q used_once "$T/out"; ok $? "has no scratch map"
asks "a dump of the scratch map" map dump used_once; prints '^used_once (ARRAY' "has it, since it is named"
: > "$T/until"; wait $tool
finish
