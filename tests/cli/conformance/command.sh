#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# command.sh GPUBPF FOLDER: tests the output of gpubpf conformance for passing and failing cases.
. "$2/../lib.sh"
row() { printf '%s\tv1\tbase\t2\t0\t%s\t-\t%s\t%s\n' "$1" "$2" "$3" "$4"; }
two=b7000000020000009500000000000000 # r0 = 2; exit
shift=b7000000020000006700000044000000 # r0 = 2; r0 <<= 68
{ row two 0x2 $two ''; row wrong 0x3 $two ''; row shifts 0x20 ${shift}9500000000000000 ''; } > "$T/tests.tsv"

run "$GPUBPF" conformance -b host; is 0 "the whole suite on the interpreter"
prints '^ *isa *host *interpreter *[1-9][0-9]* *0 *0$' "a row a group"
prints "^$(sha256sum "$(dirname "$GPUBPF")/tests/cli/conformance/isa.o" | cut -d ' ' -f 1)  isa.o$" "the object's SHA-256"
says 'host, interpreter: [0-9]* of [0-9]* cases passed, 0 failed, [0-9]* skipped' "and how far it is"
run "$GPUBPF" conformance -b host -c isa/add64-reg; is 0 "one case"; prints '^ *isa *host *interpreter *1 *0 *0$' "alone"
[ "$(grep -c '^[0-9a-f]\{64\}  ' "$T/out")" = 1 ]; ok $? "with its object alone"
run "$GPUBPF" conformance -b host -c 'nothing/*'; is 1 "no case"; says 'no case matches' "is a failure"; one_line "it"
run "$GPUBPF" conformance -b hots; is 2 "an unknown backend"
run "$GPUBPF" conformance -b host -d Radeon; is 1 "a device that the interpreter is not"; says 'host: its device is called interpreter' "is named"
run "$GPUBPF" conformance -b host -d interp -c isa/add64-reg; is 0 "one that it is"
run "$GPUBPF" conformance -b level_zero; is 1 "a backend that is not here"; says 'level_zero: ' "is named"
run "$GPUBPF" conformance -b host --tests "$T/nowhere"; is 1 "a file that is not there"; one_line "it"
printf 'two\t0x2\n' > "$T/short.tsv"
run "$GPUBPF" conformance -b host --tests "$T/short.tsv"; is 1 "a line of too few fields"; says 'short.tsv:1: ' "is named"

