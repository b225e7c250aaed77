#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# small_device.sh GPUBPF OBJECTS LOOP LAYER: devices with too little memory for the maps. The OpenCL layer LAYER
# simulates them on a CPU.
. "$(dirname "$0")/lib.sh"
use_device pocl
printf 'OPENCL_LAYERS="%s:$OPENCL_LAYERS" exec "%s" 3 0\n' "$4" "$LOOP" > "$T/loop" # below the agent
mib() { echo $(($1 << 20)); }
loop() { run "$GPUBPF" run -o "$OBJ/probe.bpf.o" -j -r "$T/report" -- sh "$T/loop"; is 42 "$1"; cmp -s "$T/native" "$T/out" || diff "$T/native" "$T/out"; ok $? "$1: it computes the same"; }
probed() { grep -q '"probed": 3' "$T/report"; ok $? "$1"; }
refused() { grep -q "\"reason\": \".*maps take [0-9.]* MiB, more than half of the $1; make them smaller\"" "$T/report"; ok $? "$2"; }
"$LOOP" 3 0 > "$T/native"
loop "a device with memory of its own"; probed "is probed"
GPUBPF_TEST_MEMORY=$(mib 1); export GPUBPF_TEST_MEMORY
loop "one that has little"; refused '1.0 MiB that the device has' "is refused, with both figures"
GPUBPF_TEST_MEMORY=$(mib 65536) GPUBPF_TEST_FREE=$(mib 1); export GPUBPF_TEST_FREE
loop "one of which little is free"; refused '1.0 MiB that are free on the device' "is refused, with both figures"
GPUBPF_TEST_FREE=$(mib 16384); loop "one of which much is free"; probed "is probed"
finish
