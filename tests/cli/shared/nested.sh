#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nested.sh GPUBPF OBJECTS LOOP: maps of maps whose inner maps the user changes while kernels run.
. "$(dirname "$0")/../lib.sh"
o=$OBJ/nested.bpf.o
for target in ptx clc; do
	run "$GPUBPF" prog dump --target $target "$OBJ/nested_either.bpf.o"; is 1 "$target: an element or another map, by the path"
	says 'gets an element of a map of maps on one path and another map on another' "is refused"
done
run "$GPUBPF" prog show "$o"; [ "$(grep -c ARRAY "$T/out")" = 4 ]; ok $? "prog show has the maps that the object names"
run "$GPUBPF" gen skeleton "$o"; is 0 "gen skeleton"; [ "$(grep -c 'struct gpubpf_map \*[a-z]*;' "$T/out")" = 4 ]; ok $? "has them too"

use_device pocl
grew() { "$GPUBPF" map lookup "$1" key 0 -j | grep -q '"value": *[1-9]' || ! kill -0 $tool; }
# waits until the counter in the map of this name is not 0; fails if the tool has ended
counts() { until_true grew "$1"; kill -0 $tool; }
LOOP_UNTIL="$T/end" "$GPUBPF" run -q -o "$o" -- "$LOOP" 1 1 > /dev/null 2> "$T/tool" & tool=$!
counts first; ok $? "counts go to the map that is there at first"
run "$GPUBPF" map lookup slots key 0; prints '^key: 0.*  value: first$' "an element is shown by its name"
run "$GPUBPF" map lookup slots key 1; is 1 "one that is none"; says 'map slots has no element of that index' "is told"
run "$GPUBPF" map dump slots; prints 'first' "map dump has it"; [ "$(grep -c inner "$T/out")" = 0 ]; ok $? "and what is nobody's not"
run "$GPUBPF" map show; [ "$(grep -c inner "$T/out")" = 0 ]; ok $? "nor has map show"
run "$GPUBPF" map dump -j slots; [ "$(tr -d ' \n' < "$T/out" | grep -c '"key":0,"value":"first"')" = 1 ]; ok $? "in JSON"
run "$GPUBPF" map update slots key 0 value second; is 0 "another is put there"; [ "$rc" = 0 ] || > "$T/end"
counts second; ok $? "while the kernel runs, and counts go to it"
run "$GPUBPF" map update slots key 0 value wide; is 1 "one that is not like it"; says 'map slots: update: that map differs from the definition of the elements' "is refused"
run "$GPUBPF" map update slots key 0 value nope; is 1 "none"; says 'a value must be the name of a map' "is named"
run "$GPUBPF" map update slots key 2 value first; is 1 "behind the end"
run "$GPUBPF" session attach -o "$OBJ/nested_more.bpf.o"; is 0 "an object joins"
run "$GPUBPF" map update slots key 0 value third; is 0 "its map is put there"; [ "$rc" = 0 ] || > "$T/end"
counts third; ok $? "and counts go to it, by twins that were made before it came"
run "$GPUBPF" map delete slots key 0; is 0 "an element is taken out"; run "$GPUBPF" map delete slots key 0; is 1 "once"
> "$T/end"; wait $tool; rc=$?; is 42 "the program is done"
finish
