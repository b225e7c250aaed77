#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# go.sh GPUBPF OBJECTS LOOP SOURCE: runs loaders in Go that use Debian's cilium/ebpf (golang-go,
# golang-github-cilium-ebpf-dev).
. "$(dirname "$0")/../../cli/lib.sh"
src=$4 o=$OBJ/rings.bpf.o
use_device pocl
command -v go > /dev/null || { skip "loaders in Go" "no go: ci/deps go installs it, with cilium/ebpf"; finish; }
export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$T/go" GOFLAGS=-p=2
[ -d "$GOPATH/src/github.com/cilium/ebpf" ] || { skip "loaders in Go" "no cilium/ebpf: ci/deps go installs it"; finish; }
# build NAME OUT FLAGS...: builds the Go program NAME as $T/OUT
build() { from=$1 out=$2; shift 2; go build "$@" -o "$T/$out" "$src/go/$from/main.go" 2> "$T/err"; ok $? "$out is built"; }
# all WHO: checks the output of the last run, which has everything that the loader read
all() {
	is 0 "$1"; prints '^ring 4717056$' "has each record of a ring buffer"; prints '^perf 4717056$' "and of perf buffers"
	prints '^counted 3072 3072$' "and looks up what was counted"; prints '^is Kpro RingBuf$' "and what its programs and maps are"
}
build loader loader
run "$GPUBPF" bpf -- "$T/loader" "$o" 3072 "$LOOP 3 0"; all "cilium/ebpf, and the program that it probes"
run "$GPUBPF" bpf -- sh -c "'$T/loader' '$o' 3072 '$LOOP 3 0' & wait \$!"; all "as a shell's child"
build loader linked -ldflags=-linkmode=external
run "$GPUBPF" bpf -- "$T/linked" "$o" 3072 "$LOOP 3 0"; all "linked against libc, of which it asks nothing"
if command -v setpriv > /dev/null && [ "$(id -u)" = 0 ]; then
	run setpriv --bounding-set -all --inh-caps -all "$GPUBPF" bpf -- "$T/loader" "$o" 3072 "$LOOP 3 0"; all "without any privilege"
else skip "without any privilege" "no setpriv, or not root"; fi
build features features
"$T/features" > "$T/theirs" 2>&1; what="what the Linux kernel can do has its answers, $(grep -c . "$T/theirs") of them"
if grep -q '^program Kprobe <nil>' "$T/theirs"; then
	run "$GPUBPF" bpf -- "$T/features"; diff "$T/theirs" "$T/out" > "$T/err"; ok $? "$what"
else skip "$what" "the kernel lets us load nothing, and the session does"; fi
finish
