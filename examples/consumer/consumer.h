/* SPDX-License-Identifier: Apache-2.0 */
/* The record that the probe emits and the consumer reads. */
struct block {
	unsigned long long kernel, launch, x, threads;
};
