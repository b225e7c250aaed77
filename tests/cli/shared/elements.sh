#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# elements.sh GPUBPF OBJECTS LOOP: map elements in a running session, for map types and value types that run.sh does not
# cover.
. "$(dirname "$0")/../lib.sh"
# fits WHAT NAME: standard output must equal WHAT, apart from blanks and line ends
fits() { [ "$(tr -d ' \n' < "$T/out")" = "$1" ]; ok $? "$2"; }
# asks WHAT ARG...: gpubpf map ARG... must succeed
asks() { what=$1; shift; run "$GPUBPF" map "$@"; is 0 "$what"; }
# fails WHY WHAT ARG...: gpubpf map ARG... must exit with 1 and print one line that contains WHY
fails() { why=$1 what=$2; shift 2; run "$GPUBPF" map "$@"; is 1 "$what"; says "$why" "says so"; one_line "it"; }
hold -o "$OBJ/elements.bpf.o"

# an updated value is stored, including zero
asks "a value of zero in a hash" update hash key 5 value 0
asks "its dump" dump hash; fits 'hash(HASH,roomfor4)KEYVALUE50' "has it"
asks "CSV" dump hash --csv; prints '^hash,,,,5,,0$' "has it"
asks "an array's zeros" dump array; fits 'array(ARRAY,roomfor4)(empty)' "are left out"
asks "zeros of all copies" update copies key 6 value 0
asks "their dump" dump copies; prints '^ *6  *0  *0  *0  *0  *0.0 ' "has them"
asks "zeros of all copies of a struct" update place_copies key 7 value .x=0
asks "their dump" dump place_copies; prints '^ *7  *0  { .x = 0, .y = 0 }$' "has one of them"
asks "others" update place_copies key 7 value .x=4; asks "their dump" dump place_copies; prints '{ .x = 4, .y = 0 }' "has those"

# bpftool's keyword `name` before a map's name
asks "a dump by name" dump name hash; fits 'hash(HASH,roomfor4)KEYVALUE50' "is the map's"
asks "a look-up by name" lookup name hash key 5; prints '^key: 5  value: 0$' "too"
fails 'there is no map name in the session' "the map that is called so" lookup name key 5
fails 'there is no map hashes in the session, did you mean hash?' "one that is called nearly so" lookup hashes key 5
fails 'did you mean elements.data?' "one by libbpf's word for it" dump .data

# a bloom filter has no entries, and must not break reports
asks "a dump of all maps" dump; prints '^seen (BLOOM_FILTER, room for 4)$' "has a bloom filter"; prints '^places (QUEUE' "and what comes behind it"
asks "CSV of all" dump --csv; prints '^elements.data,,,,threshold,*3,' "has what comes behind it"
asks "a report" show; asks "JSON of all" dump -j; prints '"name": "elements.data"' "has what comes behind it"
asks "push into a bloom filter" push seen value .x=-1 .y=5; asks "peek" peek seen value .x=-1 .y=5; prints '^value: { .x = -1, .y = 5 }$' "finds it"
fails 'map seen has no such value' "peek at another value" peek seen value .x=-2
fails 'a value is missing; gpubpf map peek seen value DATA' "peek at no value" peek seen
fails 'map seen, of type BLOOM_FILTER, has no entries: gpubpf map peek' "to watch it" watch seen -n 1
fails 'map ring, of type RINGBUF, has no entries: only the session reads' "to watch a ring" top ring -n 1

# values of queues are shown by their type, and maps without keys show no key
asks "push of a struct" push places value .x=-3 .y=4; asks "peek" peek places; prints '^value: { .x = -3, .y = 4 }$' "has it"
asks "watch" watch places -n 1; prints '^ *-3  *4$' "has no keys"; asks "top" top places -n 1; prints '^ *-3  *4$' "neither"
asks "top as JSON" top places -n 1 -j; fits '[{"key":null,"value":{"x":-3,"y":4}}]' "has it as JSON"
fails 'map places: push: value: 5: it is a struct; name its members' "push of a number" push places value 5
fails 'peek takes no value' "peek for a value" peek places value .x=1
asks "one as JSON has it" push places value '{"x":7,"y":-8}'; asks "pop" pop places; asks "pop" pop places -j; fits '{"value":{"x":7,"y":-8}}' "has it"
fails 'expected , or } before it' "one that does not end" push places value '{ .x = 5'
fails 'map places is empty' "another pop" pop places

# a negative number is a value and not an option
asks "a number below zero" update hash key 1 value -9; asks "look-up" lookup hash key 1; prints '^key: 1  value: -9$' "has it"
asks "a fraction" update array key 2 value -.5; asks "look-up" lookup array key 2; prints '^key: 2  value: -0.5$' "has it"
run "$GPUBPF" map lookup hash -x; is 2 "an option that is none"; says '^gpubpf: -x: map lookup has no such option' "is told"

