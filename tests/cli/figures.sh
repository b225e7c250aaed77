#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# figures.sh GPUBPF OBJECTS LOOP: consistent counts: launches = probed + missed, and missed is split by reason. Also: a
# run without probes says so.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
json() { python3 -c "import json; r=json.load(open('$T/r')); k=r['kernels'][0] if r['kernels'] else {}; print($1)" 2>&1; }
value() { [ "$(json "$2")" = "$3" ]; ok $? "$1: $(json "$2")"; }
last() { tail -1 "$T/err" | grep -q -e "$1"; ok $? "$2: $(tail -1 "$T/err")"; }

run "$GPUBPF" run -o "$p" --strict -- true; is 4 "--strict, and no GPU is used"; last '^gpubpf: nothing was probed: true never used a GPU runtime' "the last line"
run "$GPUBPF" run -o "$p" -- true; is 0 "without --strict"; last '^gpubpf: nothing was probed: ' "it says so all the same"
run "$GPUBPF" run -o "$p" --strict -- sh -c 'exit 3'; is 4 "--strict, and the program failed"
run "$GPUBPF" run -o "$p" --strict -- sh -c 'kill -TERM $$'; is 143 "--strict, and a signal ended it"
run "$GPUBPF" -e 'BEGIN { printf("nothing is to be probed\n"); }' --strict -- true; is 0 "--strict without probes"
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
if ! have_device; then skip "with a device" "$device"; finish; fi
run "$GPUBPF" run -o "$p" --strict -j -r "$T/r" -- "$LOOP" 4 0; is 42 "--strict, and a launch is probed"
value "all are probed" "k['launches'], k['probed'], k['missed'], k['missed_by']" "4 4 0 {}"
run "$GPUBPF" run -o "$OBJ/miss.bpf.o" --strict -- "$LOOP" 4 0; is 4 "--strict, and no kernel has the name"
last 'nothing was probed: 4 launches of 1 kernel ran without probes' "the last line"
run "$GPUBPF" run -q -o "$OBJ/miss.bpf.o" -j -r "$T/r" -- "$LOOP" 4 0; is 42 "-q"; last 'nothing was probed' "it is a result"
value "what nothing is attached to" "k['launches'], k['probed'], k['missed'], k['missed_by'], k['reason']" "4 0 4 {'not_attached': 4} "
run "$GPUBPF" run -o "$p" --sample 3 -j -r "$T/r" -- "$LOOP" 10 0
value "--sample" "k['launches'], k['probed'], k['missed'], k['missed_by'], k['reason']" "10 4 6 {'sampled': 6} excluded by --sample"
run "$GPUBPF" run -o "$p" --first 3 -j -r "$T/r" -- "$LOOP" 10 0
value "--first" "k['launches'], k['probed'], k['missed'], k['missed_by'], k['reason']" "10 3 7 {'beyond_first': 7} excluded by --first"
run "$GPUBPF" -e 'gpu/exit/* { @ = count(); }' --first 3 -- "$LOOP" 10 0; ! grep -q 'not probed' "$T/err"; ok $? "what the user leaves out is no loss"
run "$GPUBPF" -e 'gpu/barrier/* { @ = count(); }' --strict -j -r "$T/r" -- "$LOOP" 4 0; is 4 "--strict, and the kernel has no such place"
value "no place" "k['missed'], k['missed_by']" "4 {'no_place': 4}"
run "$GPUBPF" -e 'gpu/exit/* { @[kernel, sm] = count(); }' -j -r "$T/r" -- "$LOOP" 4 0
value "a refused kernel" "k['launches'], k['probed'], k['missed'], k['missed_by']" "4 0 4 {'refused': 4}"
last 'nothing was probed: 4 launches of 1 kernel ran without probes, for the reason above$' "the last line repeats no reason"
[ "$(grep -c 'multiprocessor number' "$T/err")" = 1 ]; ok $? "which is there once"
says '^gpubpf: step_one: 4 of 4 launches were not probed: probe gpu/exit/\* .*multiprocessor number' "with the probe as the text has it"
run "$GPUBPF" -v -e 'gpu/exit/* { @[kernel, sm] = count(); }' -- "$LOOP" 4 0
last 'nothing was probed: 4 launches of 1 kernel ran without probes; step_one: probe gpu/exit/\* .*multiprocessor number' "-v: the last line has it after the report"
run "$GPUBPF" run -o "$p" -- "$LOOP" 4 0; says '^  step_one  *4  *4  *0 ' "as text: what is probed"

# launches before an attach and after a detach
rm -f "$T/go"; LOOP_UNTIL=$T/go "$GPUBPF" run -o "$p" -a enter=none -a leave=none -j -r "$T/r" -- "$LOOP" 1 20 > "$T/out" 2> "$T/err" & tool=$!
launches() { timeout 60 "$GPUBPF" session report -j 2> /dev/null | sed -n 's/.*"launches": *\([0-9][0-9]*\).*/\1/p' | head -1; }
launched() { [ "$(launches)" -gt 0 ]; }
launched_more() { [ "$(launches)" -gt "$before" ]; }
until_true launched
"$GPUBPF" session attach enter=step_one > "$T/links" 2>&1; until_true probing
timeout 60 "$GPUBPF" session detach "$(awk '$2 == "enter" { print $1 }' "$T/links" | head -1)" > "$T/links" 2>&1
before=$(launches); until_true launched_more
let_go; wait $tool; rc=$?; is 42 "attached and detached while it ran"
# a launch is late if it happens after the attach and before the kernel's twin is ready
value "what came before and after is not called late" "k['launches'] == k['probed'] + k['missed'], k['missed'] == sum(k['missed_by'].values()), \
k['missed_by'].get('not_attached', 0) > 1, set(k['missed_by']) <= {'not_attached', 'late'}" "True True True True"
value "in words" "'launched while no program was attached to it' in k['reason']" True

# an application that caches compiled kernels: a process that does not pass the source to OpenCL loads the cached binary
apps=$(dirname "$(dirname "$OBJ")")/tests/backends/spirv/opencl
for name in hashcat darktable-cl kept; do
	cp "$apps/cl-binaries" "$T/$name"
	"$T/$name" "$T/$name.binary" > /dev/null 2>&1
	run "$GPUBPF" -e 'gpu/exit/kept { @ = count(); }' -j -r "$T/r" -- "$T/$name" "$T/$name.binary"
	json "[x['reason'] for x in r['kernels']]" > "$T/why"
	case $name in
	hashcat) grep -q "hashcat's own cache of kernels, without its source; remove ~/.cache/hashcat/kernels" "$T/why";;
	*) grep -q "empty the folder in which $name caches compiled kernels" "$T/why";;
	esac
	ok $? "$name: its cache is named: $(cat "$T/why")"
done
finish
