/* SPDX-License-Identifier: Apache-2.0 */
/* Shares the state of gpubpf-runner between its files. */
#ifndef GPUBPF_CORE_DIRECT_RUNNER_H
#define GPUBPF_CORE_DIRECT_RUNNER_H

#include "core/device.h"
#include "core/wire/direct.h"

struct runner {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	struct gpubpf_direct_block *block;
	size_t size; /* bytes of the block with the data buffer, in whole pages */
	uint64_t address;
	uint64_t data_size; /* bytes of the data buffer, or of an executor's queues */
	struct gpubpf_device_open how;
	size_t blocks[3], threads[3];
	uint64_t repeat;
};

/* A form of code of a kernel. */
struct runner_form {
	enum gpubpf_image_kind kind;
	const char *arch;
	const void *data;
	size_t size;
};

/* runner.c: stores the reason of a failure in the block. Returns the exit status 1. */
int runner_fail(struct runner *r, const char *what, const struct gpubpf_reason *why);

/* kernel.c: returns a form of code that the device accepts, of the kernel of direct runs or of executors, or NULL. */
const struct runner_form *runner_find_form(const struct gpubpf_device_caps *caps, bool serves);
void runner_set_sizes(const struct runner *r, struct gpubpf_device_launch *launch);

/* serve.c: launches the resident kernel and waits for its end. Returns the exit status. */
int runner_serve(struct runner *r);

#endif
