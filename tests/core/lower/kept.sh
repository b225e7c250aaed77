#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kept.sh EMIT OBJECT: a worker that serves several processors reuses its output for one processor. The output must
# equal that of a new worker. Prints TAP.
emit=$1 object=$2 n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpus='gfx1100 gfx1101 gfx90a gfx942 gfx1201'
for cpu in $cpus; do
	"$emit" amdgpu "$cpu" "$work/$cpu" "$object" > /dev/null
done
# shellcheck disable=SC2046
"$emit" $(for turn in 1 2; do for cpu in $cpus; do echo "amdgpu $cpu $work/$cpu.$turn"; done; done) "$object" > /dev/null
for cpu in $cpus; do
	n=$((n + 1))
	if cmp -s "$work/$cpu" "$work/$cpu.1" && cmp -s "$work/$cpu" "$work/$cpu.2"; then
		echo "ok $n - $cpu"
	else
		echo "not ok $n - $cpu: differs, or was not made"
		failed=1
	fi
done
echo "1..$n"
exit $failed
