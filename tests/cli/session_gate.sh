#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# session_gate.sh GPUBPF OBJECTS LOOP: gpubpf session set LINK changes which launches run the program of one link.
. "$(dirname "$0")/lib.sh"
use_device pocl
LOOP_UNTIL=$T/go; export LOOP_UNTIL
"$GPUBPF" run -o "$OBJ/probe.bpf.o" -j -r "$T/r" -- "$LOOP" 1 1 0 > /dev/null 2> "$T/tool" & tool=$!
until_true probing; ok $? "launches are probed"
# counts: launches, probed launches, those that where= and armed= excluded, and the launches of the programs enter and leave
counts() { timeout 60 "$GPUBPF" session report -j > "$T/report"; timeout 60 "$GPUBPF" session links -j > "$T/links"; python3 -c "
import json
k = [k for k in json.load(open('$T/report'))['kernels'] if k['name'] == 'step_one'][0]
n = {l['program']: l['launches'] for l in json.load(open('$T/links'))['links']}
print(k['launches'], k['probed'], k['missed_by'].get('filtered', 0), k['missed_by'].get('unarmed', 0), n['enter'], n['leave'])"; }
# pass LAUNCHES: waits for as many launches
pass() {
	begin=$(counts)
	until now=$(counts); [ $((${now%% *} - ${begin%% *})) -ge "$1" ]; do sleep 0.05; done
}
# after LAUNCHES: waits for as many launches, and sets l, p, f, u, e and x to the differences of the counts
after() {
	pass 2; pass "$1" # a launch that began before the last command has ended
	set -- $begin $now
	l=$(($7 - $1)) p=$(($8 - $2)) f=$(($9 - $3)) u=$((${10} - $4)) e=$((${11} - $5)) x=$((${12} - $6))
}
# near A B: the counts, which were read while launches ran, are equal
near() { [ $(($1 - $2)) -le 2 ] && [ $(($2 - $1)) -le 2 ]; }
set_link() { run "$GPUBPF" session set "$@"; is 0 "set $*"; }
only_leave() { after 2; [ "$x" -gt 0 ] && [ "$e" = 0 ]; }

set_link enter leave; prints '^0 enter: sample=1 first=0 every=0ns armed=always where=..$' "the values of a link"
prints '^1 leave: sample=1 first=0 every=0ns armed=always where=..$' "and of another"
set_link enter 'where=threads > 1024'; prints "^0 enter: .* where='threads > 1024'\$" "the condition is printed"
until_true only_leave; ok $? "a false condition excludes only its link"
set_link enter where= sample=10; after 100; near $e $((x / 10)); ok $? "enter runs in one of ten launches: $e of $x"
old=$(counts); set_link 0 sample=1 first=7; after 30; set -- $old $now; e=$((${11} - $5))
[ "$e" -ge 7 ] && [ "$e" -lt $((${12} - $6)) ]; ok $? "the first launches of one link: $e of $((${12} - $6))"
set_link enter first=0 every=3600s; after 20; [ "$e" -le 1 ] && [ "$x" -gt 1 ]; ok $? "every of one link: $e of $x"
set_link enter every=0; after 20; near "$e" "$x"; ok $? "both run again: $e and $x"
for where in 'threads == 1024 && block.x == 64 && kernel == "step_*"' 'grid < 16 || grid.x >= 16' \
	'kernel != other && arg0 != 0 && pid > 1 && tid != 0 && launch > 0' ''; do
	set_link "where=$where"; after 5; near "$p" "$l"; ok $? "a true condition, '$where': $p of $l"
done
for where in 'threads != 1024 || block.y > 1 || grid <= 15' 'kernel == step_two || arg0 == 0 || launch < 1' 'arg7 > 0' 'threads == 1024 && block < 64'; do
	set_link "where=$where"; after 5; near "$f" "$l" && [ "$e$x" = 00 ]; ok $? "a false condition, '$where': $f of $l"
done
grep -q "because the opencl runtime does not report arg7" "$T/tool"; ok $? "a note names the argument that does not exist"
set_link where= armed=0; after 10; near "$u" "$l" && [ "$e$x" = 00 ]; ok $? "launches that are not armed: $u of $l"
old=$(counts); set_link armed=3; after 10; set -- $old $now
[ "$((${11} - $5)) $((${12} - $6))" = "3 3" ]; ok $? "the next 3 launches: $((${11} - $5)) and $((${12} - $6))"
set_link enter -j
python3 -c "import json; assert json.load(open('$T/out')) == {'links': [{'sample': 1, 'first': 0, 'every_ns': 0, 'id': 0, 'program': 'enter', 'armed': 0, 'where': ''}]}"
ok $? "in JSON"
set_link armed=always; after 10; near "$e" "$x" && near "$p" "$l"; ok $? "armed for all launches: $e and $x, $p of $l"
# refused WORDS TEXT: the command fails with the text and changes nothing
refused() { run "$GPUBPF" session set sample=2 enter "$1"; is 1 "set enter $1"; says "$2" "is refused: $2"; }
refused 'where=duration > 100ms' 'let a program of gpu/exit/ compare it and arm this link'
refused 'where=size > 1' 'must be a field: kernel, threads, block'
refused 'where=threads > 1k' 'the number must have no unit'
refused 'where=threads > ' 'must be a number'
refused 'where=threads ~ 1' 'must be ==, !='
refused 'where=threads.w > 1' 'must be .x, .y or .z'
refused 'where=kernel > a' 'a name needs == or !='
refused 'where=kernel == "a' 'a name or glob of 1 to 103'
refused 'where=arg > 1' 'must be the number of an argument'
refused 'where=pid > 1 & pid > 2' 'must be && or ||'
refused "where=$(seq -s ' && ' -f 'pid > %g' 9)" 'at most 8 comparisons'
refused armed=soon 'armed=N or armed=always'
refused lave "no attached program has the number or name 'lave', so nothing was changed"
set_link enter; prints '^0 enter: sample=1 first=0 every=0ns armed=always where=..$' "and nothing changed"
> "$T/go"; wait $tool
[ "$(python3 -c "import json; r = json.load(open('$T/r')); print(r['cost']['twins'] + r['cost']['cached'])")" = 2 ]; ok $? "two twins were built"
finish
