#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loader.sh GPUBPF OBJECTS LOADS CUDA-DRIVER: gpubpf reports OpenCL loaders that ignore OPENCL_LAYERS, since its layer
# sees none of their calls.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o loads=$LOOP driver=$OBJ/driver.so.1
native() { [ "$(cat "$T/out")" = "done" ]; ok $? "$1: the output is its own"; }

mkdir "$T/lib"; cp "$OBJ/libOpenCL-layers.so.1" "$T/lib/libOpenCL.so.1"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$loads" "$OBJ/libOpenCL.so.1" "$driver"
is 42 "a loader without layers"; native "it"
says "^gpubpf: OpenCL kernels ran unprobed: the program's loader $OBJ/libOpenCL.so.1 ignores OPENCL_LAYERS; let it use .*LD_LIBRARY_PATH$" \
	"names it, why and what to do"
[ "$(grep -c unprobed "$T/err")" = 1 ]; ok $? "in one line"
grep -q 'ignores OPENCL_LAYERS' "$T/r"; ok $? "the report has it among its notes"
run "$GPUBPF" kernel list -- "$loads" "$OBJ/libOpenCL.so.1" "$driver"; is 42 "kernel list"
says 'ignores OPENCL_LAYERS' "kernel list names it too"
run "$GPUBPF" run -o "$p" -- "$loads" "$T/lib/libOpenCL.so.1" "$driver"
is 42 "a loader whose layers do not come"; says "did not load gpubpf's layer; did the program change OPENCL_LAYERS" "the other reason"
run "$GPUBPF" run -o "$p" -- "$loads" "$OBJ/libOpenCL.so.1" "$driver" "$4"
is 42 "the same beside CUDA"; says 'OpenCL kernels, if any ran, were not probed: .* ignores OPENCL_LAYERS' "it is named there too"
run "$GPUBPF" run -o "$p" --backend cuda -- "$loads" "$OBJ/libOpenCL.so.1" "$driver" "$4"
is 42 "CUDA alone is asked for"; ! grep -q 'not probed\|unprobed' "$T/err"; ok $? "nothing is said of OpenCL"
run "$GPUBPF" run -o "$p" -- "$loads" "$OBJ/libOpenCL.so.1"
is 42 "a loader that is not used"; ! grep -q unprobed "$T/err"; ok $? "nothing is said of it"
run "$GPUBPF" run -o "$p" --backend cuda -- "$loads" "$OBJ/libOpenCL.so.1" "$driver"
is 42 "another backend"; ! grep -q unprobed "$T/err"; ok $? "nothing is said where CUDA was asked for"
run "$loads" "$OBJ/libOpenCL.so.1" "$driver"; is 42 "no session"
[ ! -s "$T/err" ]; ok $? "and nothing is said"
finish
