#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# corners.sh GPUBPF OBJECTS CORNERS: launches in an event's callback, a reloaded OpenCL loader, changed headers, and no
# /sys.
. "$(dirname "$0")/lib.sh"
p=$OBJ/probe.bpf.o
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
POCL_MAX_PTHREAD_COUNT=1; export POCL_MAX_PTHREAD_COUNT # one PoCL thread runs both the callback and the kernels
[ -x "$LOOP" ] && timeout 60 "$LOOP" reload > "$T/native" 2> /dev/null
[ $? = 42 ] || { skip "corners" "no OpenCL device"; finish; }
mkdir -p "$T/a/folder"
same() { timeout 60 "$LOOP" "$@" > "$T/native"; cmp -s "$T/native" "$T/out"; ok $? "$1: the output is its own"; }
kernels() { python3 -c "import json; print([(k['name'], k['launches'], k['probed'], k['missed']) for k in json.load(open('$T/r'))['kernels']])"; }

run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" callback; is 42 "callback"; same callback
[ "$(kernels)" = "[('step_one', 1, 0, 1), ('step_two', 1, 1, 0)]" ]; ok $? "what is launched in a callback does not wait: $(kernels)"
says 'kernel step_one: launched in an event callback' "and it is told"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" reload; is 42 "reload"; same reload
[ "$(kernels)" = "[('step_one', 1, 1, 0), ('step_two', 1, 1, 0)]" ]; ok $? "kernels of both times are probed: $(kernels)"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" closed; is 42 "closed"; same closed
grep -q 'Broken pipe' "$T/r"; [ $? = 1 ]; ok $? "no broken pipe"; grep -q '"reason": ".*the application closed gpubpf.s socket' "$T/r"; ok $? "the program closed our socket"
run "$GPUBPF" run -o "$p" -j --report "$T/r" -- "$LOOP" header "$T/a"; is 42 "header"; same header "$T/a"
[ "$(kernels)" = "[('step_two', 3, 2, 1)]" ]; ok $? "what was compiled is what is probed: $(kernels)"
grep -q 'step.h, which the program includes, was changed after the build' "$T/r"; ok $? "or the reason is told"
if unshare -rm sh -c 'mount -t tmpfs none /sys' 2> /dev/null; then
	run unshare -rm sh -c 'mount -t tmpfs none /sys; exec "$@"' sh "$GPUBPF" device list --backend opencl
	says '^gpubpf: opencl: .*; mount /sys, where runtimes look for .*$' "a runtime that ends without /sys: it is named"
else skip "no /sys" "no namespaces here"; fi
finish
