/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero device for the agent's adapter. The operations of core/device.h are in level_zero.c. Other files open
 * the device (open.c), query its capabilities (caps.c) and load modules (module.c). The code uses only libc and Level
 * Zero's headers.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_H

#include <level_zero/ze_api.h>

#include "core/device.h"

/* The Level Zero functions that we call, as F(dispatch table, member). All are of version 1.0. */
#define GPUBPF_ZE_FUNCTIONS(F) \
	F(Driver, Get) F(Driver, GetProperties) F(Device, Get) F(Device, GetSubDevices) F(Device, GetProperties) \
	F(Device, GetComputeProperties) F(Device, GetModuleProperties) F(Device, GetMemoryProperties) \
	F(Device, GetMemoryAccessProperties) F(Device, GetCommandQueueGroupProperties) F(Context, Create) \
	F(Context, Destroy) F(Mem, AllocHost) F(Mem, AllocDevice) F(Mem, AllocShared) F(Mem, Free) F(Module, Create) F(Module, Destroy) \
	F(Module, DynamicLink) F(Module, GetKernelNames) F(ModuleBuildLog, GetString) F(ModuleBuildLog, Destroy) \
	F(Kernel, Create) F(Kernel, Destroy) F(Kernel, SetArgumentValue) F(Kernel, SetGroupSize) \
	F(Kernel, SuggestGroupSize) F(Kernel, SuggestMaxCooperativeGroupCount) F(Kernel, SetIndirectAccess) \
	F(Kernel, SetCacheConfig) F(Kernel, GetProperties) F(CommandList, CreateImmediate) F(CommandList, Destroy) \
	F(CommandList, AppendLaunchKernel) F(CommandList, AppendMemoryCopy) \
	F(CommandQueue, Synchronize)

/* Function pointers of a driver, called without the loader, or of the Level Zero loader. */
struct gpubpf_ze_api {
#define GPUBPF_ZE_MEMBER(table, member) __typeof__(&ze##table##member) table##member;
	GPUBPF_ZE_FUNCTIONS(GPUBPF_ZE_MEMBER)
#undef GPUBPF_ZE_MEMBER
	__typeof__(&zeKernelSetGlobalOffsetExp) KernelSetGlobalOffsetExp; /* NULL if the driver does not have it */
};

/*
 * In struct gpubpf_device_open: runtime is a const struct gpubpf_ze_api *, context a ze_context_handle_t, and handle a
 * ze_device_handle_t. The operation arena_attach() returns a pointer as the address; twins receive the pointer in their
 * argument gpubpf_arena.
 */
extern const struct gpubpf_device_ops gpubpf_device_level_zero;

ze_context_handle_t gpubpf_ze_context(const struct gpubpf_device *device);

/* Inputs for loading a module, in addition to its code. */
struct gpubpf_ze_build {
	/* [nparts]: build flags of the parts; a part with an index from nparts on has the flags of part 0 */
	const char **flags;
	/* [nparts]: specialization constants of the parts; a part with an index from nparts on has no constants */
	const ze_module_constants_t **constants;
	uint32_t nparts; /* length of flags[] and constants[]; 0: no flags and no constants */
};

/*
 * Load a SPIR-V module, or several parts that the driver links (ZE_experimental_module_program). Returns 0, or -errno
 * and the start of the driver's build log.
 */
int gpubpf_ze_module_load(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
			  enum gpubpf_image_kind kind, const void *image, size_t size,
			  const struct gpubpf_ze_build *build, ze_module_handle_t *module, struct gpubpf_reason *why);
int gpubpf_ze_error(struct gpubpf_reason *why, const char *what, ze_result_t code);

#endif
