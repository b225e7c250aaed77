#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# skeleton.sh GPUBPF OBJECTS LOOP CC SOURCES BUILD CLANG: headers of gpubpf gen skeleton compile, and programs that use
# them run.
. "$(dirname "$0")/lib.sh"
cc=$4 source=$5 build=$6 clang=$7

run "$GPUBPF" gen skeleton "$OBJ/probe.bpf.o"; is 0 "a skeleton"; cp "$T/out" "$T/probe.skel.h"
prints 'struct gpubpf_map \*counts;' "with the maps"; prints 'struct gpubpf_link \*leave;' "and the links"
run "$GPUBPF" gen skeleton "$OBJ/probe.bpf.o" name other; prints '^struct other {$' "of another name"
run "$GPUBPF" gen skeleton "$OBJ/probe.bpf.o" name 1st; is 2 "one that C has not"; says "'1st' is not a C identifier" "says so"
run "$GPUBPF" gen skeleton "$OBJ/probe.bpf.o" nome x; is 2 "no name"; says 'gpubpf gen skeleton FILE \[name NAME\]' "shows how"
run "$GPUBPF" gen skeleton /nowhere.bpf.o; is 1 "no object"; says 'cannot open /nowhere.bpf.o: No such file' "says so"
run "$GPUBPF" gen skeleton "$OBJ/bad.bpf.o"; is 0 "what the verifier refuses has one too"

run $cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -I "$T" -I "$source/include" "$source/tests/cli/apps/skeleton.c" -o "$T/tool" -L "$build" -lgpubpf
is 0 "a program that uses it is compiled without a warning"
printf '#include "probe.skel.h"\nint main(void) { return !probe__open_and_load(); }\n' > "$T/plain.cc"
run $cc -x c++ -std=c++11 -Wall -Wextra -Werror -I "$T" -I "$source/include" "$T/plain.cc" -o "$T/plain" -L "$build" -lgpubpf
if grep -q 'cc1plus\|not found' "$T/err"; then skip "a program in C++" "no compiler"; else
	is 0 "one in C++ too"; LD_LIBRARY_PATH=$build run "$T/plain"; is 0 "and it loads"
fi
run "$GPUBPF" gen skeleton "$OBJ/globals.bpf.o"; is 0 "one with global data"; cp "$T/out" "$T/globals.skel.h"
prints '^	struct globals__rodata \*rodata;$' "has it by its types"; [ "$(grep -c hidden "$T/out")" = 0 ]; ok $? "without what is the object's own"
run $cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -I "$T" -I "$source/include" "$source/tests/cli/apps/skeleton_globals.c" -o "$T/globals" -L "$build" -lgpubpf
is 0 "a program that uses it is compiled without a warning"
printf '#include "globals.skel.h"\nint main() { globals *obj = globals__open(); obj->rodata->step = 3; return globals__load(obj) || obj->rodata->step != 3; }\n' > "$T/plain.cc"
run $cc -x c++ -std=c++11 -Wall -Wextra -Werror -I "$T" -I "$source/include" "$T/plain.cc" -o "$T/plain" -L "$build" -lgpubpf
if grep -q 'cc1plus\|not found' "$T/err"; then skip "global data in C++" "no compiler"; else
	is 0 "one in C++ too"; LD_LIBRARY_PATH=$build run "$T/plain"; is 0 "and its constant is set"
fi
# made DECLARATIONS NAME: compiles an object of them and runs gen skeleton; if struct member names collide, no header is
# printed
made() {
	printf '#include <gpubpf/probe.h>\n%s\nSEC("gpu/entry/*") int p(struct gpubpf_ctx *ctx) { return 0; }\n' "$1" > "$T/names.bpf.c"
	run $clang -g -O2 -target bpf -I "$source/include" -c "$T/names.bpf.c" -o "$T/names.bpf.o"; is 0 "$2"
	run "$GPUBPF" gen skeleton "$T/names.bpf.o"
}
meets() {
	made "$1" "$2"; is 1 "has no skeleton"; says "'$3' cannot be the name of a struct member, or is not unique" "says so"
	[ ! -s "$T/out" ]; ok $? "and prints none"
}
for member in session own maps progs links; do
	meets "int x SEC(\".data.$member\") = 1;" "data called as a member of each skeleton is: $member" "[.]data[.]$member"
done
meets 'int x SEC(".data.same") = 1; const int y SEC(".rodata.same") = 2;' "two sections whose names end alike" '[.]rodata[.]same'
meets 'GPUBPF_ARRAY(data, __u64, 1); int x = 1;' "a map called as global data is" 'names[.]data'
made 'GPUBPF_ARRAY(links, __u64, 1); GPUBPF_ARRAY(session, __u64, 1); int x SEC(".data.more") = 1;' "maps called as members are"; is 0 "has one"
cp "$T/out" "$T/names.skel.h"; printf '#include "names.skel.h"\nint main(void) { return !names__open(); }\n' > "$T/names.c"
run $cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -I "$T" -I "$source/include" "$T/names.c" -o "$T/names" -L "$build" -lgpubpf; is 0 "that is C"
# each skeleton is a header that needs no other; its object has no debug sections, and is the same program
for object in probe elements records shared_maps ends; do
	"$GPUBPF" gen skeleton "$OBJ/$object.bpf.o" > "$T/$object.skel.h" 2> "$T/err"; ok $? "a skeleton of $object"
	printf '#include "%s.skel.h"\n' "$object" > "$T/alone.c"
	run $cc -std=c11 -Wall -Wextra -Werror -pedantic -fsyntax-only -I "$T" -I "$source/include" "$T/alone.c"; is 0 "alone it is C11"
	run $cc -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I "$T" -I "$source/include" "$T/alone.c"
	if grep -q 'cc1plus\|not found' "$T/err"; then skip "alone it is C++" "no compiler"; else is 0 "alone it is C++"; fi
done
sed -n '/data\[\] = {/,/};/p' "$T/probe.skel.h" | tr ',' '\n' | sed -n 's/^[^0-9]*\([0-9][0-9]*\)$/\1/p' > "$T/numbers"
while read -r number; do printf "\\$(printf %03o "$number")"; done < "$T/numbers" > "$T/inside.bpf.o"
[ "$(wc -c < "$T/inside.bpf.o")" -lt $(($(wc -c < "$OBJ/probe.bpf.o") * 2 / 3)) ]; ok $? "the object is smaller in it"
"$GPUBPF" prog dump "$T/inside.bpf.o" > "$T/inside"; "$GPUBPF" prog dump "$OBJ/probe.bpf.o" > "$T/outside"
cmp -s "$T/inside" "$T/outside" && grep -q exit "$T/inside"; ok $? "and has the same programs, with their source lines"
use_device pocl
mkdir -m 700 "$T/sockets"
LD_LIBRARY_PATH=$build run "$T/tool" "$T/sockets" "$build/core/worker" "$build/hooks/libgpubpf-agent.so" "$LOOP" 3 0; is 0 "it runs"
prints '^status 42 entries 3072 exits 0 rodata probe.rodata rings RINGBUF$' "programs count where they are attached, exactly"
LD_LIBRARY_PATH=$build run "$T/globals" "$T/sockets" "$build/core/worker" "$build/hooks/libgpubpf-agent.so" "$LOOP" 3 0; is 0 "it runs"
prints '^step 1 most 1 of 5 low -6 on 1 begun 5 odd 9$' "what the object has is there before load"
prints '^loaded 7 1 1000$' "what was set is there after it"
prints '^status 42 sum 2101 last 2 begun 1231 odd 33 9$' "and programs run with it, and leave what they write"
finish
