/* SPDX-License-Identifier: Apache-2.0 */
/* The Level Zero kernel of runtimes.c, which the build compiles to SPIR-V. */
__kernel void add_level_zero(__global uint *to)
{
	atomic_inc(to);
}
