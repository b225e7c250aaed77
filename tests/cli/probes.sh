#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# probes.sh GPUBPF OBJECTS LOOP: tests the ready-made probes: gpubpf lists and finds them, runs several at once, and
# their results are correct.
. "$(dirname "$0")/lib.sh"
all=$(dirname "$GPUBPF")/examples/probes
run "$GPUBPF" probes; is 0 "probes"; prints '^  kerneltime  how long each kernel runs' "each with what it shows"
[ "$(awk 'NR > 1 { print $1 ".bpf.o" }' "$T/out")" = "$(cd "$all" && ls | grep '\.bpf\.o$')" ]; ok $? "all of them"
[ "$(awk 'NF < 3' "$T/out" | wc -l)" = 1 ]; ok $? "none without"
run "$GPUBPF" probes -j; [ "$(python3 -c "import json; print(all(p['shows'] and open(p['object'], 'rb') for p in json.load(open('$T/out'))['probes']))")" = True ]
ok $? "probes -j"
run "$GPUBPF" run -p kerneltim -- true; is 2 "a name that is none"; says 'did you mean kerneltime?' "is told, with the nearest"
run "$GPUBPF" run -p launches, -- true; is 2 "an empty name"
run "$GPUBPF" prog verify "$all"/*.bpf.o; is 0 "all verify"
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
if ! have_device; then skip "with a device" "$device"; finish; fi
json() { python3 -c "
import json; r = json.load(open('$T/r')); m = {m['name']: {e['key']: e for e in m['entries']} for m in r['maps']}
print($1)" 2>&1; }
gives() { [ "$(json "$1")" = "$2" ]; ok $? "$3: $(json "$1")"; }
run "$GPUBPF" run -p kerneltime,launches -p blocktime,threads -j -r "$T/r" -- "$LOOP" 4 0; is 42 "four at once"
gives "m['launches']['step_one']['value']" "{'launches': 4, 'blocks': 64, 'threads': 4096}" "launches"
gives "m['kerneltime']['step_one']['value']['launches']['count'], m['blocktime']['step_one']['value']['blocks']['count'], m['blocktime']['step_one']['value']['untimed']" \
	'4 64 0' "all launches and blocks are timed"
gives "0 < m['blocktime']['step_one']['value']['blocks']['quantiles']['percentiles']['p50'] <= m['kerneltime']['step_one']['value']['launches']['sum']" True "with sense"
! grep -v 'the application waits while twins' "$T/err"; ok $? "nothing is warned of"
gives "[(d['launches'], d['probed'], d['pid'] > 1, d['program'].split('/')[-1]) for d in r['device_list']]" "[(4, 4, True, 'loop')]" "launches of the process"
run "$GPUBPF" run -p bytes -j -r "$T/r" -- "$LOOP" 4 0; is 42 "bytes"
gives "m['bytes']['step_one']['value']" "{'loaded': 16384, 'stored': 16384}" "bytes of all accesses"
run "$GPUBPF" run -q -o "$OBJ/ends.bpf.o" -j -r "$T/r" -- "$LOOP" 4 0; is 42 "where blocks end"
gives "m['ended'][0]['value'], m['left'][0]['value']" '64 256' "all threads of each have left then"
run "$GPUBPF" run -p args -j -r "$T/r" -- "$LOOP" 2 0; is 42 "args"; [ -z "$(cat "$T/err")" ]; ok $? "in silence"
json2() { python3 -c "import json; r = json.load(open('$T/r')); print($1)" 2>&1; }
calls="[(e['value']['launch'], e['value']['call']['kernel'], [(a['name'], a['type']) for a in e['value']['call']['args']]) for e in r['events']]"
arguments="[('v', '__global int *')]"
[ "$(json2 "$calls")" = "[(0, 'step_one', $arguments), (1, 'step_one', $arguments)]" ]; ok $? "a record for each launch, with the kernel's parameters: $(json2 "$calls")"
[ "$(json2 "{e['value']['call']['args'][0]['value'][:2] for e in r['events']}")" = "{'0x'}" ]; ok $? "and values"
run "$GPUBPF" run -p rows -j -r "$T/r" -- "$LOOP" 4 0; is 42 "rows"
gives "[(k, v['kernel'], v['launch'], v['blocks'], v['ended'], v['sms']) for k, v in ((k, e['value']) for k, e in m['rows'].items())]" \
	"[($(for i in 0 1 2 3; do echo "$i, 'step_one', $i, 16, 16, 0"; done | sed 's/$/), (/' | tr -d '\n' | sed 's/, ($//')]" "a row for each launch"
gives "{v['pid'] == r['device_list'][0]['pid'] for v in (e['value'] for e in m['rows'].values())}, any(e['value']['time'] for e in m['rows'].values())" \
	'{True} True' "with its process and time"
run "$GPUBPF" run -p rows -- "$LOOP" 4 0; says '^  KEY  KERNEL    LAUNCH  *PID  *BEGIN  *TIME  BLOCKS  ENDED  SMS$' "as a table"
[ "$(sed -n 's/^ *\([0-9][0-9]*\)  step_one  *\([0-9]*\)  .*/\1 \2/p' "$T/err" | tr '\n' ,)" = "0 0,1 1,2 2,3 3," ]; ok $? "in the order of ends"
run "$GPUBPF" kernel list --signatures -- "$LOOP" 1 0; says '^  step_one(__global int \*v)$' "kernel list --signatures"
run "$GPUBPF" kernel list --times --demangle -- "$LOOP" 4 0; is 42 "kernel list --times"; says '^  step_one  *4  *1024  *64  yes' "what was launched"
says '^  step_one         4 .*[0-9] [um]*s  100.0 %$' "and how long it ran"
run "$GPUBPF" kernel list --times -j -r "$T/r" -- "$LOOP" 4 0; gives "m['kerneltime']['step_one']['value']['launches']['count'], r['kernels'][0]['launches']" '4 4' "in JSON too"
python3 "$(dirname "$0")/schema.py" "$(dirname "$0")/../../cli/report.schema.json" "$T/r"; ok $? "by the schema"
run "$GPUBPF" kernel list --times --places -- true; is 2 "--times and --places"
run "$GPUBPF" run -p kerneltime,threads,launches -- "$LOOP" 4 0; is 42 "as text"
says '^  times of 4 launches are from the runtime' "kerneltime has the runtime's times, although other programs run"
says '^  KERNEL    LAUNCHES  *SUM  *MEAN  *P50  *P99  *SHARE$' "a table of times"
says '^  step_one         4 .*[0-9] [um]*s  100.0 %$' "with units, and shares"
says '^  KERNEL    LAUNCHES  BLOCKS  THREADS$' "a row's members are columns"; says '^  step_one         4      64     4096$' "and its values"
for p in balance occupancy; do
	run "$GPUBPF" run -p $p -j -r "$T/r" -- "$LOOP" 4 0; is 42 "$p where multiprocessors have no numbers"
	gives "r['kernels'][0]['probed'], r['kernels'][0]['missed_by'], 'reads the multiprocessor number' in r['kernels'][0]['reason'], \
'(capability SM_ID); use the block' in r['kernels'][0]['reason']" "0 {'refused': 4} True True" "$p is refused, with what, why and what to do instead"
done
run "$GPUBPF" -e 'gpu/exit/* { @[kernel, sm] = count(); }' -- "$LOOP" 4 0; is 42 "sm there"
says '4 of 4 launches were not probed: probe gpu.* reads the multiprocessor number' "sm is refused too"
grep -q '@\[' "$T/out" "$T/err"; [ $? = 1 ]; ok $? "and shows no figures"
grep -q '^running\|^launched' "$T/err"; [ $? = 1 ]; ok $? "what they have for themselves alone is left out"
run "$GPUBPF" run -p kerneltime -v -- "$LOOP" 4 0; is 42 "kerneltime alone"; says "^  step_one  *4  *4  *0  .*probed (by the runtime's times)$" "no twin is built for it"
says '^  step_one         4 .*[0-9] [um]*s  100.0 %$' "and each launch has a time"
run "$GPUBPF" run -p kerneltime -j -r "$T/r" -- "$LOOP" 16 0
[ "$(json2 "[(k['route'], k['launches'], k['probed']) for k in r['kernels']], [e['value']['launches']['count'] for m in r['maps'] if m['name'] == 'kerneltime' for e in m['entries']]")" = "[('runtime', 16, 16)] [16]" ]; ok $? "in JSON"
[ "$(json2 "[(d['launches'], d['probed'], d['program'].split('/')[-1]) for d in r['device_list']]")" = "[(16, 16, 'loop')]" ]; ok $? "the session lists the device, although no twin needs it"
run "$GPUBPF" run -p blocktime -- "$LOOP" 4 0; says 'unprobed launches is not known, because none was measured' "the factor against unprobed launches is not known without any"
factor="[(m['unprobed_factor'], m.get('unprobed_launches')) for m in r['maps'] if m['name'] == 'blocktime'][0]"
run "$GPUBPF" run -p blocktime -j -r "$T/r" -- "$LOOP" 16 0; [ "$(json2 "$factor")" = "(None, None)" ]; ok $? "in JSON: $(json2 "$factor")"
run "$GPUBPF" run -p blocktime --sample 2 -j -r "$T/r" -- "$LOOP" 16 0
[ "$(json2 "$factor[0] > 0.3 and 0 < $factor[1] <= 8 and r['kernels'][0]['probed'] == 8")" = True ]; ok $? "with unprobed launches it is: $(json2 "$factor")"
python3 "$(dirname "$0")/schema.py" "$(dirname "$0")/../../cli/report.schema.json" "$T/r"; ok $? "by the schema"
run "$GPUBPF" run -p blocktime -o "$OBJ/slowed.bpf.o" --sample 2 -j -r "$T/r" -- "$LOOP" 16 0
[ "$(json2 "$factor[0] > 10")" = True ]; ok $? "a program that delays each thread makes it larger: $(json2 "$factor")"
run "$GPUBPF" run -p blocktime -o "$OBJ/slowed.bpf.o" --sample 2 -- "$LOOP" 16 0
says 'probed launches take [0-9]*[0-9][0-9]\.[0-9]* times as long as unprobed ones ([1-8] measured)' "as text: $(grep 'probed launches' "$T/err")"
says 'warning: the programs cost more than 5 %' "and warns"
finish
