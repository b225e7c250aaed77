#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pinned.sh GPUBPF OBJECTS LOOP [CLANG TYPES CC --supervise]: a loader pins maps of the Linux kernel in a BPF file
# system. A GPU program then uses these maps, so they move to the session. Every process of the session must find them
# under their pins.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
way=$7
if ! unshare -m true 2> /dev/null; then skip "pinned" "no mount of our own"; finish; fi
mounts='mkdir -p "$0"; mount -t bpf bpf "$0" || exit 77; exec "$@"'
run unshare -m sh -c "$mounts" "$T/bpffs" "$GPUBPF" bpf $way -- "$OBJ/pinned" "$T/bpffs" "$LOOP 1 0" 1024
if [ "$rc" = 77 ]; then skip "pinned" "no BPF file system, or the kernel takes no maps of ours"; finish; fi
is 0 "a loader whose maps are pinned"
prints '^pin 1024$' "another process finds the GPU's counts by the pin"; prints '^renamed 1024$' "by its new name"
prints '^number 1024$' "and by the kernel's number"; prints '^second counts 2048$' "a second loader counts on in it"
prints '^unpinned 0$' "without its name it is gone"
prints '^early reader 1024$' "a ring that another process has mapped before has each record"
prints '^late reader 1024$' "and one that it maps after"
finish
