#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage.sh GPUBPF OBJECTS LOOP: the command line's messages for right and wrong usage.
. "$(dirname "$0")/lib.sh"

run "$GPUBPF"; is 2 "no command"; says '^Usage: gpubpf' "help goes to standard error then"
run "$GPUBPF" help; is 0 "help"; prints '^Usage: gpubpf' "and to standard output when asked for"
run "$GPUBPF" --help; is 0 "--help"
run "$GPUBPF" --version; is 0 "--version"; prints '^gpubpf [0-9]*\.[0-9]*\.[0-9]*$' "it is a version"
run "$GPUBPF" version -j; prints '"version"' "as JSON"

"$GPUBPF" help tables > "$T/tables"
wide=0 commands=0
while read -r word object verb rest; do
	[ "$word" = command ] || continue
	commands=$((commands + 1))
	[ "$verb" = - ] && verb=
	run "$GPUBPF" help "$object" $verb
	[ "$rc" = 0 ] && [ -s "$T/out" ] || wide=1
	run "$GPUBPF" "$object" $verb --help
	[ "$rc" = 0 ] && [ -s "$T/out" ] && [ ! -s "$T/err" ] || wide=1
	awk 'length > 80 { exit 1 }' "$T/out" || { wide=1; echo "# wide: $object $verb"; }
done < "$T/tables"
[ "$wide" = 0 ] && [ "$commands" -ge 10 ]
ok $? "each of $commands commands has help, on standard output, within 80 columns"

run "$GPUBPF" rnu; is 2 "an unknown command"; says 'did you mean run?' "suggests the nearest"; one_line "it"
for word in detach "help detach"; do run "$GPUBPF" $word; is 2 "$word"; says 'did you mean session detach?' "suggests the command"; done
cp "$OBJ/probe.bpf.o" "$T/count.bpf.o"
for word in run ""; do
	run "$GPUBPF" $word "$T/count.bpf.o" -- true; is 2 "${word:-gpubpf} with an object and no -o"
	says "pass an object with -o, as in gpubpf run -o $T/count.bpf.o -- CMD" "says so"; one_line "it"
