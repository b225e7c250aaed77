#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# go_examples.sh GPUBPF - -: runs cilium/ebpf's own examples from the folder GPUBPF_CILIUM_EXAMPLES, which must have the
# release of golang-github-cilium-ebpf-dev. They have no GPU part; a supervisor answers their system calls, and their
# output must not change.
. "$(dirname "$0")/../../cli/lib.sh"
what="cilium/ebpf's examples, as without us"
all_skipped() { skip "$what" "$1"; finish; }
from=${GPUBPF_CILIUM_EXAMPLES:-}
[ -n "$from" ] || all_skipped "GPUBPF_CILIUM_EXAMPLES names no folder of examples"
export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$T/go" GOFLAGS=-p=2
{ command -v go > /dev/null && [ -d "$GOPATH/src/github.com/cilium/ebpf" ]; } || all_skipped "no go, or no cilium/ebpf: ci/deps go installs both"
. "$(dirname "$0")/same.sh"
tools_in=$T/built
for name in $(ls "$from"); do
	[ -e "$from/$name/main.go" ] || continue
	(cd "$from" && go build -o "$tools_in/$name" "./$name") 2> "$T/err" || skip "$name" "it cannot be built: $(tail -n 1 "$T/err")"
done
tools=$(ls "$tools_in" | sed 's/$/||all/; s/^xdp||/xdp|lo|/')
all theirs
all ours "$GPUBPF" bpf --
compared ours
ended=$(awk '$1 == "same" && $4 == 124' "$T/all" | wc -l); [ "$ended" -ge 2 ]; ok $? "$ended of them ran until they were told to end"
finish
