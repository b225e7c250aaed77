#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kept.sh EMIT OBJECT: for each processor, a worker that reuses its output writes the same as a worker that builds it. TAP.
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
