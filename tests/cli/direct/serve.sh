#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# serve.sh GPUBPF OBJECTS LOOP DEVICE SERVE.bpf.o: gpubpf prog serve on an OpenCL CPU: results, data, maps, the end of the
# launch, and errors.
. "$(dirname "$0")/../lib.sh"
tool=$GPUBPF object=$5
use_device "$4"
serve() { run "$tool" prog serve "$object" "$@" -b opencl; }
json() { [ "$(python3 -c "import json; r = json.load(open('$T/out')); print($1)" 2>&1)" = "$2" ]; ok $? "$3: $(python3 -c "
import json; r = json.load(open('$T/out')); print($1)" 2>&1 | tail -1)"; }
python3 -c "
import struct, sys
sys.stdout.buffer.write(b''.join(struct.pack('<8Q', 5 * i, 1, 2, 3, 4, 5, 6, 99) for i in range(640)))" > "$T/in"
records() { python3 -c "
import struct
d = open('$T/data', 'rb').read(); w = struct.unpack('<%dQ' % (len(d) // 8), d); print($1)"; }

serve nothing --repeat 500 -j; is 0 "a program without data"
json "r['serve']['runs'], r['serve']['results_sum']" "500 3500" "each request has its answer; slots are used again"
json "0 < r['serve']['time_min_ns'] <= r['serve']['time_median_ns'] <= r['serve']['time_max_ns']" True "times"
serve first --data-in "$T/in" --batch 64 --in-flight 100 --repeat 2 -j; is 0 "100 requests at a time"
json "r['serve']['runs'], r['serve']['results_sum']" "1280 $((2 * (5 * 640 * 639 / 2 + 640 * 64)))" "each request has its own data"
serve filter --data-in "$T/in" --data-out "$T/data" --batch 4096 --block 4; is 0 "filter"
[ "$(records "[w[8 * i + 7] for i in range(640)] == [i % 4 == 0 for i in range(640)]")" = True ]; ok $? "its threads share the records of a request"
prints '^  runs  *10 in one launch of 1 blocks of 4 threads, 1 at a time$' "40,960 bytes are 10 batches"
serve hash --data-in "$T/in" --data-out "$T/data" --batch 2048 --in-flight 8; is 0 "hash"
[ "$(records "w[8 * 3 + 7] == __import__('functools').reduce(lambda h, x: (h ^ x) * 0x100000001b3 & 2 ** 64 - 1, w[24:31], 0xcbf29ce484222325)")" = True ]; ok $? "is FNV-1a of the words"
serve checksum --data-in "$T/in" --data-out "$T/data" --block 2; is 0 "checksum"
[ "$(records "w[7], w[15]")" = "$((~21 & 0xffff)) $((~26 & 0xffff))" ]; ok $? "of the first records: $(records "w[7], w[15]")"
serve histogram --data-in "$T/in" --batch 8192 --block 8 -j; is 0 "histogram"
json "sorted(e['value'] for m in r['maps'] if m['name'] == 'slots' for e in m['entries'])" "$(python3 -c 'print([10] * 64)')" "counts each record once"
serve aggregate --data-in "$T/in" --batch 1024 -j; is 0 "aggregation"
json "[e['value'] for m in r['maps'] if m['name'] == 'totals' for e in m['entries']], r['serve']['results_sum']" "[1022400, 640] 640" "of all records"
serve lookup --data-in "$T/in" --data-out "$T/data"; is 0 "look-up"; [ "$(records "set(w[7::8])")" = "{0}" ]; ok $? "in an empty map finds nothing"
serve nothing --sms 2 --in-flight 4 --repeat 200; is 0 "two blocks"; prints '^  sum of results  1400$' "answer all requests"

# the end of the tool ends the launch
"$tool" prog serve "$object" nothing --repeat 1000000000 -b opencl > /dev/null 2>&1 &
pid=$!
runner=
for _ in $(seq 3000); do
	runner=$(pgrep -P $pid -f gpubpf-runner) && [ "$(ps -o time= -p "$runner" | tr -d :)" -ge 1 ] && break
	sleep 0.1
done
[ -n "$runner" ]; ok $? "a resident kernel runs"
kill -9 $pid; wait $pid 2> /dev/null
for _ in $(seq 100); do kill -0 "$runner" 2> /dev/null || break; sleep 0.1; done
! kill -0 "$runner" 2> /dev/null; ok $? "it ends with its tool"

serve filter --data-in "$T/in" --batch 12; is 2 "a batch of 12 bytes"; says 'batch 12: must be a multiple of 8' "is refused"
serve filter --batch 64; is 2 "a batch without data"; says 'at most the 0 bytes' "is refused"
serve nothing --sms 5000; is 2 "too many blocks"; says '--sms and --block must be at most 1024' "is refused"
serve; is 1 "no name"; says 'has several programs in gpu/run/; name one of' "all names are listed"
serve nothing -d nothing; is 1 "no such device"; says 'opencl: ' "is refused with a reason"
run "$tool" prog serve "$OBJ/sm.direct.bpf.o" -b opencl; is 1 "a program that the device refuses"; says 'reads the multiprocessor number' "is refused with the reason"
finish
