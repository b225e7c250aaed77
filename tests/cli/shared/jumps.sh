#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# jumps.sh GPUBPF OBJECTS LOOP: program arrays whose slots the user changes while kernels run.
. "$(dirname "$0")/../lib.sh"
o=$OBJ/jumps.bpf.o
run "$GPUBPF" prog show "$o"; prints '^ *left  *gpu/entry  *entry  *[0-9]*$' "a program of no kernel"
prints '^ *ways  *left  *1$' "prog show tells what others may go on in, and the slots"; prints '^ *ways  *right *$' "and what stands in none"
prints '^ *wide  *left  *0,1,2,.*,[0-9]*,\.\.\.$' "and that there are more than are shown"
run "$GPUBPF" prog show -j "$o"; tr -d ' \n' < "$T/out" | grep -q '"programs":\[{"name":"left","slots":\[1\]},{"name":"right","slots":\[\]}\]'; ok $? "in JSON"
run "$GPUBPF" prog dump "$o"; prints '^no_tail_call:' "prog dump has the programs as one"
for target in ptx clc llvm; do run "$GPUBPF" prog dump --target $target "$o"; is 0 "$target"; done
run "$GPUBPF" gen skeleton "$o"; is 0 "gen skeleton"
[ "$(grep -c 'gpubpf_program__attach(obj->progs' "$T/out")" = 1 ]; ok $? "attaches what has a kernel"

use_device pocl
grew() { "$GPUBPF" map lookup went key $1 -j | grep -q '"value": *[1-9]' || ! kill -0 $tool; }
# waits until the counter with this key is not 0; fails if the tool has ended
counts() { until_true grew $1; kill -0 $tool; }
LOOP_UNTIL="$T/end" "$GPUBPF" run -q -o "$o" -- "$LOOP" 1 1 > "$T/report" 2> "$T/tool" & tool=$!
counts 1; ok $? "lanes go on in the program that is there at first"
run "$GPUBPF" map lookup ways key 1; prints '^key: 1.*  value: left$' "a slot is shown by its name"
run "$GPUBPF" map dump ways; prints 'left' "map dump has it"
run "$GPUBPF" map dump -j ways; tr -d ' \n' < "$T/out" | grep -q '"key":1,"value":"left"'; ok $? "in JSON"
run "$GPUBPF" map update ways key 1 value right; is 0 "another is put there"; [ "$rc" = 0 ] || > "$T/end"
counts 2; ok $? "while the kernel runs, and lanes go on in it"
run "$GPUBPF" map delete ways key 1; is 0 "it is taken out"; [ "$rc" = 0 ] || > "$T/end"
counts 0; ok $? "and lanes go on where they are"
run "$GPUBPF" map lookup ways key 1; is 1 "nothing is there"; says 'map ways has no element of that index' "as is told"
run "$GPUBPF" map update ways key 0 value cross; is 1 "one that may not stand there"
says 'map ways: update: a value must be the name of a program: left, right' "and which may"
run "$GPUBPF" map update ways key 3 value left; is 1 "behind the end"
> "$T/end"; wait $tool; rc=$?; is 42 "the program is done"
finish
