/* SPDX-License-Identifier: Apache-2.0 */
/* Runs code objects on the first GPU through HSA, without a HIP runtime. A failure ends the program. */
#ifndef GPUBPF_TESTS_HIP_HSA_H
#define GPUBPF_TESTS_HIP_HSA_H

#include <hsa/hsa.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
	uint8_t *data;
	size_t size;
};

struct device {
	hsa_agent_t agent;
	hsa_queue_t *queue;
	hsa_region_t kernarg;
	bool found;
};

struct kernel {
	uint64_t object;
	uint32_t kernarg_size, group_size, private_size;
	uint64_t base;             /* the address at which the code object's address 0 is loaded */
};

struct launch {
	uint32_t grid[3], block[3];
};

struct file hsa_read_file(const char *path);
struct device hsa_open(void);
/* Allocates zeroed memory that host and device share. */
void *hsa_allocate(const struct device *d, size_t size);
struct kernel hsa_load(const struct device *d, const struct file *file, const char *name);
/* Launches and waits. */
void hsa_run(const struct device *d, const struct kernel *k, const struct launch *l, void *kernarg);

#endif
