/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that all blocks of a twin's grid fit on the device at once, if all blocks of the original's grid do. */
#include "launch.h"

/*
 * Layout of gpubpf_hook_fit.known: bits 32 to 63 are bytes of shared memory, 16 to 31 threads per block. Bits 8 to 15
 * are the blocks of the twin per multiprocessor, 0 to 7 the blocks of the original.
 */
#define BLOCKS_MAX 255
#define THREADS_MAX 65535

static uint64_t shape_of(uint32_t threads, uint32_t shared)
{
	return (uint64_t)shared << 32 | (uint64_t)threads << 16;
}

/*
 * Get the number of blocks per multiprocessor of the original, n[0], and of the twin, n[1]. Returns false if the
 * runtime does not report them.
 */
static bool query_blocks(struct gpubpf_hook_fit *fit, uint32_t threads, uint32_t shared,
			 int (*blocks)(const void *call, bool twin, int *n), const void *call, int n[2])
{
	n[0] = n[1] = 0;
	if (blocks(call, false, &n[0]) || blocks(call, true, &n[1]))
		return false;
	if (threads <= THREADS_MAX && n[0] >= 0 && n[0] <= BLOCKS_MAX && n[1] >= 0 && n[1] <= BLOCKS_MAX)
		atomic_store_explicit(&fit->known, shape_of(threads, shared) | n[1] << 8 | n[0], memory_order_relaxed);
	return true;
}

bool gpubpf_hook_fits(struct gpubpf_hook_fit *fit, uint64_t grid, uint32_t threads, uint32_t shared,
		      int (*blocks)(const void *call, bool twin, int *n), int (*part)(const void *call), const void *call)
{
	uint64_t known = atomic_load_explicit(&fit->known, memory_order_relaxed);
	int n[2] = { known & 0xff, known >> 8 & 0xff }, units;

	if ((threads > THREADS_MAX || !known || known >> 16 != shape_of(threads, shared) >> 16) &&
	    !query_blocks(fit, threads, shared, blocks, call, n))
		return false;
	if (n[1] <= 0)
		return false;
	if (n[1] >= n[0] || grid > (uint64_t)n[0] * fit->units)
		return true;
	units = part ? part(call) : 0;
	if (units < 0)
		return grid <= (uint64_t)n[1];
	units = units ? units : fit->units;
	return grid > (uint64_t)n[0] * units || grid <= (uint64_t)n[1] * units;
}
