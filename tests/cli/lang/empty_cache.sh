#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# empty_cache.sh GPUBPF - WORKLOAD: probes can read the application's buffers even if PoCL's compile cache is empty, so
# that PoCL compiles every kernel in the process. WORKLOAD is examples/kernel-counter's: each work-group of its kernel
# reduce writes a nonzero sum.
. "$(dirname "$0")/../lib.sh"
OCL_ICD_VENDORS=$(ls /etc/OpenCL/vendors/pocl*.icd 2> /dev/null | head -1); export OCL_ICD_VENDORS
"$LOOP" > /dev/null 2>&1 || { skip "PoCL with an empty cache" "the workload finds no PoCL"; finish; }
for cache in empty full; do
	run env POCL_CACHE_DIR="$T/pocl" "$GPUBPF" -q -e 'gpu/exit/reduce /lid == 0/ { @[((uint32 *)arg1)[bid] > 0] = count(); }' -- "$LOOP"
	is 0 "$cache cache"; says '^@\[true\]: 1024$' "probes read the sums of all groups"; ! grep -q '^@\[false\]' "$T/err"; ok $? "and no zeros"
done
finish
