#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# devices.sh GPUBPF OBJECTS LOOP DEVICE ARGUMENTS: one-liners on a device. Each kind of map value must have the exact
# count, and equal that of a C program.
. "$(dirname "$0")/../lib.sh"
use_device "${4:-}"
patient='--wait 200000' # the kernels wait until their twins are ready, however busy the machine is; run() has a limit of time
json() { python3 -c "import json; r=json.load(open('$T/r')); print($1)" 2>&1; }

# 3 launches of 16 work-groups of 64 threads, so each sum is 3 * (0 + 1 + ... + 1023)
cat > "$T/all.bt" << 'END'
#!/usr/bin/env gpubpf
let @few = hash(10);
struct row { int n; unsigned low : 4, high : 4, rest : 24; short half[2]; char text[4]; };
gpu/exit/step_*(int *v) { @count = count(); @sum = sum(gid); @avg = avg(gid); @min = min(gid + 5); @max = max(gid);
	@stats = stats(gid); @signed = min((int64)gid - 900); @by[bid % 2, kernel] = sum(lid); @n += 2; @set[lid.x] = bdim; @w = lane < 1000;
	@l = lhist(lid, 0, 64, 16); @first[kernel] = min(launch); @v = max(args.v != 0); @even[gid % 2 == 0 ? 1 : 0] = count();
	for ($i : 0..3) { if ($i != 1) { @loops += 1; } } }
gpu/exit/step_one /gid == 1023/ { printf("%s %d of %d, %d\n", kernel, launch, gdim, arg0 != 0); }
gpu/exit/step_one { @few[gid] = count(); @d = count(); if (duration < 1h) { @quick = count(); } }
gpu/entry/step_one { @start[tid] = nsecs; }
gpu/exit/step_one /@start[tid] && nsecs - @start[tid] < 1h/ { @took = count(); delete(@start[tid]); }
gpu/exit/step_one { let $side: string = gid % 2 == 0 ? "even" : "odd"; @who[$side, kernel] = count(); @fine = hist(gid % 5, 1); }
gpu/exit/step_one /gid == 65 && launch == 0 && str(arg0 + 260) == "A"/ { @letter[str(arg0 + 260)] = count(); }
gpu/exit/step_one(int *v) /launch == 1/ { @read = sum(args.v[gid]); @nowhere[*(int *)8] = count(); }
gpu/entry/step_one /launch == 1 && gid == 200/ { @at[*(uint16 *)(arg0 + 800), ((int8 *)arg0)[800]] = count(); }
gpu/entry/step_one(struct row *rows) /launch == 1 && gid == 0/ { $r = args.rows + 15; @row[$r->n, $r->low, $r->high, args.rows[15].half[0], $r->text] = count(); }
gpu/entry/never* { @never[kernel] = count(); }
BEGIN { printf("begin %s\n", $1); } END { printf("end %d %d\n", @count, @even[0]); clear(@set); clear(@few); }
END
cat > "$T/want" << 'END'
begin param
step_one 0 of 16, 1
step_one 1 of 16, 1
step_one 2 of 16, 1
end 3072 1536
@count: 3072
@sum: 1571328
@avg: 511
@min: 5
@max: 1023
@stats: count 3072, average 511, total 1571328
@signed: -900
@by[0, step_one]: 48384
@by[1, step_one]: 48384
@n: 6144
@w: true
@l:
  [0, 16)                 768 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [16, 32)                768 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [32, 48)                768 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [48, 64)                768 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
@first[step_one]: 0
@v: 1
@even[0]: 1536
@even[1]: 1536
@loops: 6144
@d: 3072
@quick: 3072
@took: 3072
@who[even, step_one]: 1536
@who[odd, step_one]: 1536
@fine:
  [0]                     615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [1]                     615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [2]                     615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [3]                     615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [4, 6)                  612 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ |
@letter[A]: 1
@read: 2095104
@nowhere[0]: 1024
@at[200, -56]: 1
@row[60, 13, 3, 62, ?]: 1
END
run "$GPUBPF" "$T/all.bt" --param param $patient -- "$LOOP" 3 0; is 42 "all"
grep -v 'values, p50\|^$\|^gpubpf: ' "$T/err" > "$T/got"
diff -u "$T/want" "$T/got" > "$T/why"; ok $? "each map holds exactly what it should"; sed 's/^/# /' "$T/why"
says '@few: 3042 updates found no room for their keys; declare a larger map: let @few = hash(40);' "keys without room are told"
says '^gpubpf: probe gpu/entry/never\*: no kernel is named never\*; launched kernels: step_one$' "so is a probe that was never met"
[ "$(tail -1 "$T/native")" = "1 launches: f1fc0200" ] && prints '^3 launches: ' "the output is its own"

