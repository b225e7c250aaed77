/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HIP adapter: what its files share. It answers the runtime's API in the application's place, remembers
 * which image each kernel came from, and at a launch does what the launch path says. The application's code
 * objects are loaded as they came; a twin is a module of ours.
 */
#ifndef GPUBPF_HOOKS_HIP_H
#define GPUBPF_HOOKS_HIP_H

#include "backends/hip/device/device.h"
#include "backends/hip/device/driver.h"
#include "hooks/handles.h"
#include "hooks/launch.h"

/* hipKernelNodeParams */
struct hip_kernel_node {
	dim3 block;
	void **extra;
	void *f;                     /* host address of a registered kernel, or hipFunction_t */
	dim3 grid;
	void **params;
	unsigned shared;
};

/* The runtime's own functions behind the calls that we answer, and others that we need; NULL where this
 * version has none. */
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

/* Our own, under the runtime's names. */
#define HIP_CALL(result, name, symbol, parameters) \
	__attribute__((visibility("default"))) result name parameters __asm__(symbol);
#include "calls.def"

/* lookup.c: filled when the application first reaches for the runtime; false: there is none */
bool hip_next_init(void);
bool hip_next_complete(void);        /* and it has all that we need for twins; says what it lacks */
extern struct hip_next hip_next;
extern struct hip_driver hip_own; /* the runtime for our own work: never comes back into the hooks */

/* module.c: images and the kernels that came from them */
struct hip_module {
	struct gpubpf_handle base;   /* hipModule_t, or the handle of a registered binary; dead once unloaded */
	bool registered;
	enum gpubpf_image_kind kind;
	const char *where;           /* the application's own image; NULL: a file */
	size_t size;
	struct gpubpf_kept image;
	pthread_mutex_t lock;        /* of what follows, and of the image: it goes with the module */
	struct hip_loaded {          /* by device */
		struct hip_loaded *next;
		int device;
		uint64_t code_object;    /* the runtime's handle; 0: not found, and why says so */
		uint64_t base;           /* where virtual address 0 of it was loaded */
		size_t offset, size;     /* of the code object in the image; size 0: not known */
		const char *why;
	} *loaded;
};

/* To the launch path each kernel is a program of its own: its twin is made of it and what it calls. */
struct hip_function {
	struct gpubpf_handle base;   /* hipFunction_t, or the host address of a registered kernel */
	struct hip_module *module;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *_Atomic kernel; /* NULL before its first launch */
	struct gpubpf_users users;   /* launches that look at it; the last one lets go of its twins */
	char name[];
};

bool hip_active(void);               /* there is a session; joins it on the first call */
bool hip_joined(void);               /* it has joined one, which may be over */
void hip_module_add(void *handle, bool registered, const void *image);
void hip_module_add_file(void *handle, const char *path);
void hip_module_remove(void *handle);
void hip_function_add(const void *handle, void *module, const char *name);
/* NULL: not known. Else hip_function_leave() it. */
struct hip_function *hip_function_enter(const void *handle);
void hip_function_leave(struct hip_function *f);
/* A copy of `size` bytes (0: all) of the module's image, malloc()ed; NULL and why. */
void *hip_module_image(struct hip_module *module, size_t offset, size_t *size, const char **why);
/* The kernel of a function for the launch path; NULL: out of memory. */
struct gpubpf_hook_kernel *hip_function_kernel(struct hip_function *f);

/* loader.c: where the runtime has the code object of a kernel, on a device; asked once and kept */
const struct hip_loaded *hip_loaded_find(struct hip_function *f, int device);
/* Just loaded from the application's memory: note where, while no other of the same image is new. */
void hip_loaded_note(struct hip_module *module);
/* The code object that a twin of ours is. */
void hip_loaded_ignore(const void *image, size_t size);
void hip_loaded_forget(const void *image);
/* Is it that of another module that is loaded? */
bool hip_module_has(const struct hip_module *except, uint64_t code_object);

/* twin_load.c */
struct hip_twin {
	hipFunction_t f;
	struct hip_function *original;
	uint32_t params;             /* that the original has */
	uint32_t words;              /* enum hip_bind_args: what each launch adds behind its arguments */
	size_t words_at;             /* and where they lie */
	int lanes;                   /* of a wave */
	int unit_threads;            /* that a multiprocessor holds at most */
	int regs, original_regs;     /* a thread; -1 unknown */
	struct gpubpf_hook_fit fit;
};
extern const struct gpubpf_hook_ops hip_hook_ops;
/* The original's handle, where f is a twin's; else f. */
void *hip_twin_original(void *f);
void hip_twin_keep(void *f);         /* a graph has the twin whose handle this is */

/* launch.c */
struct hip_call {
	const void *f;               /* the original's handle */
	uint32_t grid[3], block[3];  /* blocks; threads a block */
	uint32_t shared;
	hipStream_t stream;
	void **params, **extra;
	const void *more;            /* of run */
	/* Launch f with these arguments: the twin's own, or the original's, where f is c->f. */
	hipError_t (*run)(const struct hip_call *c, const void *f, void **params, void **extra);
};

/* The application has looked up the function, to launch it on the current device. */
void hip_function_ahead(const void *handle);
hipError_t hip_launch(const struct hip_call *call);
/* What stands for a device in the launch path: HIP's contexts are names of devices. */
static inline const void *hip_device_key(int number)
{
	return (const void *)(uintptr_t)(number + 1);
}

/* A device is about to be reset: copy the maps back. */
void hip_device_end(int number);

#endif