# a key in each form in which it is printed, and in bpftool's
asks "a struct as a key" update accesses key .mode=WRITE .unit=north .at.x=-1 value READ
asks "a dump" dump accesses; printed=$(sed -n 's/^  *\({.*}\)  READ$/\1/p' "$T/out")
[ "$printed" = '{ .mode = WRITE, .unit = "north", .at = { .x = -1, .y = 0 } }' ]; ok $? "has it by its enumerators"
# keyed FORM WORD...: the words must find the key
keyed() { form=$1; shift; asks "a key $form" lookup accesses key "$@"; prints '{ .x = -1, .y = 0 } }  value: READ$' "is that key"; }
keyed "as text" "$printed"
keyed "as text that the shell has split" $printed
keyed "as JSON" '{"mode":"WRITE","unit":"north","at":{"x":-1,"y":0}}'
keyed "as JSON without quotes" '{mode: WRITE, unit: "north", at: {x: -1}}'
keyed "without names" '{ WRITE, "north", { -1, 0 } }'
keyed "one word per member" WRITE north '{-1,0}'
keyed "as bytes in base 16" hex 05 0 0 0 6e 6f 72 74 68 0 0 0 ff ff ff ff 0 0 0 0
keyed "as bytes in one word" '05 00 00 00 6e 6f 72 74 68 00 00 00 ff ff ff ff 00 00 00 00'
keyed "as bpftool's JSON" '["0x05","0x00","0x00","0x00","0x6e","0x6f","0x72","0x74","0x68",0,0,0,255,255,255,255,0,0,0,0]'
asks "getnext" getnext accesses; prints '^next key: { .mode = WRITE, .unit = "north"' "prints it"
asks "an update by text" update accesses key "$printed" value WRITE; keyed_value=$(timeout 60 "$GPUBPF" map lookup accesses key "$printed"); [ "${keyed_value##* }" = WRITE ]; ok $? "changes it"
asks "a deletion by text" delete accesses key $printed; asks "a dump" dump accesses; prints '(empty)' "has it no more"
fails 'accesses: lookup: key: DELETE is not an enumerator of its type' "an enumerator that is none" lookup accesses key '{mode: DELETE}'
fails 'its struct has more than 2 members' "too few members" lookup accesses key WRITE north
asks "bytes" update untyped key 1 2 0xff value 7; asks "a dump" dump untyped; prints '^  01 02 ff  *07$' "has them in base 16"
asks "a key as it is printed" lookup untyped key '01 02 ff'; prints '^key: 01 02 ff  value: 07$' "is that key"
asks "a key as JSON" lookup untyped key '[1,2,"0xff"]'; prints '^key: 01 02 ff  value: 07$' "is that key too"

# variables
asks "global data" lookup elements.data key 0
prints '^key: 0  value: { .threshold = 3, .at = { .x = 1, .y = 2 }, .limits = { 4, 5, 6 } }$' "by its variables"
asks "one of them" lookup elements.data key threshold; prints '^key: threshold  value: 3$' "by its name, as a dump has it"
asks "another as JSON" lookup elements.data key at -j; fits '{"key":"at","value":{"x":1,"y":2}}' "too"
asks "one by its name" update elements.data key threshold value 7; asks "it" lookup elements.data key threshold; prints 'value: 7$' "is another"
asks "a member" update elements.data key at value .y=5; asks "it" lookup elements.data key at; prints '{ .x = 1, .y = 5 }' "is another"
asks "all elements" update elements.data key limits value 4 5 6; asks "one" update elements.data key .limits value 1 2 3; asks "it" lookup elements.data key limits; prints '{ 1, 2, 3 }' "is those"
fails 'no element \[3\]' "too many" update elements.data key limits value 1 2 3 4
asks "as they were" update elements.data key limits value '{ 4, 5, 6 }'
fails 'map elements.data has no variable nothing' "one that is not there" lookup elements.data key nothing
asks "a variable" update elements.data key 0 value .threshold=9 '.limits[1]=50' .at.y=-2
asks "the others" lookup elements.data key 0 -j
fits '{"key":0,"value":{"threshold":9,"at":{"x":1,"y":-2},"limits":[4,50,6]}}' "stay what they are"
asks "them as they are printed" update elements.data key 0 value '{ .at = { .x = 8, .y = 9 }, .limits = { 1, 2 } }'
asks "the others" lookup elements.data key 0 -j; fits '{"key":0,"value":{"threshold":9,"at":{"x":8,"y":9},"limits":[1,2,6]}}' "stay too"
fails 'there is no variable nothing' "none" update elements.data key 0 value .nothing=1
fails 'is read-only' "a constant" update elements.rodata key 0 value .chosen=1
let_go; wait

# the report at the end of the run has all these elements
run "$GPUBPF" run -o "$OBJ/elements.bpf.o" -- true; is 0 "a run with all these maps"; says '^places (QUEUE' "has a whole report"
! grep -q 'could not be written' "$T/err"; ok $? "and no failure"; says '^dropped: 0' "to its end"
finish
