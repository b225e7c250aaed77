/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip-run MODULE N: runs the kernels gpubpf_run_0 to gpubpf_run_<N-1> of a module that the conformance tool wrote. Each
 * kernel runs once, with one thread, through HSA. MEM is 256 zero bytes. Prints r0 of each kernel in hexadecimal, or
 * "status S".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/lower/lower.h"
#include "hsa.h"
#include "maps/layout.h"
#include "cli/conformance/raw/emit.h"

#define MEM_SIZE 256

static struct gpubpf_arena_hdr *make_arena(const struct device *d)
{
	size_t size = (CONFORMANCE_RUN_OFF + GPUBPF_RUN_MEM + MEM_SIZE + GPUBPF_ARENA_ALIGN - 1) & -GPUBPF_ARENA_ALIGN;
	struct gpubpf_arena_hdr *arena = hsa_allocate(d, size);

	arena->magic = GPUBPF_ARENA_MAGIC;
	arena->version = GPUBPF_ARENA_VERSION;
	arena->size = size;
	arena->replicas = 4;
	arena->clock_mult = 1ull << 32;
	return arena;
}

static void run(const struct device *d, const struct file *module, const char *name, struct gpubpf_arena_hdr *arena)
{
	struct gpubpf_run *record = (struct gpubpf_run *)((char *)arena + CONFORMANCE_RUN_OFF);
	struct launch once = { { 1, 1, 1 }, { 1, 1, 1 } };
	uint64_t *kernarg = hsa_allocate(d, 4096);
	struct kernel k = hsa_load(d, module, name);

	memset(record, 0, GPUBPF_RUN_MEM + MEM_SIZE);
	record->mem_size = MEM_SIZE;
	record->budget = 4u << 20;
	kernarg[0] = (uintptr_t)arena;
	kernarg[2] = 42ull << 32 | 43;
	hsa_run(d, &k, &once, kernarg);
	if (record->status)
		printf("status %llu\n", (unsigned long long)record->status);
	else
		printf("%llx\n", (unsigned long long)record->r0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct gpubpf_arena_hdr *arena;
	struct file module;
	struct device d;
	char name[32];

	if (argc != 3)
		return 2;
	module = hsa_read_file(argv[1]);
	d = hsa_open();
	arena = make_arena(&d);
	for (int i = 0; i < atoi(argv[2]); i++) {
		snprintf(name, sizeof(name), "gpubpf_run_%d", i);
		run(&d, &module, name, arena);
	}
	fflush(stdout);
	_exit(0); /* skips the shutdown of the HSA runtime, which may abort on a simulated device */
}
