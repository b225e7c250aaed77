/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero device: what the agent's adapter shares with it. levelzero.c: the operations of core/device.h;
 * levelzero_module.c: modules. libc and Level Zero's headers only.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_H

#include <level_zero/ze_api.h>

#include "core/device.h"

/* Of the dispatch tables, what we call: F(table, member). All are of version 1.0. */
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

/* a driver, past the loader, or the loader itself */
struct gpubpf_ze_api {
#define GPUBPF_ZE_MEMBER(table, member) __typeof__(&ze##table##member) table##member;
	GPUBPF_ZE_FUNCTIONS(GPUBPF_ZE_MEMBER)
#undef GPUBPF_ZE_MEMBER
	__typeof__(&zeKernelSetGlobalOffsetExp) KernelSetGlobalOffsetExp; /* NULL: not known there */
};

/* how->runtime: const struct gpubpf_ze_api *; context and handle: ze_context_handle_t and ze_device_handle_t. The
 * address that arena_attach() gives is a pointer, which twins take as their argument gpubpf_arena. */
extern const struct gpubpf_device_ops gpubpf_device_level_zero;

ze_context_handle_t gpubpf_ze_context(const struct gpubpf_device *device);

/* What a module is loaded with besides its code. */
struct gpubpf_ze_build {
	const char **flags;                      /* of each part; those behind have the first one's */
	const ze_module_constants_t **constants; /* of each part; those behind have none */
	uint32_t nparts;                         /* 0: nothing of any */
};

/* Load SPIR-V, or parts of it that the driver links (ZE_experimental_module_program). 0 or -errno and the first lines of the
 * driver's log. */
int gpubpf_ze_module_load(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
			  enum gpubpf_image_kind kind, const void *image, size_t size,
			  const struct gpubpf_ze_build *build, ze_module_handle_t *module, struct gpubpf_why *why);
int gpubpf_ze_error(struct gpubpf_why *why, const char *what, ze_result_t code);

#endif
