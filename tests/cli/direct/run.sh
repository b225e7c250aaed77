#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh GPUBPF OBJECTS LOOP DEVICE: gpubpf prog run on a runtime: results, data, maps, records and errors. DEVICE is pocl
# or intel; cuda is the fake driver; hip is the GPU that $GPUBPF_AMD_SIM simulates, with $BREV preloaded.
. "$(dirname "$0")/../lib.sh"
tool=$GPUBPF
case $4 in
hip)
	[ -x "${GPUBPF_AMD_SIM:-}" ] || { skip "HIP" "GPUBPF_AMD_SIM names no simulator"; finish; }
	backend=hip;;
cuda) # the fake driver executes no kernels, but loads the code and the twin
	LD_LIBRARY_PATH=$OBJ/../backends/cuda; export LD_LIBRARY_PATH
	run "$tool" prog run "$OBJ/sum.direct.bpf.o" sum --block 32 --repeat 2 --data-size 256 -b cuda
	is 0 "CUDA"; prints '^sum (gpu/run/sum) on Fake 0 (cuda)$' "runs on the driver's device"
	prints 'runs *2 of 32 threads' "both launches ran the program"
	finish;;
*)
	use_device "$4"
	backend=opencl;;
esac
direct() { # OPTION...
	if [ $backend = hip ]; then
		run env LD_PRELOAD="$BREV" python3 "$(dirname "$0")/../../simulated.py" "$GPUBPF_AMD_SIM" gfx90a "$tool" prog run "$@" -b hip
	else
		run "$tool" prog run "$@" -b $backend
	fi
}
json() { [ "$(python3 -c "import json; r = json.load(open('$T/out')); print($1)" 2>&1)" = "$2" ]; ok $? "$3: $(python3 -c "
import json; r = json.load(open('$T/out')); print($1)" 2>&1 | tail -1)"; }
words() { python3 -c "
import struct, sys
f = lambda x, n: x if not n else f((3 * x + 1) & (2 ** 64 - 1), n - 1)
sys.stdout.buffer.write(struct.pack('<%dQ' % $1, *[f(i, $2) for i in range($1)]))"; }
words 100 0 > "$T/in"
words 100 3 > "$T/want"

direct "$OBJ/sum.direct.bpf.o" sum --grid 2 --block 64 --repeat 3 --data-in "$T/in" --data-out "$T/data" -j; is 0 "a run with data"
cmp -s "$T/data" "$T/want"; ok $? "each thread changed its word in each run"
json "r['run']['result']" 42 "the result is the first thread's"
json "r['run']['grid'], r['run']['block'], r['run']['repeat'], r['run']['data_bytes']" "[2, 1, 1] [64, 1, 1] 3 800" "the grid"
json "r['run']['backend'], r['run']['instructions']" "$backend None" "the backend; instructions are not measured"
json "0 < r['run']['time_min_ns'] <= r['run']['time_ns'] <= r['run']['time_first_ns'] * 1000" True "times"
json "abs(r['run']['data_gb_per_s'] - 800 / r['run']['time_ns']) < 1e-9" True "bytes per ns of the mean"
json "[e['value'] for m in r['maps'] if m['name'] == 'counts' for e in m['entries']][0::2]" "[384, 240000]" "maps count all threads"
[ $backend = hip ] && finish # each run of the simulator takes 10 s
direct "$OBJ/sum.direct.bpf.o" sum; is 0 "a run without data"; prints 'result *7 (0x7)' "has no word"; prints 'runs *1 of 1 threads: grid 1x1x1, block 1x1x1' "and one thread"
prints 'instructions *not known; at most [0-9]* per thread' "the verifier's bound is shown"
direct "$OBJ/sum.direct.bpf.o" sum --grid 2x3x2 --block 4x2x1; prints 'runs *1 of 96 threads: grid 2x3x2, block 4x2x1' "three dimensions"; prints '^ *0 *96$' "all threads run"
direct "$OBJ/sum.direct.bpf.o" edges --data-size 64; is 0 "edges of the buffer"; prints 'result *12 (0xc)' "only bytes in the buffer have an address"
prints 'thread 0,0,0 edges: 12 right' "prints appear"
direct "$OBJ/sum.direct.bpf.o" edges --data-size 64 -j; json "len(r['events']), r['prints'][0]['text']" "1 12 right" "records and prints are in JSON"
direct "$OBJ/sum.direct.bpf.o" sum --data-in "$T/in" --data-size 1600 --data-out "$T/data" --block 200; [ "$(wc -c < "$T/data")" = 1600 ]; ok $? "zeros follow the input"
words 8 0 > "$T/in"
direct "$OBJ/sum.direct.bpf.o" either --data-in "$T/in" --data-out "$T/data" --block 8; is 0 "one instruction on a map and the data"; prints '^ *0 *20$' "adds to the map"
[ "$(od -An -v -t u8 -w64 "$T/data" | tr -s ' ')" = " 0 6 2 8 4 10 6 12" ]; ok $? "and to the data: $(od -An -v -t u8 -w64 "$T/data" | tr -s ' ')"
direct "$OBJ/bpftime.direct.bpf.o" --block 8; is 0 "bpftime's section"; prints 'result *5 ' "its result"; [ "$(grep -c '^ *[0-7] *1$' "$T/out")" = 8 ]; ok $? "each thread is in the map"

direct "$OBJ/sum.direct.bpf.o"; is 1 "no name"; says 'has several programs in gpu/run/; name one of sum, edges, either' "all names are listed"
direct "$OBJ/sum.direct.bpf.o" none; is 1 "an unknown name"; says "has no program 'none'" "is refused"
direct "$OBJ/sum.direct.bpf.o" entry; is 1 "a program for kernels"; says 'entry: section gpu/entry/k needs a kernel of an application' "does not run by itself"
direct "$OBJ/refused.direct.bpf.o"; is 1 "a probe that uses the data"; says 'only a program that gpubpf prog run runs has a data buffer' "is refused"
says 'gpu/run/NAME' "with a remedy"
direct "$OBJ/unchecked.direct.bpf.o"; is 1 "data without a check"; says 'check the pointer returned by gpubpf_data for NULL' "is refused"
direct "$OBJ/overrun.direct.bpf.o"; is 1 "an access outside of the requested bytes"; says 'leaves the memory of 4 bytes' "is refused"
direct "$OBJ/misaligned.direct.bpf.o"; is 1 "8 bytes of memory with 4-byte alignment"; says 'at an offset that is only a multiple of 4' "are refused"
direct "$OBJ/sm.direct.bpf.o" --repeat 2; is 1 "a program that the device refuses"; says 'sm: ran in 0 of 2 launches: .*reads the multiprocessor number' "fails with the reason"
direct "$OBJ/sum.direct.bpf.o" sum --grid 0; is 2 "a grid of 0"; says 'grid 0: must be X, XxY or XxYxZ' "is refused"
for size in 1x 1xx1 1x1x1x1 -1 5000000000 x; do direct "$OBJ/sum.direct.bpf.o" sum --block "$size"; is 2 "block $size"; done
direct "$OBJ/sum.direct.bpf.o" sum --data-in "$T/none"; is 1 "no such input"; says 'data-in .*none: cannot be read: No such file' "is refused"
direct "$OBJ/sum.direct.bpf.o" sum --data-out "$T/data"; is 2 "an output without data"; says 'add --data-in FILE or --data-size BYTES' "has a remedy"
direct "$OBJ/sum.direct.bpf.o" sum -d nothing; is 1 "no such device"; says 'opencl: ' "is refused with a reason"
direct "$OBJ/sum.direct.bpf.o" sum --block 1000000; is 1 "too many threads per block"; says 'the launch failed: ' "the runtime's reason is shown"
direct; is 2 "no object"
run "$tool" run -o "$OBJ/sum.direct.bpf.o" -- true; says 'program sum (gpu/run/sum) is not attached: gpubpf prog run runs it' "gpubpf run says who runs the program"
run "$tool" prog verify "$OBJ/sum.direct.bpf.o" -a sum=k; is 1 "--attach"; says 'the program runs in a kernel of gpubpf, so --attach cannot name another kernel' "is refused"
finish