# loops, tuples, macros, functions and strings in kernels, and maps that blocks on the host set
cat > "$T/more.bt" << 'END'
macro half(x) { x / 2 }
fn parity($n : int64) : string { if ($n % 2) { return "odd"; } return "even"; }
gpu/exit/step_one { @n = count(); for ($i : 0..lid % 4) { @ranges[$i] = count(); } $j = 0; while (true) { $j++; if ($j > lid % 2) { break; } } @whiles[$j] = count(); }
gpu/exit/step_one { @pair[lid % 2] = (parity(lid), half(10)); $t = ("x", lid % 2); @tuples[$t] = count(); @comm[comm] = count(); $k = kernel; @named[$k == "step_one"] = count(); }
gpu/exit/step_one /gid < 50/ { @is[strcontains(probe, "exit"), strncmp(kernel, "step", 4)] = count(); }
gpu/entry/step_one /launch == 1 && gid == 5/ { for ($kv : @pair) { @seen[$kv.1.0] = $kv.0; } printf("%rh\n", buf(arg0 + 20, 4)); }
interval:ms:10 { @ticks++; @late[1] = @ticks; }
END { for ($kv : @tuples) { @all += $kv.1; } @n = count(); print(@ticks > 0 && @late[1] == @ticks); clear(@ticks); clear(@late); }
END
cat > "$T/want" << 'END'
05 00 00 00
true
@n: 2049
@ranges[2]: 512
@ranges[1]: 1024
@ranges[0]: 1536
@whiles[1]: 1024
@whiles[2]: 1024
@pair[0]: (even, 5)
@pair[1]: (odd, 5)
@tuples[x, 0]: 1024
@tuples[x, 1]: 1024
@comm[loop]: 2048
@named[true]: 2048
@is[true, 0]: 100
@seen[even]: 0
@seen[odd]: 1
@ticks: 0
@all: 2048
END
run "$GPUBPF" "$T/more.bt" $patient -- "$LOOP" 2 0; is 42 "loops and tuples"
grep -v '^gpubpf: ' "$T/err" > "$T/got"
diff -u "$T/want" "$T/got" > "$T/why"; ok $? "each map holds what bpftrace's meaning requires"; sed 's/^/# /' "$T/why"

run "$GPUBPF" -e 'enum side { EVEN, ODD }; gpu/exit/* { @t[kernel] = tseries(1, 1d, 3, "sum"); @last = tseries(7, 1d, 3); @by[(enum side)(gid % 2)] = count(); }' $patient -- "$LOOP" 2 0; is 42 "time series"
says '^@t\[step_one\]:$' "have a key"; says '^[0-9:]* | *\* *| 2048$' "sum in an interval"; says '^[0-9:]* | *\* *| 7$' "or have the last value"; says '^@by\[ODD\]: 1024$' "names of enumerators"

line='gpu/exit/step_* { @by[kernel, lid.x % 4] = hist(gid); @threads = count(); }'
run "$GPUBPF" -e "$line" -j --report "$T/r" $patient -- "$LOOP" 3 0; is 42 "a histogram"
slots() { json "sorted((e['key']['$1'], e['value']['count'], [(h['min'], h['max'], h['count']) for h in e['value']['histogram']]) for m in r['maps'] if m['name'] == '$2' for e in m['entries']), [e['value'] for m in r['maps'] if m['name'] == '$3' for e in m['entries']]"; }
slots key1 @by @threads > "$T/mine"; json "r['objects'][0]['sha256']" > "$T/sha"
run "$GPUBPF" run -o "$OBJ/equal.bpf.o" -j --report "$T/r" $patient -- "$LOOP" 3 0; is 42 "the same in C"
slots lane by threads > "$T/theirs"; [ -s "$T/mine" ] && cmp -s "$T/mine" "$T/theirs"; ok $? "has the same counts: $(cut -c -100 "$T/theirs")"
grep -q '\[3072\]$' "$T/mine"; ok $? "of all threads"
"$GPUBPF" run --emit "$T/o.bpf.o" -e "$line" && [ "$(sha256sum < "$T/o.bpf.o" | cut -c -64)" = "$(cat "$T/sha")" ]
ok $? "the object is the same on each device: $(cut -c -16 "$T/sha")"

