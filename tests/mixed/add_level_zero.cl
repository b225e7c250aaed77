/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled to SPIR-V for runtimes.c. */
__kernel void add_level_zero(__global uint *to)
{
	atomic_inc(to);
}
