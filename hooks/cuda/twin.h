/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/cuda: functions that create a twin. File twin_load.c has the operations that the launch path calls.
 * File twin_compile.c loads the twin's module, and twin_kernel.c finds the twin's kernel in that module.
 */
#ifndef GPUBPF_HOOKS_CUDA_TWIN_H
#define GPUBPF_HOOKS_CUDA_TWIN_H

#include "cuda.h"

/*
 * Variables and functions that a twin's module defines if its probes use them; cuda_twin_symbols[] has their names. The
 * agent looks up only symbols that the twin defines, because a tool that traces driver calls reports each failing call.
 */
enum symbol { ARENA, CLOCK, KERNEL, LAUNCH, PID, FLAT, SYMBOLS };

struct cuda_twin_module {
	CUmodule module;
	CUcontext context;
	struct gpubpf_hook_device *device;
	struct cuda_function *original;
	enum gpubpf_compiled_by compiled_by;
	uint32_t symbol_mask; /* bit 1 << enum symbol is set for each symbol that the twin may define */
	char *text;           /* the twin's PTX, until its kernel is found; NULL: the session sent machine code */
	uint64_t load_ns;     /* duration of the module load */
};

/*
 * twin_compile.c. The caller has made the module's context current. Each function returns 0, or a negative errno value
 * with the reason in *why.
 */
extern const char *const cuda_twin_symbols[SYMBOLS];
int cuda_twin_refuse(struct gpubpf_reason *why, const char *what, const char *name, CUresult error);
/* Compile the PTX with the driver's compiler. `registers` is the register limit per GPU thread, or 0 for none. */
int cuda_twin_compile(struct cuda_twin_module *m, const char *text, uint32_t registers, struct gpubpf_reason *why);
/*
 * Compile the PTX after the machine code proved unusable. With lazy loading, the driver checks a module's code only
 * when a function of the module is first used.
 */
int cuda_twin_recompile(struct cuda_twin_module *m, struct gpubpf_reason *why);
int cuda_twin_load_module(struct cuda_twin_module *m, const struct gpubpf_hook_twin_image *image,
			  struct gpubpf_reason *why);

/* twin_kernel.c: operations twin_kernel and twin_kernel_put of struct gpubpf_hook_ops */
int cuda_twin_create(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		     struct gpubpf_reason *why);
void cuda_twin_put(void *twin);

#endif
