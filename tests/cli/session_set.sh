#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# session_set.sh GPUBPF OBJECTS LOOP: gpubpf session set changes which launches of a running application are probed.
. "$(dirname "$0")/lib.sh"
use_device pocl
LOOP_UNTIL=$T/go; export LOOP_UNTIL
"$GPUBPF" run -o "$OBJ/probe.bpf.o" -j -r "$T/r" -- "$LOOP" 1 1 0 > /dev/null 2> "$T/tool" & tool=$!
until_true probing; ok $? "launches are probed"
# counts: launches, probed launches, and launches that sample and first excluded
counts() { timeout 60 "$GPUBPF" session report -j | python3 -c "
import json, sys
k = [k for k in json.load(sys.stdin)['kernels'] if k['name'] == 'step_one'][0]
print(k['launches'], k['probed'], k['missed_by'].get('sampled', 0), k['missed_by'].get('beyond_first', 0))"; }
# after LAUNCHES: waits for as many launches, and sets l, p, s and f to the differences of the counts
after() {
	begin=$(counts)
	until now=$(counts); [ $((${now%% *} - ${begin%% *})) -ge "$1" ]; do sleep 0.1; done
	set -- $begin $now
	l=$(($5 - $1)) p=$(($6 - $2)) s=$(($7 - $3)) f=$(($8 - $4))
}
set_rate() { run "$GPUBPF" session set "$@"; is 0 "set $*"; }
set_rate; prints '^sample=1 first=0 every=0ns$' "every launch is probed at first"
set_rate sample=10; prints '^sample=10 first=0 every=0ns$' "the new values are printed"
after 200; [ $((10 * p)) -ge $((l - 20)) ] && [ $((10 * p)) -le $((l + 20)) ]; ok $? "one in ten of $l launches: $p"
[ $((p + s)) -ge $((l - 1)) ]; ok $? "the others are sampled: $s"
old=$(counts); set_rate sample=1 first=5
after 100; set -- $old $(counts); [ "$f" -ge 90 ]; ok $? "the others are beyond the first: $f of $l"
[ $(($6 - $2)) -ge 5 ] && [ $(($6 - $2)) -le $((5 + ($5 - $1) / 10)) ]; ok $? "the first 5, and those before the command: $(($6 - $2))"
old=$(counts); set_rate first=5; after 100; set -- $old $(counts)
[ $(($6 - $2)) = 5 ]; ok $? "first counts anew: $(($6 - $2)) of $(($5 - $1))"
set_rate first=0 every=3600s; after 20; set_rate every=50ms; after 50; [ "$p" -ge 1 ]; ok $? "a shorter time holds at once: $p"
from=$(date +%s%N); set_rate first=0 every=50ms; after 200; to=$(date +%s%N)
[ "$p" -ge 1 ] && [ "$p" -le $(((to - from) / 50000000 + 1)) ]; ok $? "at most one launch in 50 ms: $p in $(((to - from) / 1000000)) ms"
set_rate every=0 -j; python3 -c "import json; assert json.load(open('$T/out')) == {'sample': 1, 'first': 0, 'every_ns': 0}"; ok $? "in JSON"
after 50; [ "$p" = "$l" ]; ok $? "every launch again: $p of $l"
for word in sample=0 sample= sample=x first=-1 first=1x every=10 every=3601s every=1h sample=99999999999999999999; do
	run "$GPUBPF" session set first=1 "$word"; is 1 "set $word"; says "$word: must be sample=N" "is refused"
done
for word in speed=1 3; do
	run "$GPUBPF" session set first=1 "$word"; is 1 "set $word"; says "no attached program has the number or name '$word'" "is refused"
done
set_rate; prints '^sample=1 first=0 every=0ns$' "and changes nothing"
> "$T/go"; wait $tool
[ "$(python3 -c "import json; r = json.load(open('$T/r')); print(r['cost']['twins'] + r['cost']['cached'])")" = 1 ]; ok $? "one twin was built"
finish