# arguments by the names of each kernel's parameters
line='gpu/entry/* /gid == 0/ { @n[kernel, args.n] = count(); } gpu/entry/mixed /gid == 0/
{ printf("%d %d %u %d %f\n", args.tiny, args.mid, args.large, args->wide, args.f); @signed = min(args.n); @v[args.v != 0] = count(); @fine = hist(args.mid, 2); }'
run "$GPUBPF" -e "$line" -v $patient -- "$5"; is 42 "arguments by name"
says '^-3 65000 4000000000 -10000000000 1.500000$' "by size and sign"; says '^@signed: -100000$' "as numbers with a sign"; says '^@v\[true\]: 1$' "addresses"
[ "$(grep -c '^  \[57344, 65536) ' "$T/err")" = 2 ]; ok $? "-v draws a fine histogram as it is"
says '^@n\[mixed, -100000\]: 1$' "where each kernel has it"; says '^@n\[other, 7\]: 1$' "two of one name"
says '^  none .*program entry_1: it has no parameter n: its parameters are v$' "who has none is told, with what there is"
run "$GPUBPF" -v -e 'gpu/entry/mixed { @ = count(); }' $patient -- "$5"; says '^  none .* seen$' "the kernels without a place"; says '^  [0-9]* kernels: .*none.*: no program has a place in it$' "a kernel that is none's business is no riddle"
run "$GPUBPF" -e 'gpu/entry/mixed { @ = sum(args.both); }' -v $patient -- "$5"; is 42 "a struct"; says 'its parameter both (pair) is not a number' "is no number"
run "$GPUBPF" -e 'gpu/insn/* { @ = count(); }' $patient -- "$5"; is 42 "what source cannot have"
says '^gpubpf: [a-z]* and 2 more kernels: 3 of 3 launches were not probed: probe gpu/insn/\*: .*: OpenCL C source has no opcodes' "is told of once, not of each kernel"
[ "$4" = pocl ] || finish

# the tests below test the tool, not the device, so they run on PoCL only
line='gpu/exit/* { @n = count(); @[launch] = count(); } gpu/exit/* /gid == 0 && launch == 1/ { exit(); }'
rm -f "$T/r"
run "$GPUBPF" -e "$line" --report "$T/r" $patient -- sh -c '"$1" 2 0; until [ -e "$2" ]; do sleep 0.1; done; "$1" 3 0; exit 5' sh "$LOOP" "$T/r"
is 5 "exit(): the program goes on"; says 'continues unprobed' "unprobed"
# the second launch may still run when exit() ends the session, so not all its threads are counted
counted=$(sed -n 's/^@n: //p' "$T/r")
[ "$counted" -gt 1024 ] && [ "$counted" -le 2048 ]; ok $? "and is not counted any more: $counted"
prints '^3 launches' "to its end"
run "$GPUBPF" -q -e 'gpu/exit/step_* { @ = count(); } gpu/exit/never { @ = count(); }' $patient -- "$LOOP" 1 0
[ "$(cat "$T/err")" = '@: 1024' ]; ok $? "-q: the result and no remarks"
run "$GPUBPF" -q -e 'let @ = hash(1); gpu/exit/step_* { @[gid] = count(); }' $patient -- "$LOOP" 1 0; says '1023 updates found no room' "-q: but for what it lacks"
run "$GPUBPF" -q -e 'gpu/exit/step_one { @[ustack(1)] = count(); }' $patient -- "$LOOP" 1 0
[ "$(grep -c "^    " "$T/err")" = 1 ] && grep -q "^    main+" "$T/err"; ok $? "ustack(1) is the function that launched"
mkdir "$T/built"; POCL_CACHE_DIR=$T/built run "$GPUBPF" -q -e 'gpu/mem/* { @ = count(); }' --no-cache $patient -- "$LOOP" 4 0
[ "$(cat "$T/err")" = '@: 8192' ]; ok $? "the vendor's compiler warns nobody of how a twin is written: $(head -1 "$T/err")"
line='gpu/exit/* { @ = count(); } interval:ms:100 { print(@); clear(@); } END { print(@); clear(@); }'
rm -f "$T/go"
LOOP_UNTIL=$T/go "$GPUBPF" -e "$line" $patient -- "$LOOP" 1 10 > "$T/out" 2> "$T/err" & tool=$!
until_true sh -c '[ "$(grep -c "^@: [1-9]" "$1")" -gt 1 ]' sh "$T/err"
> "$T/go"; wait $tool; rc=$?; is 42 "an interval"
[ "$(awk '/^@: / { n += $2 } END { print n }' "$T/err")" = $((1024 * $(sed -n 's/^\([0-9]*\) launches.*/\1/p' "$T/out"))) ]
ok $? "what was printed and cleared adds up: $(grep -c '^@' "$T/err") lines"
finish
