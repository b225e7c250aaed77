#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# named.sh GPUBPF OBJECTS LOOP CLANG TYPES CC [--supervise]: runs loaders that use maps of maps and program arrays.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
way=$7 named=$OBJ/named o=$OBJ/named.bpf.o

# steps WHO PREFIX...: programs must see the current content of the maps, whether the loader changes it before or after
# it attaches them
steps() {
	who=$1; shift
	run "$@" "$GPUBPF" bpf $way -- "$named" "$o" "$LOOP 3 0"; is 0 "a loader that puts programs and maps into maps$who"
	prints '^before: 0 3072 0 0 maps 3072 3072 307200 0$' "finds what stood there when it attached: a slot, and an empty one"
	prints '^after: 0 6144 3072 0 maps 6144 6144 614400 3072$' "what came then: a program that was in no slot, a map of no program"
	prints '^others: 0 9216 3072 3072 maps 9216 316416 614400 3072$' "what others stand in their place"
	prints '^none: 3072 9216 3072 3072 maps 12288 319488 614400 3072$' "and that they are gone"
}
steps ""
if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
	steps ", without the right to load programs into the kernel" setpriv --bounding-set -all --inh-caps -all
else skip "without the right to load programs into the kernel" "no setpriv, or not root"; fi
if command -v bpftool > /dev/null; then
	cat - > "$T/dump" <<-E
		id() { bpftool map list | sed -n "s/^\(1073[0-9]*\): [a-z_]*  name \$1  .*/\1/p"; }
		for m in jumps listed keyed; do bpftool map dump id \$(id \$m); done
		echo first is \$(id first); bpftool map list
	E
	run "$GPUBPF" bpf $way -- "$named" "$o" "$LOOP 1 0" "sh $T/dump"; is 0 "bpftool, while it runs"
	first=$(sed -n 's/^first is //p' "$T/out"); first=$(printf '%02x 00 00 40' $((first - 1073741824)))
	prints "^key: 00 00 00 00  value: $first" "shows which map an element is"; prints '^key: 02 00 00 00  value: .. 00 00 40' "and which program"
	prints '^1073[0-9]*: prog_array  name jumps' "and a map of programs"; prints '^1073[0-9]*: hash_of_maps  name keyed' "and of maps"
else skip "bpftool" "it is not installed"; fi
finish
