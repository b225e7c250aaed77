/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the idle library (libgpubpf-idle.so) and the agent. The preloaded idle library prepares an
 * application for a later attach. It exports a thunk for each function that the agent hooks, and records facts that the
 * agent cannot query later. A thunk jumps to the address in its slot. The agent hooks a function by a store into the
 * function's slot.
 *
 * The agent finds the library by its exported function gpubpf_idle_open().
 */
#ifndef GPUBPF_HOOKS_IDLE_H
#define GPUBPF_HOOKS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_IDLE_VERSION 1
#define GPUBPF_IDLE_OPEN "gpubpf_idle_open"

/* A loaded module or library of CUDA. */
struct gpubpf_idle_module {
	void *handle, *context; /* CUmodule or CUlibrary; context: the current context at the load, or NULL */
	const void *image;      /* the application's image in a loaded file, or a copy of it; NULL: unknown */
	const char *path;       /* path of the file that the application loaded, or NULL */
	const char *from; /* path of the file that contains the image, or of the code that loaded it; "": unknown */
};

/* How an argument was set. */
enum gpubpf_idle_how { GPUBPF_IDLE_UNSET, GPUBPF_IDLE_VALUE, GPUBPF_IDLE_NULL, GPUBPF_IDLE_SVM };

#define GPUBPF_IDLE_INLINE 16 /* bytes of a value that the record itself holds */

struct gpubpf_idle_arg {
	uint32_t how, size;
	union {
		unsigned char bytes[GPUBPF_IDLE_INLINE];
		void *data; /* if size > GPUBPF_IDLE_INLINE: malloc'd */
		const void *pointer;
	};
};

/* A parameter of clSetKernelExecInfo(). */
struct gpubpf_idle_info {
	struct gpubpf_idle_info *next;
	uint32_t name;
	size_t size;
	unsigned char value[];
};

/* Arguments of an OpenCL kernel. Only the threads that use the kernel may read them, as OpenCL demands for a kernel. */
struct gpubpf_idle_kernel {
	struct gpubpf_idle_kernel *next;
	void *handle;
	uint32_t nargs, room; /* number of arguments of the kernel; number for which there is room */
	bool is_incomplete;   /* memory was short, so the record misses a value */
	struct gpubpf_idle_info *infos;
	struct gpubpf_idle_arg args[];
};

struct gpubpf_idle {
	/*
	 * Returns the slot of a runtime's function, or NULL if the library has no thunk for it. If the slot is NULL, the
	 * application has not called the function yet. The thunk then finds the runtime's function.
	 */
	void **(*slot)(const char *symbol);
	/* Call fn() for a module. The record is valid until fn() returns. Returns false if the module has no record. */
	bool (*use_module)(void *handle, void (*fn)(const struct gpubpf_idle_module *module, void *arg), void *arg);
	/* Returns the kernel's record, or NULL. */
	const struct gpubpf_idle_kernel *(*find_kernel)(void *handle);
};

/* Fill *idle with the functions of version `version`. Returns false if the library has another version. */
bool gpubpf_idle_open(uint32_t version, struct gpubpf_idle *idle);
typedef bool (*gpubpf_idle_open_fn)(uint32_t version, struct gpubpf_idle *idle);

#endif
