#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arm.sh GPUBPF OBJECTS LOOP: a program runs only in the launches for which another program arms it.
. "$(dirname "$0")/lib.sh"
use_device pocl
run "$GPUBPF" run -o "$OBJ/arms_nothing.bpf.o" -- "$LOOP" 1 1 0; is 125 "a program that does not exist"
says "map arm_missing arms the program 'missing', which the object does not have" "is refused"
LOOP_UNTIL=$T/go LOOP_WAITS=1; export LOOP_UNTIL LOOP_WAITS
"$GPUBPF" run -o "$OBJ/arms.bpf.o" -j -r "$T/r" -- "$LOOP" 1 1 0 > /dev/null 2> "$T/tool" & tool=$!
# traced: the numbers of traced launches whose last digit is 0, 1, ... 9
traced() { timeout 60 "$GPUBPF" map dump traced -j > "$T/dump" && python3 -c "
import json
print(*[e['value'] for m in json.load(open('$T/dump'))['maps'] for e in m['entries']])"; }
armed_often() { set -- $(traced); [ "$9" -ge 3 ]; }
until_true armed_often; ok $? "a program arms another"
run "$GPUBPF" session set trace; prints '^1 trace: sample=1 first=0 every=0ns armed=[0-9]* where=' "the link waits for requests"
> "$T/go"; wait $tool
set -- $(python3 -c "
import json
r = json.load(open('$T/r'))
print(*[e['value'] for m in r['maps'] if m['name'] == 'traced' for e in m['entries']])")
[ "$1 $2 $3 $4 $7 $8 ${10}" = "0 0 0 0 0 0 0" ]; ok $? "it runs in no other launches: $*"
[ "$5" -ge 3 ] && [ $(($5 - $6)) -le 1 ] && [ "$6" -le "$5" ]; ok $? "it runs in the next two launches: $5 and $6"
[ "$9" -ge 3 ]; ok $? "it runs until it is disarmed: $9"
# the example, with a limit that each thread exceeds
rm -f "$T/go"
"$GPUBPF" run -o "$OBJ/overlimit.bpf.o" -j -r "$T/r" -- "$LOOP" 1 1 0 > /dev/null 2>&1 & tool=$!
traced() { timeout 60 "$GPUBPF" map dump traced -j > "$T/dump" && grep -q '"value": *[1-9]' "$T/dump"; }
until_true traced; ok $? "launches after a slow one are traced"
> "$T/go"; wait $tool
# an application of few launches: the first one waits for the twin without the program that waits for its request
run "$GPUBPF" run -o "$OBJ/overlimit.bpf.o" -j -r "$T/r" -- "$LOOP" 1 1; is 42 "few launches"
set -- $(python3 -c "
import json
for k in json.load(open('$T/r'))['kernels']: print(k['launches'], k['probed'], k['missed_by'].get('late', 0))")
[ "$1" -ge 1 ] && [ "$2 $3" = "$1 0" ]; ok $? "all launches are probed: $1, $2, late: $3"
finish
