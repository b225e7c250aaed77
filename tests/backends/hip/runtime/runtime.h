/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HIP runtime for tests, on top of ROCr (HSA), for devices that a simulator provides without HIP. It has the
 * functions that the suite's application, the hooks and the backend call, for the first device and the null stream
 * only. All memory is host memory, which the device can access. The device's name and the version 0 distinguish this
 * library from AMD's.
 */
#ifndef GPUBPF_TESTS_HIP_RUNTIME_RUNTIME_H
#define GPUBPF_TESTS_HIP_RUNTIME_RUNTIME_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "backends/hip/device/driver.h"
#include "meta.h"

/* hipError_t */
enum {
	INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALISED = 3, INVALID_CONFIGURATION = 9, NO_DEVICE = 100, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, INVALID_HANDLE = 400, NOT_READY = 600, LAUNCH_FAILURE = 719,
};

#define CALL(name, parameters) \
	__attribute__((visibility("default"))) int name parameters; \
	int name parameters

struct runtime {
	hsa_agent_t agent;
	hsa_queue_t *queue;
	hsa_region_t memory;       /* host memory */
	char arch[64];             /* gfx90a:sramecc+:xnack- */
	int error;                 /* error code if there is no device, or 0 */
};

/* Returns the runtime; the first call opens it. */
const struct runtime *runtime(void);
/*
 * Returns the maximum number of blocks of a launch. gfx12 has 16 bits for y and z (AMDGPU Usage, "Initial Kernel
 * Execution State": TTMP7).
 */
uint32_t most_blocks(int axis);
/* Stores the error as this thread's last error, and returns it. */
int answer(int error);
/* drain() waits for all launches. idle() returns whether there are none. */
int drain(void);
bool idle(void);

#endif
