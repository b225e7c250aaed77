#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# key_in_register.sh GPUBPF OBJECT...: in PTX of these objects, a lane whose glance finds the key
# must not have stored it to local memory for the slow look-up function. TAP.
gpubpf=$1 n=0 failed=0
shift
for object; do
	n=$((n + 1))
	stores=$("$gpubpf" prog dump -T ptx "$object" |
		awk '/^\.visible \.func/ { site = 1 } site && /ld\.global\.v2/ { print stores + 0; exit } site && /st\.local/ { stores++ }')
	if [ "$stores" = 0 ]; then
		echo "ok $n - $(basename "$object"): no store before the glance"
	else
		echo "not ok $n - $(basename "$object"): ${stores:-no glance, and no} stores before the glance"
		failed=1
	fi
done
echo "1..$n"
exit $failed
