/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that a loader under `gpubpf bpf` passes to BPF_PROG_TEST_RUN (ctx_in of bpf_prog_test_run_opts()): the size
 * of the grid. Without it, the program runs in one thread.
 */
#ifndef GPUBPF_RUN_H
#define GPUBPF_RUN_H

#include <stdint.h>

struct gpubpf_run_grid {
	uint32_t grid[3];  /* number of blocks in each dimension; 0 counts as 1 */
	uint32_t block[3]; /* number of threads per block; 0 counts as 1 */
};

#endif