run "$GPUBPF" conformance -b host --tests "$T/tests.tsv" --junit "$T/junit" --md "$T/md"; is 1 "a case that fails"
prints '^failed on host, interpreter: tests.tsv: base/wrong$' "its object and name"
prints 'expected: 0x3$' "what was expected"; prints 'got:      0x2$' "and what came"
prints '^skipped on host, interpreter: 1 (base/[a-z]*): .*shifts 64 bits by 68' "what the verifier refuses is skipped, with the reason"
grep -q '<testsuite name="host interpreter" tests="3" failures="1" skipped="1">' "$T/junit"; ok $? "JUnit's XML counts it"
grep -q 'failure message="tests.tsv: expected 0x3, got 0x2"' "$T/junit"; ok $? "and tells it"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$T/junit"; ok $? "it is XML"
grep -q '^| base | 1 passed, \*\*1 failed\*\*, 1 skipped |$' "$T/md"; ok $? "so does the matrix"
grep -q '^- failed on host, interpreter: tests.tsv: base/wrong$' "$T/md" && grep -q '^- skipped on host, interpreter: 1 (base/[a-z]*): ' "$T/md"; ok $? "which says what, and why"
run "$GPUBPF" conformance -b host --tests "$T/tests.tsv" --no-verify -j; is 1 "unproven"
prints '"passed": 2' "the shift is masked"; prints '"expected": "0x3"' "in JSON too"
kept() { printf 'seed-3\tv4\trandom\t2\t0x5\t%s\t-\t%s\t\n' "$1" "$2" > "$T/kept.tsv"; }
kept 0x2 $two; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 0 "a random program that was kept"
kept 0x3 $two; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 1 "of another r0"; prints 'got:      0x2$' "it"
kept 0x2 9500000000000000; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 1 "one that is not proven"
# part 0 tail-calls part 1, which returns 9 in r0; if the tail call fails, part 0 returns 7
on=18120000110000000000000000000000b703000001000000850000000c000000b7000000070000009500000000000000b7000000090000009500000000000000
parts() { printf 'seed-3\tv4\trandom\t8\t0x5\t%s\t-\t%s\t%s\n' "$1" $on "$2" > "$T/kept.tsv"; }
parts 0x9 6; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 0 "one that goes on in another"
parts 0x7 6; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 1 "it does"; prints 'got:      0x9$' "there"
for at in 6x 8 6,5 -1; do parts 0x9 $at; run "$GPUBPF" conformance -b host --tests "$T/kept.tsv"; is 1 "parts at $at"; done
run "$GPUBPF" conformance -b host --random 24 --seed 4; is 0 "random programs on the interpreter"
prints '^ *random *host *interpreter *\(1 *0 *0\|0 *0 *1\)$' "are compared with the kernel, or skipped where it may not be asked"
prints '^ran on host, interpreter: 24 programs of the seeds 4 to \|^skipped on host' "how many, and of which seeds"
run "$GPUBPF" conformance -b host --random 1 --seed 5; is 0 "one alone, which uses no maps of maps"
run "$GPUBPF" conformance -b host --random 1100 --seed 4 --jobs 3; is 0 "three at a time"
prints '^ran on host, interpreter: 1100 programs of the seeds 4 to 1103\|^skipped on host' "run the same ones"
for bad in 0 257 x; do run "$GPUBPF" conformance -b host --random 9 --jobs $bad; is 2 "--jobs $bad"; one_line "it"; done
run "$GPUBPF" conformance -b host --seed 2; is 2 "a seed for nothing"; one_line "it"
run "$GPUBPF" conformance -b host --jobs 2; is 2 "jobs for nothing"; one_line "it"
for bad in 0 x 5m 10x; do run "$GPUBPF" conformance -b host --random $bad; is 2 "--random $bad"; one_line "it"; done
run "$GPUBPF" conformance -b host --random 24 --no-verify; is 2 "unproven ones"
run "$GPUBPF" conformance --route sas; is 2 "an unknown route"; says 'did you mean sass' "is told the next"; one_line "it"
run "$GPUBPF" conformance --route sass --random 24; is 2 "--route with random programs"; says 'cannot be combined with --random' "it"
run "$GPUBPF" conformance -b host --route sass -c isa/add64-reg; is 0 "a route on the interpreter"
prints '^skipped on host, interpreter by sass: 1 (isa/add64-reg): the interpreter has no kernels to probe$' "puts nothing into a kernel"
run "$GPUBPF" conformance -b host --route sass --tests "$T/tests.tsv" --no-verify; is 0 "nor of a file"
prints '^skipped on host, interpreter by sass: 3 (base/[a-z, /]*): the interpreter has no kernels to probe$' "it"
# an installation with a changed object, and one with an invalid object
mkdir -p "$T/bin" "$T/share/gpubpf"; cp "$GPUBPF" "$T/bin/gpubpf"; cp -r "$(dirname "$GPUBPF")/tests/cli/conformance" "$T/share/gpubpf/conformance"
changed() { LC_ALL=C sed 's/result 0x9111191011102bb6/result 0x9111191011102bb7/' "$(dirname "$GPUBPF")/tests/cli/conformance/isa.o" > "$T/share/gpubpf/conformance/isa.o"; }
changed; run "$T/bin/gpubpf" conformance -b host -c 'isa/add*'; is 1 "a case that does not give what it should"
prints '^failed on host, interpreter: isa.o: isa/add64-reg$' "object and case"; prints 'expected: 0x9111191011102bb7$' "with what was expected"
prints 'got:      0x9111191011102bb6$' "and got"
echo > "$T/share/gpubpf/conformance/isa.o"; run "$T/bin/gpubpf" conformance -b host; is 1 "an object that is none"
says 'isa.o: not an object of the conformance suite; install the package again$' "is named, with what to do"; one_line "it"
run "$GPUBPF" conformance -b host -c 'isa/add*' --md "$T/no/where"; is 1 "a file that cannot be written"; says 'no/where' "is named"
finish
