#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clock.sh GPUBPF OBJECTS LOOP: the clock of helper 502, by section, GPUBPF_CLOCK() and --clock. The programs count
# threads that read the time since 1970.
. "$(dirname "$0")/../../cli/lib.sh"
use_device pocl
clock() { # COUNTS OPTION...
	want=$1; shift
	run "$GPUBPF" run "$@" -o "$OBJ/clock.bpf.o" -j -r "$T/r" -- "$LOOP" 1 0
	got=$(python3 -c "import json; print(*[e['value'] for e in json.load(open('$T/r'))['maps'][0]['entries']])")
	[ "$got" = "$want" ]; ok $? "clocks with options '$*': $got"
}
clock "1024 0 0 1024"
clock "0 0 0 0" --clock monotonic
clock "1024 1024 1024 1024" --clock realtime
clock "0 0 1024 1024" --clock cuda__plain=monotonic,own=realtime
clock "1024 0 1024 1024" --clock realtime,cuda__near=monotonic
for list in boottime own= =realtime own=boottime "realtime,"; do
	run "$GPUBPF" run --clock "$list" -o "$OBJ/clock.bpf.o" -- true
	is 125 "--clock '$list'"; says 'must be monotonic or realtime, or a list of PROG=monotonic' "is refused"
done
run "$GPUBPF" prog verify "$OBJ/clock_unknown.bpf.o"; is 1 "an unknown clock in the source"
says 'program count: unknown clock; use GPUBPF_CLOCK("monotonic")' "is refused"
places() { run "$GPUBPF" bpf "$@" -- "$OBJ/places" cuda__step_one "$LOOP 1 0" clock; }
places; prints '^clock since 1970$' "a loader's program reads the time since 1970"
places --clock monotonic; prints '^clock of another base$' "unless an option names another clock"
places --clock cuda__count=monotonic; prints '^clock of another base$' "also for one program"
places --clock other=monotonic; prints '^clock since 1970$' "but not for another"
finish
