#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_ring.sh GPUBPF OBJECTS LOOP: a GPU_RINGBUF, which loaders read by bpftime's function.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
ring() { run "$GPUBPF" bpf "$@"; }
sum=$((3072 * 3071 / 2))
ring -- "$OBJ/gpu_ring" "$OBJ/gpu_ring.bpf.o" "$LOOP 3 0" 3072; is 0 "a loader that reads a GPU_RINGBUF"
prints '^type 1527 key 4 value 56 max 16$' "the map is as the loader defined it"
prints '^no ring: -[1-9][0-9]* -[1-9][0-9]* -[1-9][0-9]*$' "other descriptors give an error"
prints "^records 3072 sum $sum wrong 0 error 0$" "each record arrives once, with its own size"
ring -- "$OBJ/gpu_ring" "$OBJ/gpu_ring.bpf.o" "$LOOP 3 0" 3072 ended
prints "^records 3072 sum $sum wrong 0 error 0$" "the ring has room for max_entries records of each thread"
ring --threads 8 -- "$OBJ/gpu_ring" "$OBJ/gpu_ring.bpf.o" "$LOOP 3 0" 3072 ended
prints '^records [1-9][0-9]\{0,2\} sum .* wrong 0 error 0$' "--threads limits this room"
ring --threads 8 -- "$OBJ/gpu_ring" "$OBJ/gpu_ring.bpf.o" "$LOOP 3 0" 3072
prints "^records 3072 sum $sum wrong 0 error 0$" "further records wait in the device's ring"
ring --supervise -- "$OBJ/gpu_ring" "$OBJ/gpu_ring.bpf.o" "$LOOP 1 0" 1024; is 0 "a loader without the library"
prints '^no function$' "finds no function to read the ring"
finish
