/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HIP runtime of the tests' own over ROCr (HSA), for devices that a simulator brings without HIP: what the suite's
 * application, the hooks and the backend call, on the first device, in the null stream alone. All memory is the host's, which
 * the device reaches. A library of AMD's it is not, and says so in the device's name and by version 0.
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
	hsa_region_t memory;       /* the host's */
	char arch[64];             /* gfx90a:sramecc+:xnack- */
	int error;                 /* why there is no device; 0: there is one */
};

/* Opened by the first call. */
const struct runtime *runtime(void);
/* Blocks of a launch: those of gfx12 know y and z by 16 bits each (AMDGPU Usage, "Initial Kernel Execution State": TTMP7). */
uint32_t most_blocks(int axis);
/* Keep this thread's last error, and hand it on. */
int answer(int error);
/* Wait for all launches. */
int drain(void);
bool idle(void);

#endif
