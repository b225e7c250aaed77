/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe sends and the consumer reads. */
struct block {
	unsigned long long kernel, launch, x, threads;
};
