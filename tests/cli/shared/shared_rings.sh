#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shared_rings.sh GPUBPF OBJECTS LOOP: ring buffers and perf event arrays into which programs of the Linux kernel and of
# the GPU write: readers get one stream, in order of time. Only root may load programs into the Linux kernel.
. "$(dirname "$0")/../lib.sh"
o=$OBJ/shared_rings.bpf.o
json() { python3 -c "
import json
events = json.load(open('$T/r'))['events']
of = lambda m, gpu=None: [e for e in events if e['map'] == m and gpu in (None, e['value']['of_gpu'])]
numbers = lambda m, gpu: [e['value']['number'] for e in of(m, gpu)]
times = lambda m: [e['time_ns'] for e in of(m)]
turns = lambda m: sum(a['value']['of_gpu'] != b['value']['of_gpu'] for a, b in zip(of(m), of(m)[1:]))
print($1)" 2>&1; }
true_that() { got=$(json "$1"); [ "$got" = True ]; ok $? "$2${3:+: $(json "$3")}"; }

use_device pocl
cp "$LOOP" "$T/app"
"$GPUBPF" run -o "$o" -a on_pause="$T/app:host_pause" -- "$T/app" 1 0 > /dev/null 2> "$T/err" # fills the compile caches
if grep -q 'on_pause is not attached' "$T/err"; then skip "a uprobe" "$(grep -m 1 'not attached' "$T/err")"; finish; fi

launches=300
run "$GPUBPF" run -o "$o" -a on_pause="$T/app:host_pause" --events 10000 -j -r "$T/r" -- "$T/app" $launches 2; is 42 "a uprobe and programs in kernels"
for map in timed untimed perf; do
	# the Linux kernel has a perf buffer per CPU, without time stamps: the order is lost if the application moves to
	# another CPU
	true_that "[(sorted if '$map' == 'perf' and not gpu else list)(numbers('$map', gpu)) for gpu in (0, 1)] == 2 * [list(range($launches))]" "$map: all records of both, each side's in order"
	true_that "times('$map') == sorted(times('$map'))" "in the order of their times"
	true_that "{e['backend'] for e in of('$map', 0)} == {'linux'} and 'linux' not in {e['backend'] for e in of('$map', 1)}" "and whose they are"
done
true_that "all(e['time_ns'] == e['value']['time'] for e in of('timed'))" "a record that tells its time has that"
true_that "all(e['time_ns'] == e['value']['time'] for e in of('perf', 1)) and {e['size'] for e in of('perf', 0)} == {12}" "so have perf events, without the kernel's padding"
true_that "turns('timed') > $launches" "sides take turns" "turns('timed')"
[ ! -s "$T/err" ]; ok $? "nothing is said"

# during the run
LOOP_UNTIL=$T/end "$GPUBPF" run -o "$o" -a on_pause="$T/app:host_pause" --events jsonl "$T/stream" -r /dev/null -- "$T/app" 0 5 > /dev/null 2>&1 & tool=$!
[ $failed = 0 ] && until_true grep -q '"of_gpu": *0.*"backend": *"linux"' "$T/stream"; ok $? "the kernel's records come while it runs"
[ $failed = 0 ] && until_true grep -q '"of_gpu": *1' "$T/stream"; ok $? "and the GPU's"
> "$T/end"; wait $tool
finish
