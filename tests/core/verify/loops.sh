#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# loops.sh VERIFY-LOOPS CLANG INCLUDE [--record]: compiles loops/*.c at -O1, -O2 and -Os, and runs verify-loops on the
# objects.
set -uo pipefail
verify=$1 clang=$2 include=$3 record=${4:-}
here=$(dirname "$(realpath "$0")")/loops
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for level in O1 O2 Os; do
	for file in "$here"/*.c; do
		name=$(basename "$file" .c)
		printf '%s\0' "-$level" "$file" "$tmp/$name.$level.o"
	done
done | xargs -0 -n 3 -P "$(nproc)" sh -c '"$0" -g "$3" -Wall -target bpf -mcpu=v3 -I "$1" -I "$2" -c "$4" -o "$5"' \
	"$clang" "$include" "$here" || { echo "1..1"; echo "not ok 1 - the loops are compiled"; exit 1; }
"$verify" $record "$here/kernel.figures" "$tmp"/*.o
