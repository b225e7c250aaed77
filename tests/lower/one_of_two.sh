#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# one_of_two.sh EMIT OBJECT: every target refuses a callback that is one of two functions with the same message. TAP.
emit=$1 n=0 failed=0
for target in ptx clc; do
	n=$((n + 1))
	said=$("$emit" "$target" - /dev/null "$2" 2>&1)
	if [ $? = 2 ] && echo "$said" | grep -q 'instruction 10: passes one of several functions as a callback' &&
		echo "$said" | grep -q 'try: call the helper separately for each function'; then
		echo "ok $n - $target"
	else
		echo "not ok $n - $target: $said" | tr '\n' ' '
		echo
		failed=1
	fi
done
echo "1..$n"
exit $failed
