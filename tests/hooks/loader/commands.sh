#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# commands.sh GPUBPF OBJECTS LOOP TABLE [--supervise]: checks the table of bpf(2) commands that the manual includes. The
# commands must be those of the running Linux kernel, and each must have the stated result.
. "$(dirname "$0")/../../cli/lib.sh"
table=$4 way=$5
sed -n 's/^GPUBPF_COMMAND(\([0-9]*\), \([A-Z_]*\), .*/\1 \2/p' "$table" > "$T/table"
[ "$(cut -d ' ' -f 1 "$T/table")" = "$(seq 0 $(($(grep -c . "$T/table") - 1)))" ]; ok $? "commands are numbered from 0 on, none left out"
if "$OBJ/commands" enum > "$T/enum" 2> "$T/err"; then
	grep -vxFf "$T/table" "$T/enum" > "$T/out"; [ ! -s "$T/out" ]; ok $? "each of the running kernel's $(grep -c . "$T/enum") is in the table, by its name"
else skip "the running kernel's commands" "it has no BTF, or nobody may read it"; fi
"$OBJ/commands" nothing > "$T/theirs" 2>&1
run "$GPUBPF" bpf $way -- "$OBJ/commands" nothing; is 0 "each of them, asked of nothing"; [ ! -s "$T/err" ]; ok $? "in silence"
diff "$T/theirs" "$T/out" > "$T/err"; ok $? "has the Linux kernel's errno, $(grep -c . "$T/theirs") of them"
if [ -z "$way" ]; then # a supervisor copies programs in its own process
	run "$GPUBPF" bpf -- "$OBJ/commands" memory; is 0 "a GPU program is loaded without memory for a copy"
	grep -qx "5: Cannot allocate memory" "$T/out"; ok $? "the loader gets ENOMEM, and the Linux kernel does not get the program"
fi
if "$OBJ/commands" theirs > "$T/theirs"; then
	run "$GPUBPF" bpf $way -- "$OBJ/commands" ours; is 0 "each of them, asked of maps, programs, links and events"
	# a session accepts pins only in its own folder, as the table says
	sed -i 's/^6: .*/6: Operation not permitted/' "$T/theirs"
	sed -i '/^10: /d' "$T/theirs" "$T/out" # test_run.sh tests PROG_TEST_RUN, which the Linux kernel lacks for kprobes
	diff "$T/theirs" "$T/out" > "$T/err"; ok $? "answers of ours as the Linux kernel of its own, $(grep -c . "$T/theirs") of them"
else skip "what they answer of maps, programs, links and events" "the kernel takes no uprobes of ours"; fi
finish
