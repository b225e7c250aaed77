# SPDX-License-Identifier: Apache-2.0
# Functions for the shell tests of the command line. GPUBPF: the tool; OBJ: the folder of the objects; LOOP: the
# application; T: a scratch folder.
GPUBPF=$1 OBJ=$2 LOOP=$3
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
export XDG_RUNTIME_DIR=$T/run XDG_CACHE_HOME=$T/cache
mkdir -m 700 "$T/run" "$T/cache"
unset GPUBPF_BACKEND GPUBPF_SESSION OPENCL_LAYERS
n=0 failed=0

ok() { # STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; show; fi
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
show() { for f in "$T/out" "$T/err"; do [ -s "$f" ] && head -20 "$f" | sed "s|^|# ${f##*/}: |"; done; }
finish() { echo "1..$n"; exit $failed; }

# run CMD...: runs CMD with standard output in $T/out, standard error in $T/err and its exit status in $rc
run() { timeout 300 "$@" > "$T/out" 2> "$T/err"; rc=$?; accounts "$*"; }
# Checks that each report splits the launches into probed ones and ones that were missed for a stated reason.
accounts() {
	for f in "$T/out" "$T/err" "$T/r"; do
		[ ! -e "$f" ] || ! grep -q 'the agent reported no reason' "$f" || ok 1 "launches = probed + missed, by reason: $1"
	done
}
is() { [ "$rc" = "$1" ]; ok $? "$2: exit status $1 (is $rc)"; }
says() { grep -q -e "$1" "$T/err"; ok $? "$2"; }
prints() { grep -q -e "$1" "$T/out"; ok $? "$2"; }
one_line() { [ "$(grep -cv ': warning: ' "$T/err")" = 1 ]; ok $? "$1: in one line"; }

# until_true CMD...: repeats CMD until it succeeds, for at least 200 s; returns 0, or 1 if CMD never succeeded
until_true() { for _ in $(seq 2000); do "$@" 2> /dev/null && return 0; sleep 0.1; done; return 1; }
# hold ARG...: starts gpubpf run ARG... in the background, as $tool, with an application that waits for let_go
hold() {
	rm -f "$T/up" "$T/go"
	"$GPUBPF" run "$@" -- sh -c '> "$0"; until [ -e "$1" ]; do sleep 0.1; done; echo finished > "$1"' "$T/up" "$T/go" > /dev/null 2>&1 & tool=$!
	until_true [ -e "$T/up" ]
}
let_go() { > "$T/go"; }
# succeeds if the running session has probed a launch
probing() { timeout 60 "$GPUBPF" session report -j | grep -q '"probed": *[1-9]'; }

# succeeds if an OpenCL device works; otherwise $device states the reason
have_device() {
	[ -x "$LOOP" ] || { device="the workload was not built: no OpenCL headers"; return 1; }
	timeout 60 "$LOOP" 1 0 > "$T/native" 2> /dev/null
	[ $? = 42 ] && return 0
	device="no OpenCL device"
	return 1
}

# Selects the OpenCL runtime pocl or intel for the following tests; skips all of them if it is not installed.
use_device() { # pocl|intel
	case $1 in
	pocl) OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1);;
	intel) OCL_ICD_VENDORS=${GPUBPF_TEST_INTEL:-};;
	esac
	[ -e "${OCL_ICD_VENDORS:-}" ] || { skip "OpenCL" "the runtime $1 is not installed"; finish; }
	export OCL_ICD_VENDORS
	if ! have_device; then skip "OpenCL" "$device"; finish; fi
}