done
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -a entre=x -- true; is 125 "--attach of a name with a mistake"; says "no object has a program 'entre', did you mean enter?" "suggests the nearest"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -a nosuchname=x -- true; ! grep -q 'did you mean' "$T/err"; ok $? "suggests nothing for a name like no other"
run "$GPUBPF" probes kerneltime; is 2 "probes with an argument"; says 'kerneltime: probes takes no arguments$' "says so"
run "$GPUBPF" run --help; prints '^  -p, --probe NAME\[,NAME\]\.\.\.$' "a long option has its own line"
prints '^                            load ready probes; ' "and its text begins in the column of all texts"
run "$GPUBPF" prog dump --help; prints '`--after help` lists them' "--after says how to list the names"
run "$GPUBPF" kernel inspect --help; prints 'NVIDIA machine code' "kernel inspect says whose code it reads"
echo 'kernel void k() {}' > "$T/app.cl"
run "$GPUBPF" kernel inspect "$T/app.cl"; is 1 "kernel inspect of OpenCL C"; says 'gpubpf kernel list -- CMD lists' "names the other command"
run "$GPUBPF" help run foo; is 2 "help of half a command that is there"; says 'help run foo: there is no such command' "says so"
run "$GPUBPF" kernel list; is 2 "a list of no program's kernels"; says 'as in gpubpf kernel list -- ./app' "says what to do"
run "$GPUBPF" prog; is 2 "half a command"; says 'verify, dump, show' "lists what there is"
run "$GPUBPF" prog help; is 0 "help as bpftool has it"; prints 'prog verify' "lists what there is"
run "$GPUBPF" prog list "$OBJ/probe.bpf.o"; is 0 "list for show, as bpftool has it"; prints '^  PROGRAM' "is show"
run "$GPUBPF" kernel show -- true; is 0 "show for list"
run "$GPUBPF" prog verfy x; is 2 "an unknown command of an object"; says 'did you mean verify?' "suggests the nearest"
run "$GPUBPF" run --atach a=b -- true; is 2 "an unknown option"; says 'did you mean --attach?' "suggests the nearest"
run "$GPUBPF" run --nosuch; is 2 "one like no other"; ! grep -q 'did you mean' "$T/err"; ok $? "suggests nothing"
run "$GPUBPF" run -o; is 2 "an option without its value"; says 'needs a value' "says so"
for word in -- ''; do run "$GPUBPF" run -o "$word" -- true; is 2 "-o '$word'"; says '^gpubpf: --object needs a value: FILE$' "needs a value too"; done
run "$GPUBPF" run --object= -- true; is 2 "--object="; says '^gpubpf: --object needs a value: FILE$' "needs a value too"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --param 1 -- true; is 2 "--param without a text"; says '^gpubpf: --param 1: only a program as text has parameters; add -e PROGRAM' "says what to add"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -d 0.01 -- sleep 1; is 0 "a duration that ends before the program uses a device"
says 'sleep had not used a GPU runtime when probing ended; probe for longer (--duration)' "is the reason"
run "$GPUBPF" version x; is 2 "arguments of a command that takes none"; one_line "it"
run "$GPUBPF" run --json=x -o y -- true; is 2 "a value that an option does not take"
run "$GPUBPF" run -- true; is 2 "run without an object"; says 'use -e PROGRAM, -o FILE' "says what to do"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o"; is 2 "run without a program"; says 'pass it after --' "says what to do"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --sample many -- true; is 2 "a number that is none"; one_line "it"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --first 0 -- true; is 2 "a number of 0"; says 'above 0' "which would mean all"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --duration -1 -- true; is 2 "a negative duration"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --attach enter -- true; is 2 "--attach without a pattern"
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" --backend opncl -- true
is 2 "an unknown backend"; says 'did you mean opencl?.*known are' "lists the known"; one_line "it"
GPUBPF_WAIT=soon run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -- true; is 2 "GPUBPF_WAIT that is no number"
says 'GPUBPF_WAIT soon: must be a number of seconds' "is named"
GPUBPF_BACKEND=nope run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -- true; is 2 "GPUBPF_BACKEND of no backend"
usage() { # usage WHAT ARGUMENT...: checks that gpubpf ARGUMENT... fails with a JSON document that states the error WHAT
	what=$1; shift
	run "$GPUBPF" "$@"; is 2 "$* with -j"
	python3 -c "import json; e=json.load(open('$T/out'))['errors']; print(e[0]['rule'], e[0]['what'])" > "$T/e" 2>&1
	grep -q "^USAGE .*$what" "$T/e"; ok $? "is a document that says so: $(cat "$T/e")"
}
usage 'no probes; use -e PROGRAM' run -j -- true
usage 'no such option' run --atach a=b -j -- true
usage 'known are' run -o "$OBJ/probe.bpf.o" -b opncl -j -- true
usage 'no such target' prog verify -T vax -j "$OBJ/probe.bpf.o"
usage 'takes no arguments' version -j x
run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -b opncl -j -- true; "$(dirname "$0")/schema.py" "$(dirname "$0")/../../cli/report.schema.json" "$T/out" > "$T/e" 2>&1; ok $? "as the schema says"
run "$GPUBPF" run -j -- true; "$(dirname "$0")/schema.py" "$(dirname "$0")/../../cli/report.schema.json" "$T/out" > "$T/e" 2>&1; ok $? "without an object too"
run "$GPUBPF" map dump; is 1 "no session"; says 'you have no running session' "says so"; one_line "it"
run "$GPUBPF" map dump --session "$T/nowhere"; is 1 "a session that is not there"; one_line "it"
run "$GPUBPF" prog dump --target spriv "$OBJ/probe.bpf.o"; is 2 "an unknown target"; says 'did you mean spirv?' "suggests the nearest"
run "$GPUBPF" device list --backend opencl -j; is 0 "device list -j"; prints '"backend": "opencl"' "is JSON"

