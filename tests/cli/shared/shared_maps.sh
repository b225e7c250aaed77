#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shared_maps.sh GPUBPF OBJECTS LOOP: maps of all types except arrays that programs of the Linux kernel and of the GPU
# share: each side has a copy, and the tool synchronises both. Only root may load programs into the Linux kernel.
. "$(dirname "$0")/../lib.sh"
o=$OBJ/shared_maps.bpf.o
# json EXPRESSION: evaluates a Python expression on the report r; v(NAME) is a map's elements
json() { python3 -c "
import json
r = json.load(open('$T/r'))
maps = {m['name']: m.get('entries', []) for m in r['maps']}
v = lambda n: {(e['key'] if not isinstance(e['key'], dict) else tuple(e['key'].values())): e['value'] for e in maps[n]}
print($1)" 2>&1; }
equal() { got=$(json "$1"); [ "$got" = "$2" ]; ok $? "$3: $got"; }

use_device pocl
cp "$LOOP" "$T/app"
# fills the compile caches
"$GPUBPF" run -o "$o" -a on_host="$T/app:host_step" -a on_pause="$T/app:host_pause" -- "$T/app" 1 0 > /dev/null 2> "$T/err"
if grep -q 'on_host is not attached' "$T/err"; then skip "a uprobe" "$(grep -m 1 'not attached' "$T/err")"; finish; fi

# sums: both sides add at the same time, the Linux kernel's programs 100 000 times; no addition is lost
steps=100000 launches=400
LOOP_STEPS=$steps run "$GPUBPF" run -o "$o" -a on_host="$T/app:host_step" -a on_pause="$T/app:host_pause" -j -r "$T/r" -- "$T/app" $launches 1; is 42 "a uprobe and programs in kernels"
total=$((steps + launches))
for map in sums halves recent cpu_hash cpu_recent cpu_array; do
	equal "v('$map')[0] == $total * 1000 + $launches * 1024 & (2**32 - 1 if '$map' == 'halves' else 2**64 - 1)" True "$map: what both add"
	equal "v('$map')[1]" $total "what the kernel's programs alone add"
	equal "{v('$map').get(k, $launches * 256) for k in range(2, 6)}" "{$((launches * 256))}" "what the GPU's add"
done
equal "v('prefixes')[8, 10]" $((total * 1000 + launches * 1024)) "prefixes: what both add"
equal "sorted(k for k in v('prefixes'))" "[(8, 10), (32, 10), (32, 266), (32, 522), (32, 778)]" "and no other"
equal "v('kernels_own')" "{0: $total}" "a map that the kernel's programs alone name"
equal "v('values')[0]" "{'of_kernel': $total, 'of_gpu': $launches}" "words of a value, each by who writes it"
equal "sorted(v('cpu_keys'))" "[$((99 + total))]" "and those of maps with a value a CPU"
equal "{e['copies'] - $(getconf _NPROCESSORS_CONF) for m in ('cpu_hash', 'cpu_recent', 'cpu_array') for e in maps[m]} == {$(python3 -c "
print(sum(int(r.split('-')[-1]) - int(r.split('-')[0]) + 1 for r in open('/sys/devices/system/cpu/possible').read().split(',')))")}" True "which have values of multiprocessors and of CPUs"
equal "sorted(v('values'))" "[0, $((99 + total))]" "keys that the kernel's programs put in and delete"
equal "(v('taken')[1], v('taken')[3])" "(0, 0)" "values of queues come in order"
equal "v('taken')[0] + len(maps['to_gpu'])" $launches "all that the kernel's programs put in come to the GPU's, or wait"
equal "0 < v('taken')[2] <= $launches" True "and the other way"
equal "[[e['value'] for e in maps['to_reader'] if (e['value'] >= 10**6) == gpu] == [n + gpu * 10**6 for n in range($launches)] for gpu in (0, 1)]" "[True, True]" "what both put in and nobody takes out is the reader's, in the order of each"
equal "sorted(e['value'] for e in maps['heap']) == list(range($launches))" True "so is what is in a stack"
says 'map both_take is not shared: .*: programs of both sides take values out' "a queue that both take from is not shared"
says 'map bloom is not shared: .*: pushed values cannot be read' "a bloom filter is not shared"; [ "$(grep -c 'not shared' "$T/err")" = 2 ]; ok $? "and all others are"
[ "$(grep -c . "$T/err")" -le 3 ]; ok $? "and nothing else is said"

# each side sees the other side's changes while both run
LOOP_UNTIL=$T/end "$GPUBPF" run -o "$o" -a on_host="$T/app:host_step" -a on_pause="$T/app:host_pause" -j -r "$T/r" -- "$T/app" 0 20 > /dev/null 2>&1 & tool=$!
until_true sh -c "'$GPUBPF' map lookup seen key 0 | grep -q 'value: [1-9]'"; ok $? "the GPU sees what the kernel's programs write"
until_true sh -c "'$GPUBPF' map lookup values key 0 | grep -q 'of_gpu'"; ok $? "and is seen: $("$GPUBPF" map lookup values key 0)"
if command -v bpftool > /dev/null; then
	until_true sh -c "bpftool map dump name sums | tr -d ' \n' | grep -q '\"key\":2,\"value\":[1-9]'"; ok $? "the kernel's map has what the GPU adds"
	bpftool map dump name values | grep -q '"of_gpu": [1-9]'; ok $? "and what it writes"
else skip "the kernel's maps" "no bpftool"; fi
"$GPUBPF" map update small key 0 value 77; until_true sh -c "'$GPUBPF' map lookup small key 1 | grep -q 'value: 77'"; ok $? "what the host puts in reaches the kernel's programs"
"$GPUBPF" map update cpu_keys key 1 value 7 && "$GPUBPF" map lookup cpu_keys key 1 > "$T/out"; prints 'key: 1' "a value for all CPUs"
"$GPUBPF" map delete cpu_keys key 1 && "$GPUBPF" map dump cpu_keys | grep -q 'key: 1$'; [ $? != 0 ]; ok $? "is gone at once"
"$GPUBPF" map update sums key 50 value 5 && "$GPUBPF" map delete sums key 50 && sleep 0.1; "$GPUBPF" map dump sums | grep -q 'key: 50'; [ $? != 0 ]; ok $? "and what it deletes is gone"
"$GPUBPF" map push to_kernel value 5; "$GPUBPF" map pop to_reader > "$T/out"; prints 'value: [0-9]' "values that wait are taken out by the reader"
> "$T/end"; wait $tool
finish
