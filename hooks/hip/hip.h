/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the HIP adapter. The adapter interposes the runtime's API and records the image from which
 * each kernel was loaded. At a launch, the launch path selects the original or a twin, and the adapter launches it. The
 * application's code objects are loaded unchanged; a twin is a separate module.
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
	void *f; /* hipFunction_t, or address of a registered kernel's host function */
	dim3 grid;
	void **params;
	unsigned shared;
};

/* hip_Memcpy2D. The numbers of the memory types differ by version of HIP. */
struct hip_copy_2d {
	struct {
		size_t x, y;
		int type;
		const void *host;
		void *device, *array;
		size_t pitch;
	} from, to;
	size_t width, height;
};

/* hipMemcpy3DParms */
struct hip_copy_3d {
	struct {
		void *array;
		size_t x, y, z;
		void *memory;
		size_t pitch, columns, rows;
	} from, to;
	size_t width, height, depth; /* width: bytes, or elements if one end is an array */
	int kind;
};

/*
 * Functions of the runtime: the functions that the agent interposes, and other functions that the agent calls. NULL:
 * this version of the runtime lacks the function.
 */
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

/* lookup.c: fills hip_next on the first use of the runtime. Returns false if no runtime is found. */
bool hip_next_init(void);
/* like hip_next_init(), but also returns false, and reports, if a required function is missing */
bool hip_next_complete(void);
extern struct hip_next hip_next;
extern struct hip_driver hip_direct; /* runtime functions for the agent's own calls, without the agent's hooks */

/* module.c: images and the kernels loaded from them */
struct hip_module {
	struct gpubpf_handle base; /* hipModule_t, or the handle of a registered binary; NULL after it was unloaded */
	bool registered;
	enum gpubpf_image_kind kind;
	const char *where; /* address of the image in the application; NULL: loaded from a file */
	size_t size;
	struct gpubpf_kept image;
	/* protects `loaded`; while a thread holds this lock, hip_module_remove() does not free the image */
	pthread_mutex_t lock;
	struct hip_loaded { /* one per device */
		struct hip_loaded *next;
		int device;
		uint64_t code_object; /* the runtime's handle of the code object; 0: not found, see `why` */
		uint64_t base;        /* device address of virtual address 0 of the code object */
		size_t offset, size;  /* offset and size of the code object in the image, in bytes; size 0: unknown */
		const char *why;
	} *loaded;
};

/* A kernel of the application. The launch path treats it as a program: a twin contains the kernel and its callees. */
struct hip_function {
	struct gpubpf_handle base; /* hipFunction_t, or address of a registered kernel's host function */
	struct hip_module *module;
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *_Atomic kernel; /* NULL before the first launch */
	struct gpubpf_users users;                 /* launches that use the kernel; the last user releases the twins */
	char name[];
};

bool hip_active(void); /* is a session connected? the first call joins the session */
/* Evaluates to the result of the runtime's function. */
#define HIP_NEXT(name, arguments) (hip_next_init() && hip_next.name ? hip_next.name arguments : hipErrorNotFound)
/*
 * The same, with the programs of section host/EVENT before and after the call. GPUBPF_HOST_CALL_THEN() describes
 * `then` and the other arguments. The application may call the function before it loads a module, so the process joins
 * the session here.
 */
#define HIP_HOST_CALL_THEN(EVENT, symbol, arguments, then, ...) ({ \
	if (hip_next_init()) \
		hip_active(); \
	GPUBPF_HOST_CALL_THEN(hipError_t, HIP_NEXT(symbol, arguments), result, then, .event = GPUBPF_HOST_##EVENT, \
			      .function = #symbol, ##__VA_ARGS__); \
})
#define HIP_HOST_CALL(EVENT, symbol, arguments, ...) HIP_HOST_CALL_THEN(EVENT, symbol, arguments, (void)0, ##__VA_ARGS__)
bool hip_joined(void); /* has the process joined a session, which may have ended since? */
void hip_module_add(void *handle, bool registered, const void *image);
void hip_module_add_file(void *handle, const char *path);
void hip_module_remove(void *handle);
void hip_function_add(const void *handle, void *module, const char *name);
/* Find the function and keep it alive until hip_function_leave(). Returns NULL for an unknown handle. */
struct hip_function *hip_function_enter(const void *handle);
void hip_function_leave(struct hip_function *f);
/*
 * Returns a malloc'd copy of *size bytes of the module's image, from `offset` on. If *size is 0, copies the whole image
 * and stores its size. Returns NULL on failure, with the reason in *why.
 */
void *hip_module_image(struct hip_module *module, size_t offset, size_t *size, const char **why);
/* Returns the launch path's record of the function; NULL: out of memory. */
struct gpubpf_hook_kernel *hip_function_kernel(struct hip_function *f);

/* loader.c: returns where the runtime has loaded the kernel's code object on a device. The result is cached. */
const struct hip_loaded *hip_loaded_find(struct hip_function *f, int device);
/*
 * Call right after an image was loaded from the application's memory. Records which of the loaded code objects belongs
 * to this module, before the application loads another copy of the image.
 */
void hip_loaded_note(struct hip_module *module);
/* Exclude the code object in this memory from searches, because it belongs to a twin. */
void hip_loaded_ignore(const void *image, size_t size);
void hip_loaded_unignore(const void *image);
/* Returns true if the code object belongs to a loaded module other than `except`. */
bool hip_module_has(const struct hip_module *except, uint64_t code_object);

/* twin_load.c */
struct hip_twin {
	hipFunction_t f;
	struct hip_function *original;
	uint32_t params;         /* number of the original's parameters */
	uint32_t words;          /* mask of enum hip_bind_args: 8-byte words that a launch appends to the arguments */
	size_t words_at;         /* byte offset of the appended words in the arguments */
	int lanes;               /* lanes of a wave */
	int unit_threads;        /* maximum number of threads per multiprocessor */
	int regs, original_regs; /* registers per lane of the twin and of the original; -1: unknown */
	struct gpubpf_hook_fit fit;
};
extern const struct gpubpf_hook_ops hip_hook_ops;
/* Returns the original's handle if f is the handle of a twin; otherwise returns f. */
void *hip_twin_original(void *f);
void hip_twin_note_in_graph(void *f); /* records that a graph contains f, if f is a twin */

/* launch.c */
struct hip_call {
	const void *f;              /* the original's handle */
	uint32_t grid[3], block[3]; /* number of blocks; threads per block */
	uint32_t shared;
	hipStream_t stream;
	void **params, **extra;
	const void *more;     /* data of run() */
	const char *function; /* name of the called function */
	bool node;            /* the call adds or sets a graph node and launches nothing */
	/*
	 * Launch f with these arguments. f is the original (c->f) or a twin. A twin's arguments include the appended
	 * words.
	 */
	hipError_t (*run)(const struct hip_call *c, const void *f, void **params, void **extra);
};

/* Call when the application has looked up the function: prefetch its twin on the current device. */
void hip_function_prefetch(const void *handle);
hipError_t hip_launch(const struct hip_call *call);
/*
 * Returns the key by which the launch path finds a device (gpubpf_hook_device_find()). The key is not a context,
 * because HIP's contexts only name devices.
 */
static inline const void *hip_device_key(int number)
{
	return (const void *)(uintptr_t)(number + 1);
}

/*
 * Call before the application resets a device. Copies the device's maps to host memory and destroys the agent's record
 * of the device.
 */
void hip_device_end(int number);

#endif