run "$GPUBPF" prog show "$OBJ/probe.bpf.o"; is 0 "prog show"; prints 'gpu/entry/step_\*' "lists programs"; prints 'RINGBUF' "and maps"
run "$GPUBPF" prog show -j "$OBJ/probe.bpf.o"; prints '"sha256"' "prog show -j"
run "$GPUBPF" prog verify "$OBJ/probe.bpf.o"; is 0 "prog verify"; prints 'enter.*safe' "tells the verdict"
prints '^  *in all  *[1-9][0-9]*  *[1-9][0-9]*  *[1-9]' "and what the maps take on a device"
run "$GPUBPF" prog verify -v "$OBJ/probe.bpf.o"; prints 'map value of' "with -v what was proven"
prints 'the other side of the branch at' "and where paths begin"; prints '^ *[0-9]*: r[0-9] = .*; r[0-9]=' "and what instructions changed"
run "$GPUBPF" prog verify -j -v "$OBJ/probe.bpf.o"; is 0 "prog verify as JSON, with states"
prints '"warp_cost"' "the cost of a warp"; prints '"hot"' "where it is spent"; prints '"states"' "the walk"
run "$GPUBPF" prog verify -T ptx "$OBJ/probe.bpf.o"; is 0 "prog verify for a target"
run "$GPUBPF" prog verify -T clc32 "$OBJ/probe.bpf.o"; is 1 "for one without atomics of 8 bytes"; says 'atomic of 8 bytes' "says so"
run "$GPUBPF" prog verify -T vax "$OBJ/probe.bpf.o"; is 2 "for one that does not exist"; says 'clc32' "lists those that do"
run "$GPUBPF" prog verify "$OBJ/bad.bpf.o"; is 1 "prog verify of an unsafe program"
says 'rule: a pointer that may be NULL' "names the rule"; says 'bad.bpf.c:[0-9]*' "the source line"; says 'try: ' "and the remedy"
run "$GPUBPF" prog verify -j "$OBJ/bad.bpf.o"; is 1 "as JSON"; prints '"safe": false' "too"
run "$GPUBPF" prog verify /nonexistent.bpf.o; is 1 "a missing object"; says 'cannot open /nonexistent.bpf.o: No such file or directory$' "the message names the file and the error"
! grep -q 'rule:' "$T/err"; ok $? "and has no rule"; says 'try: pass the path' "but a remedy"
run "$GPUBPF" run -o /nonexistent.bpf.o -- true; is 125 "run with a missing object"; says 'cannot open /nonexistent.bpf.o: No such file' "says the same"
run "$GPUBPF" prog verify -p count "$OBJ/probe.bpf.o" "$OBJ/bad.bpf.o"; is 1 "prog verify -p of a program that does not exist"; says 'no such program' "says so"
run "$GPUBPF" prog verify -p enter "$OBJ/probe.bpf.o"; is 0 "prog verify -p"; prints '^enter ' "verifies this program"
[ "$(grep -c ': safe;' "$T/out")" = 1 ]; ok $? "and no other"
head -c 100 "$OBJ/probe.bpf.o" > "$T/cut.bpf.o"
run "$GPUBPF" prog verify "$T/cut.bpf.o"; is 1 "an object cut short"; says 'cut.bpf.o' "is named"
run "$GPUBPF" prog dump "$OBJ/probe.bpf.o"; is 0 "prog dump"; prints 'call #' "shows eBPF"
run "$GPUBPF" prog dump "$OBJ/probe.bpf.o" "$OBJ/records.bpf.o"; is 0 "prog dump of two objects"
prints 'gpu/entry/step_\*' "the first"; prints "gpu/entry/step_one" "and the second"
for target in clc llvm spirv ptx amdgpu; do
	run "$GPUBPF" prog dump --target $target "$OBJ/probe.bpf.o"; is 0 "prog dump --target $target"
	prints 'gpubpf_site_0' "it has the site"
