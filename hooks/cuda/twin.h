/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/cuda: the steps of a twin. twin_load.c has the operations of the launch path. twin_compile.c loads
 * the twin's module, and twin_kernel.c finds its kernel there.
 */
#ifndef GPUBPF_HOOKS_CUDA_TWIN_H
#define GPUBPF_HOOKS_CUDA_TWIN_H

#include "cuda.h"

/* Symbols of a twin (cuda_twin_symbols[]); a twin defines those that its probes use. The agent looks up only defined
 * ones, since tools that trace the application's calls report each failing call. */
enum symbol { ARENA, CLOCK, KERNEL, LAUNCH, PID, FLAT, SYMBOLS };

struct cuda_twin_module {
	CUmodule module;
	CUcontext context;
	struct gpubpf_hook_device *device;
	struct cuda_function *original;
	enum gpubpf_compiled_by compiled_by;
	uint32_t symbol_mask; /* bit 1 << enum symbol for each symbol that the twin may define */
	char *text;           /* the twin's PTX, until its kernel is found; NULL: it came as machine code */
	uint64_t load_ns;     /* duration of the module load */
};

/* twin_compile.c. The caller has made the module's context current. Each returns 0, or -errno with the reason. */
extern const char *const cuda_twin_symbols[SYMBOLS];
int cuda_twin_refuse(struct gpubpf_reason *why, const char *what, const char *name, CUresult error);
/* Compile the PTX with the driver's compiler. registers: limit per GPU thread; 0: none. */
int cuda_twin_compile(struct cuda_twin_module *m, const char *text, uint32_t registers, struct gpubpf_reason *why);
/* Compile the PTX after its machine code turned out to be unusable. With lazy loading the driver inspects a module's
 * code only when a function is first used. */
int cuda_twin_recompile(struct cuda_twin_module *m, struct gpubpf_reason *why);
int cuda_twin_load_module(struct cuda_twin_module *m, enum gpubpf_image_kind kind, const void *data, size_t size,
			  struct gpubpf_reason *why);

/* twin_kernel.c: operations twin_kernel and twin_kernel_put of the launch path */
int cuda_twin_create(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		     struct gpubpf_reason *why);
void cuda_twin_put(void *twin);

#endif
