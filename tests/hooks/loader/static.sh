#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# static.sh GPUBPF OBJECTS LOOP SOURCE CC: loaders into which LD_PRELOAD cannot load a library: static ones, and ones
# with another libc.
. "$(dirname "$0")/../../cli/lib.sh"
src=$4 cc=$5 o=$OBJ/count.bpf.o
use_device pocl
quiet() { sed '/^device: /d; /launches: /d' "$T/out" > "$T/out2" && mv "$T/out2" "$T/out"; }
# build NAME OUT CC... LIBRARIES: builds users/NAME.c; if that fails, skips the tests and returns false
build() { out=$1 from=$2; shift 2; "$@" -O2 "$src/users/$from.c" -o "$T/$out" $libs 2> "$T/err" || { skip "$out" "it cannot be linked: $(grep -m 1 . "$T/err")"; return 1; }; }
counted='^counts 9216 3072 0 0 seen 0=1 total 3072 batch 1 missing No such file or directory split 3072$'

libs= ; build hop hop $cc -static || finish
libs='-lbpf -lelf -lz'
if build load load $cc -static && build rings rings $cc -static; then
	run "$GPUBPF" bpf -- "$T/load" "$o" "$LOOP 3 0"; quiet; is 42 "libbpf in a static loader, and the program that it probes"
	prints "$counted" "counts, and has its data and maps, as a dynamic one"; [ ! -s "$T/err" ]; ok $? "and nobody says anything"
	run "$GPUBPF" bpf -- "$T/rings" "$OBJ/rings.bpf.o" "$LOOP 3 0" 3072; is 0 "and one that reads records"
	prints '^ring 3072 sum 4717056 wrong 0 lost 0$' "has each of a ring buffer"; prints '^perf 3072 sum 4717056 wrong 0 lost 0$' "and of perf buffers"
	awk '/^waits / { good = $2 <= $4 + 100 } END { exit !good }' "$T/err"; ok $? "and waits for them: $(grep '^waits ' "$T/err")"
	run "$GPUBPF" bpf -- "$T/load" "$o" true cuda__refused; is 2 "a program that the verifier refuses is its error"
	says "PROG LOAD LOG" "with a log"

	# a loader that is started in different ways
	run "$GPUBPF" bpf -- sh -c "'$T/load' '$o' '$LOOP 3 0' & wait \$!"; quiet; prints "$counted" "a shell's child is seen"
	run "$GPUBPF" bpf -- sh -c "exec '$T/load' '$o' '$LOOP 3 0'"; quiet; is 42 "and what a shell becomes"; prints "$counted" "the same"
	run "$GPUBPF" bpf -- env "$T/load" "$o" "$LOOP 3 0"; quiet; prints "$counted" "what execvp(3) runs"
	if command -v python3 > /dev/null; then
		run "$GPUBPF" bpf -- python3 -c 'import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' \
			"$T/load" "$o" "$LOOP 3 0"
		quiet; is 42 "what posix_spawn(3) runs"; prints "$counted" "the same"
	else skip "what posix_spawn(3) runs" "no python3"; fi
	printf '#!%s pid\n' "$T/hop" > "$T/script"; chmod +x "$T/script"
	run "$GPUBPF" bpf -- sh -c "'$T/script' & echo \$!; wait"; [ "$(sort -u "$T/out" | grep -c .)" = 1 ]; ok $? "a script that a static program runs"
	run "$GPUBPF" bpf -- "$T/hop" vfork "$T/hop" exec "$T/load" "$o" "$LOOP 3 0"; quiet; is 42 "static programs that run static ones"; prints "$counted" "the same"
	run "$GPUBPF" bpf -- "$T/hop" vfork sh -c "'$OBJ/load' '$o' '$LOOP 3 0'; '$T/hop' exec '$T/load' '$o' true > /dev/null"; quiet
	is 0 "and dynamic ones, and these static ones"; prints "$counted" "the same"
	if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
		run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf -- "$T/load" "$o" "$LOOP 3 0"; quiet
		is 42 "without any privilege"; prints "$counted" "the same is counted"
		run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf -- "$T/rings" "$OBJ/rings.bpf.o" "$LOOP 1 0" 1024
		prints '^ring 1024 sum 523776 wrong 0 lost 0$' "and the same records come"
	else skip "without any privilege" "no setpriv, or not root"; fi
	run "$GPUBPF" bpf -- "$T/hop" deny "$T/hop" exec "$T/load" "$o" true; is 0 "where the filter is there already, another changes nothing"
	run "$GPUBPF" bpf -- sh -c "'$OBJ/hop' deny '$T/hop' pid > '$T/pid'"; is 0 "where a container allows no filters it runs as it is"
	says '^gpubpf: .*/hop is linked statically, and cannot be supervised: .* allow seccomp(2) .*, or use a loader that is linked dynamically' "and is told, with what to do"
	run "$GPUBPF" bpf -- "$T/hop" exec "$GPUBPF" bpf -- "$T/hop" exec true; is 0 "one session in another's"
	says 'another program (.*) supervises its system calls already' "is told"
fi

# gpubpf must not change the process id and the exit status of the program
run "$GPUBPF" bpf -- sh -c "'$T/hop' pid & echo \$!; wait"; [ "$(sort -u "$T/out" | grep -c .)" = 1 ]; ok $? "whoever started it knows its number"
run "$GPUBPF" bpf -- sh -c "exec '$T/hop' exec sh -c 'kill -TERM \$\$'"; is 143 "and how it ends"
! grep -q gpubpf "$T/err"; ok $? "and we say nothing"
run "$GPUBPF" bpf -- sh -c "'$T/hop' late '$T/late' & sleep 0.5"; until_true [ -s "$T/late" ]
cp "$T/late" "$T/out"; prints '^made, then Operation not supported$' "one that outlives the session goes on, with the Linux kernel alone, and has no maps of a GPU's types"
gone() { ! pgrep -f "gpubpf-supervise $T/" > /dev/null; }
until_true gone; ok $? "supervisors end with what they supervise"

for libc in "$cc -static" "musl-gcc -static" "musl-gcc"; do
	what="one that does what few do, and what none should, by $libc"
	case $libc in musl*) command -v musl-gcc > /dev/null || { skip "$what" "musl-tools is not installed"; continue; }
		libs='-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu -Wno-implicit-function-declaration';;
	*) libs=-pthread;; esac
	build odd odd_loader $libc || continue
	run "$GPUBPF" bpf -- "$T/odd"; is 0 "$what"; prints '^all as it should be$' "finds bpf(2)"
done
libs=; build checks feature_checks $cc -static && {
	"$T/checks" > "$T/theirs" < /dev/null; what="what the Linux kernel can do has its answers, $(grep -c . "$T/theirs") of them"
	if grep -q '^a kprobe: done' "$T/theirs"; then
		run "$GPUBPF" bpf -- "$T/checks" < /dev/null; diff "$T/theirs" "$T/out" > "$T/err"; ok $? "$what"
	else skip "$what" "the kernel lets us load nothing, and the session does"; fi
}
finish