done
for cpu in sm_60 sm_99 sm_9000 sm_90b sm_; do run "$GPUBPF" prog dump --target ptx --cpu $cpu "$OBJ/probe.bpf.o"; is 1 "prog dump --cpu $cpu"; says "the ptx target supports .*, not \"$cpu\"" "refuses it"; done
run "$GPUBPF" prog dump --target sass --cpu sm_90 "$OBJ/probe.bpf.o"; is 0 "prog dump --target sass"; prints 'entry gpubpf_inline_0' "it has the site"
run "$GPUBPF" kernel inspect "$0"; is 1 "kernel inspect of a text"; says 'is not a program, library, cubin or fatbin' "and why"; one_line "it"
run "$GPUBPF" kernel inspect --cpu sm_90 "$GPUBPF"; is 0 "kernel inspect of a program without GPU code"; prints ': 0 kernels' "it has none"; prints 'gpubpf kernel list -- CMD' "and where others are seen"
CODE=$(dirname "$0")/conformance/cubins/workload.sm_90.cubin
run "$GPUBPF" kernel inspect -v "$CODE"; is 0 "kernel inspect of machine code"; prints '^early (sm_90): yes$' "for which architecture each kernel is"
run "$GPUBPF" kernel inspect --cpu sm_80 "$CODE"; is 0 "of another architecture"; prints ': 0 kernels' "there is none"; prints 'no NVIDIA machine code for sm_80' "and that is told"
run "$GPUBPF" kernel inspect --cpu gfx90a "$CODE"; is 2 "of another vendor's"; says 'only NVIDIA architectures are supported' "is no question"
ln -s "$(realpath "$CODE")" "$T/libcublasLt.so.13"
run "$GPUBPF" kernel inspect "$T/libcublasLt.so.13"; is 0 "of a closed library"; prints 'only with --closed-libraries' "it is called one"
run "$GPUBPF" kernel inspect -j "$CODE" "$T/libcublasLt.so.13"; is 0 "as JSON"; prints '"closed": *true' "too"; prints '"arch": *"sm_90"' "with the architecture"
printf '!<arch>\n/0              ' >"$T/lib.a"
run "$GPUBPF" kernel inspect "$T/lib.a"; is 1 "of an archive"; says 'ar x' "what to do is told"
for odd in fifo.bpf.o fifo.bt fifo; do
	mkfifo "$T/$odd"
	run timeout 30 "$GPUBPF" run -o "$T/$odd" -- true; is 125 "$odd, a FIFO, as an object"
done
run timeout 30 "$GPUBPF" prog verify "$T/fifo.bpf.o"; is 1 "prog verify of a FIFO"; says 'pass the path of a .bpf.o file' "what to do"
run timeout 30 "$GPUBPF" kernel inspect "$T/fifo"; is 1 "kernel inspect of a FIFO"; says 'not a regular file' "why"
chmod 755 "$T/fifo"
run timeout 30 "$GPUBPF" run -o "$OBJ/probe.bpf.o" -- "$T/fifo"; is 126 "a FIFO as a program"
truncate -s 1T "$T/sparse" && { run timeout 30 "$GPUBPF" kernel inspect "$T/sparse"; is 1 "kernel inspect of a sparse file of 1 TiB"; }
run "$GPUBPF" prog dump --program nope "$OBJ/probe.bpf.o"; is 1 "a program that the object does not have"
run "$GPUBPF" version --json extra > /dev/full; ok 0 "a full device does not hang it"
"$GPUBPF" help > /dev/full 2> "$T/err"; rc=$?; is 1 "a full disk"; says 'standard output could not be written: No space left' "is told, with the reason"
finish
