#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# map_rules.sh GPUBPF OBJECTS: bpf(2) and mmap(2) must have the same results on a session's maps as on the Linux
# kernel's maps.
. "$(dirname "$0")/../../cli/lib.sh"
"$OBJ/map_rules" > "$T/linux" 2>&1
if ! grep -q '^letters: done' "$T/linux"; then skip "map rules" "the Linux kernel makes no maps of ours"; finish; fi
alike() { diff "$T/linux" "$T/out" > "$T/err"; ok $? "$1: $(grep -c . "$T/linux") answers are Linux's"; }
for way in "" --supervise; do
	run "$GPUBPF" bpf -q $way -- "$OBJ/map_rules" named; alike "maps that a GPU's program names $way"
	if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
		run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf -q $way -- "$OBJ/map_rules"; alike "maps of one who may make none with Linux $way"
	else skip "maps of one who may make none with Linux" "no setpriv, or not root"; fi
done
finish
