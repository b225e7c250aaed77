/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the HIP adapter. It interposes the runtime's API and records which image each kernel came
 * from. At a launch it carries out the launch path's decision. The application's code objects are loaded unchanged; a
 * twin is a separate module.
 */
#ifndef GPUBPF_HOOKS_HIP_H
#define GPUBPF_HOOKS_HIP_H

#include "backends/hip/device/device.h"
#include "backends/hip/device/driver.h"
#include "hooks/handles.h"
#include "hooks/launch/launch.h"

/* hipKernelNodeParams */
struct hip_kernel_node {
	dim3 block;
	void **extra;
	void *f; /* host address of a registered kernel, or hipFunction_t */
	dim3 grid;
	void **params;
	unsigned shared;
};

/* The runtime's functions: those that the agent interposes, and others that it calls. NULL: this version lacks it. */
struct hip_next {
#define HIP_CALL(result, name, symbol, parameters) result (*name) parameters;
#include "calls.def"
	hipError_t (*attributes)(struct hip_function_attributes *attributes, const void *f);
	hipError_t (*occupancy)(int *blocks, const void *f, int threads, size_t shared);
	hipError_t (*module_occupancy)(int *blocks, hipFunction_t f, int threads, size_t shared);
	int (*stream_device)(hipStream_t stream);
	hipError_t (*stream_capture)(hipStream_t stream, int *status, unsigned long long *id, hipGraph_t *graph,
				     const hipGraphNode_t **deps, size_t *ndeps);
	hipError_t (*stream_depend)(hipStream_t stream, hipGraphNode_t *deps, size_t ndeps, unsigned flags);
	hipError_t (*stream_capturing)(hipStream_t stream, int *status);
	hipError_t (*device_pointer)(void **address, void *memory, unsigned flags);
};

/* The agent's functions under the runtime's names. */
#define HIP_CALL(result, name, symbol, parameters) \
	__attribute__((visibility("default"))) result name parameters __asm__(symbol);
#include "calls.def"

/* lookup.c: filled on the first use of the runtime; false without a runtime */
bool hip_next_init(void);
bool hip_next_complete(void); /* as hip_next_init(); also false, with a report, if a function is missing */
extern struct hip_next hip_next;
extern struct hip_driver hip_direct; /* runtime entry points for the agent's own calls; they bypass the hooks */

/* module.c: images and the kernels loaded from them */
struct hip_module {
	struct gpubpf_handle base; /* hipModule_t, or the handle of a registered binary; dead once unloaded */
	bool registered;
	enum gpubpf_image_kind kind;
	const char *where; /* where the application has the image in memory; NULL: loaded from a file */
	size_t size;
	struct gpubpf_kept image;
	pthread_mutex_t lock; /* protects the members below, and the image from being freed */
	struct hip_loaded {   /* one per device */
		struct hip_loaded *next;
		int device;
		uint64_t code_object; /* the runtime's handle; 0: not found, see `why` */
		uint64_t base;        /* device address at which virtual address 0 of the code object is */
		size_t offset, size;  /* bytes: the code object's place in the image; size 0: unknown */
		const char *why;
	} *loaded;
};

/* Each kernel is a program of the launch path: its twin contains it and its callees. */
struct hip_function {
	struct gpubpf_handle base; /* hipFunction_t, or the host address of a registered kernel */
	struct hip_module *module;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *_Atomic kernel; /* NULL before its first launch */
	struct gpubpf_users users;                 /* launches that use it; the last one releases its twins */
	char name[];
};

bool hip_active(void); /* is a session connected? The first call joins it. */
bool hip_joined(void); /* has the process joined a session, even if it has ended? */
void hip_module_add(void *handle, bool registered, const void *image);
void hip_module_add_file(void *handle, const char *path);
void hip_module_remove(void *handle);
void hip_function_add(const void *handle, void *module, const char *name);
/* Find the function and keep it alive until hip_function_leave(). NULL: unknown. */
struct hip_function *hip_function_enter(const void *handle);
void hip_function_leave(struct hip_function *f);
/* A malloc'd copy of *size bytes of the module's image at `offset` (*size 0: all, and its size is stored). NULL with
 * *why. */
void *hip_module_image(struct hip_module *module, size_t offset, size_t *size, const char **why);
/* The launch path's record of the function; NULL: out of memory. */
struct gpubpf_hook_kernel *hip_function_kernel(struct hip_function *f);

/* loader.c: where the runtime has loaded a kernel's code object on a device; queried once and cached */
const struct hip_loaded *hip_loaded_find(struct hip_function *f, int device);
/* Call right after the image was loaded from the application's memory: records which loaded code object is this
 * module's, before another copy of the image is loaded. */
void hip_loaded_note(struct hip_module *module);
/* Exclude the code object in this memory from searches: it is one of the agent's twins. */
void hip_loaded_ignore(const void *image, size_t size);
void hip_loaded_unignore(const void *image);
/* Does the code object belong to a loaded module other than `except`? */
bool hip_module_has(const struct hip_module *except, uint64_t code_object);

/* twin_load.c */
struct hip_twin {
	hipFunction_t f;
	struct hip_function *original;
	uint32_t params;         /* number of the original's parameters */
	uint32_t words;          /* mask of enum hip_bind_args: words that a launch appends to the arguments */
	size_t words_at;         /* bytes: offset of these words in the arguments */
	int lanes;               /* lanes of a wave */
	int unit_threads;        /* maximum threads of a multiprocessor */
	int regs, original_regs; /* registers per lane of the twin, of the original; -1: unknown */
	struct gpubpf_hook_fit fit;
};
extern const struct gpubpf_hook_ops hip_hook_ops;
/* The original's handle if f is the handle of a twin; else f. */
void *hip_twin_original(void *f);
void hip_twin_note_in_graph(void *f); /* a graph contains kernel f, if it is a twin */

/* launch.c */
struct hip_call {
	const void *f;              /* the original's handle */
	uint32_t grid[3], block[3]; /* number of blocks; threads per block */
	uint32_t shared;
	hipStream_t stream;
	void **params, **extra;
	const void *more; /* data of run() */
	/* Launch f with these arguments. f is the original (c->f), or a twin, whose arguments include its words. */
	hipError_t (*run)(const struct hip_call *c, const void *f, void **params, void **extra);
};

/* The application looked up the function: prefetch its twin on the current device. */
void hip_function_prefetch(const void *handle);
hipError_t hip_launch(const struct hip_call *call);
/* The key by which the launch path finds a device (gpubpf_hook_device_find()): not a context, since HIP's contexts only
 * name devices. */
static inline const void *hip_device_key(int number)
{
	return (const void *)(uintptr_t)(number + 1);
}

/* Call before a device is reset: copies the maps back and ends the device. */
void hip_device_end(int number);

#endif
