/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the CUDA adapter. It interposes the driver API (by preloaded symbols, dlsym and
 * cuGetProcAddress) and records which image each function came from. At a launch it carries out the launch path's
 * decision. The application's modules are loaded unchanged; a twin is a separate module.
 */
#ifndef GPUBPF_HOOKS_CUDA_H
#define GPUBPF_HOOKS_CUDA_H

#include <limits.h>

#include "backends/cuda/device/device.h"
#include "backends/cuda/device/driver.h"
#include "hooks/handles.h"
#include "hooks/launch/launch.h"

typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* CUDA driver API reference, CUlaunchConfig */
typedef struct CUlaunchConfig_st {
	unsigned gx, gy, gz, bx, by, bz, shared;
	CUstream stream;
	void *attributes;
	unsigned nattributes;
} CUlaunchConfig;

/* CUDA_LAUNCH_PARAMS */
struct cuda_launch {
	CUfunction f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	CUstream stream;
	void **params;
};

/* CUDA_KERNEL_NODE_PARAMS_v2; version 1 has the members before `kernel` */
struct cuda_kernel_node {
	CUfunction f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
	CUkernel kernel; /* version 2: the kernel if f is NULL */
	CUcontext context;
};

/* CUgraphNodeParams: a node of any type */
struct cuda_any_node {
	int type; /* 0: kernel */
	int reserved[3];
	union {
		long long room[29];
		struct cuda_kernel_node kernel;
	};
	long long reserved2;
};

/* CUdevResource of type multiprocessors; longer than today's, since the driver may write a newer version */
struct cuda_resource {
	int type;
	char padding[92];
	unsigned sms;
	unsigned room[127];
};

#define CUDA_RESOURCE_SM 1

/* The driver's functions: those that the agent interposes, and others that it calls. */
struct cuda_next {
#define CUDA_CALL(symbol, parameters, arguments) CUresult (*symbol) parameters;
#include "calls.def"
	CUresult (*cuGetProcAddress)(const char *name, void **pfn, int version, uint64_t flags);
	CUresult (*cuGetProcAddress_v2)(const char *name, void **pfn, int version, uint64_t flags, int *status);
	CUresult (*cuCtxGetCurrent)(CUcontext *context);
	CUresult (*cuCtxFromGreenCtx)(CUcontext *context, CUgreenCtx green);
	CUresult (*cuGreenCtxGetDevResource)(CUgreenCtx green, struct cuda_resource *resource, int type);
	CUresult (*cuStreamGetGreenCtx)(CUstream stream, CUgreenCtx *green);
	CUresult (*cuStreamIsCapturing)(CUstream stream, int *status);
	CUresult (*cuStreamIsCapturing_ptsz)(CUstream stream, int *status);
	CUresult (*cuStreamGetCtx)(CUstream stream, CUcontext *context, CUgreenCtx *green);
	CUresult (*cuMemHostGetDevicePointer)(CUdeviceptr *address, void *memory, unsigned flags);
	CUresult (*cuPointerGetAttribute)(void *value, int attribute, CUdeviceptr address);
	CUresult (*cuGraphCreate)(CUgraph *graph, unsigned flags);
	CUresult (*cuGraphDestroy)(CUgraph graph);
	CUresult (*cuFuncGetAttribute)(int *value, int attribute, CUfunction f);
	CUresult (*cuFuncGetModule)(CUmodule *module, CUfunction f);
	CUresult (*cuFuncGetName)(const char **name, CUfunction f);
	CUresult (*cuKernelGetName)(const char **name, CUkernel kernel);
	CUresult (*cuKernelGetLibrary)(CUlibrary *library, CUkernel kernel);
	CUresult (*cuLibraryGetGlobal)(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name);
	CUresult (*cuOccupancy)(int *blocks, CUfunction f, int threads, size_t shared);
	CUresult (*cuStreamWriteValue64)(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
	CUresult (*cuStreamWriteValue64_ptsz)(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
};

/* The agent's functions under the driver's names. */
#define CUDA_CALL(symbol, parameters, arguments) \
	__attribute__((visibility("default"))) CUresult symbol parameters;
#include "calls.def"

/* driver.c: filled on the first use of the driver; false without a driver */
bool cuda_next_init(void);
extern struct cuda_next cuda_next;
extern struct cuda_driver cuda_direct;    /* driver entry points for the agent's own calls; they bypass the hooks */
extern const char *cuda_missing_function; /* a required function that an old driver lacks; NULL: none */
/* lookup.c: the agent's function for a driver symbol, or NULL */
void *cuda_hook_find(const char *symbol);

/* module.c: images and the functions loaded from them */
struct cuda_module {
	struct gpubpf_handle base; /* CUmodule or CUlibrary; dead once unloaded */
	bool library;
	/* not NULL: this module is that library's in one context, and ends with the library */
	const struct cuda_module *of;
	CUcontext context; /* NULL: all contexts */
	struct gpubpf_kept image;
	struct gpubpf_kept code;     /* the loaded machine code, if `image` is the PTX from which it was compiled */
	uint64_t number;             /* number of its image, unique in the process */
	char from[256];              /* file that contains the image, or else the loading file; "": unknown */
	pthread_mutex_t handle_lock; /* held while an agent thread passes base.handle to the driver */
};

#define CUDA_ATTRIBUTES 16           /* CUfunction_attributes from 0 to 15 are copied to twins */
#define CUDA_UNSET INT_MIN

/* Each function is a program of the launch path: its twin contains it and its callees. */
struct cuda_function {
	struct gpubpf_handle base; /* CUfunction or CUkernel; dead once its module or context ends */
	struct cuda_module *module;
	bool is_kernel;            /* the handle is a CUkernel */
	CUcontext context;         /* NULL: all contexts */
	struct gpubpf_users users; /* launches that use it; the last one releases its twins */
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *kernel;
	/* not NULL: the CUkernel of this CUfunction, whose record has the settings (attributes, cache config) */
	_Atomic(struct cuda_function *) settings_owner;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values that the application set, or CUDA_UNSET */
	atomic_int cache_config;               /* value that the application set, or CUDA_UNSET */
};

bool cuda_active(void); /* is a session connected? The first call joins it. */
/* file: `image` is a path. caller: an address in the code that loads the module. */
void cuda_module_add(void *handle, bool library, const void *image, bool file, const void *caller);
/* Add the library's module in the current context, unless it has a record. */
void cuda_module_add_of(void *handle, const struct cuda_module *library);
void cuda_module_remove(void *handle);
/* An agent thread calls it before it passes the module's handle to the driver. Until cuda_module_unpin_handle(), the
 * application's unload call waits for that thread, up to a limit. False: already unloaded. */
bool cuda_module_pin_handle(struct cuda_module *m);
void cuda_module_unpin_handle(struct cuda_module *m);
/* A malloc'd copy of the module's image, reduced to the parts that twins for compute capability `sm` (90 for 9.0) need.
 * NULL with *why. code: copy the loaded machine code, not the PTX from which it was compiled. */
void *cuda_module_image(struct cuda_module *m, bool code, uint32_t sm, size_t *size, const char **why);
struct cuda_module *cuda_module_find(void *handle);
void cuda_function_add(void *handle, struct cuda_module *module, const char *name, bool is_kernel);
/* The function's record. If the agent did not see the function's creation, it queries the driver. NULL: unknown. */
struct cuda_function *cuda_function_find(void *handle);
/* Record that `handle` is the CUfunction of CUkernel `kernel` in a context: the two share their settings. */
void cuda_function_share(void *handle, struct cuda_function *kernel);
/* The record that holds the function's settings. */
struct cuda_function *cuda_function_settings(struct cuda_function *f);
/* Keep the function's twins alive until cuda_function_leave(). False: the function was unloaded. */
bool cuda_function_use(struct cuda_function *f);
void cuda_function_leave(struct cuda_function *f);
/* Mark the context's modules and functions as dead: the context is about to be destroyed. */
void cuda_modules_end(CUcontext context);
/* The CUfunction of f in the context; f itself if it is a CUfunction. */
CUfunction cuda_function_in_context(const struct cuda_function *f, CUcontext context);

/*
 * culink.c: copies of the inputs of linkers that run in the application, until the linker is destroyed. `type` is the
 * input type in the numbering of that linker. Each copy is NUL-terminated.
 */
struct cuda_link_input {
	struct cuda_link_input *next;
	int type;
	size_t size;
	char data[];
};

void cuda_link_input(const void *linker, int type, const void *data, size_t size);
void cuda_link_file(const void *linker, int type, const char *path);
const struct cuda_link_input *cuda_link_inputs(const void *linker);
void cuda_link_end(const void *linker);
/* Concatenate `first` (malloc'd, or NULL) and the inputs that are PTX. The result is malloc'd; NULL: out of memory. */
char *cuda_link_text(char *first, const struct cuda_link_input *inputs, bool (*is_ptx)(const struct cuda_link_input *));

/* jit.c: PTX of machine code that was generated in the application, found by the machine code's bytes */
/* Does a pattern of the plan match a function in the image? True also if its functions are unknown. */
bool cuda_jit_is_matched(const void *image, size_t size);
void cuda_jit_add(const void *image, size_t size, const char *ptx);
/* The PTX from which the image was compiled, malloc'd; *text_size includes the NUL. NULL: unknown. */
char *cuda_jit_ptx(const void *image, size_t size, size_t *text_size);

/* twin_load.c, twin_kernel.c */
struct cuda_twin_handle {
	struct gpubpf_handle base; /* the handle is f until the twin is unloaded */
	CUfunction f, flat;        /* flat: the twin's variant for 1-D launches outside graphs, or NULL */
	CUcontext context;
	CUdeviceptr launch, pid;     /* addresses of words that a launch writes in stream order; 0: not used */
	CUdeviceptr clock;           /* address of the word with the clock's offset in ns; 0: not used */
	atomic_uint_fast64_t offset; /* value of that word */
	struct cuda_function *original;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values that the agent set on the twin */
	atomic_int cache_config;
	struct gpubpf_hook_fit fit;
	int registers[2]; /* registers per GPU thread: of the original, of the twin */
	enum gpubpf_compiled_by compiled_by;
	int unit_registers; /* registers of a multiprocessor */
	/* bytes of static shared memory of the twin; limit of dynamic shared memory for a launch; < 0: unknown */
	int shared, max_added_shared;
	_Atomic uintptr_t stream; /* stream of the first launch that wrote `launch`, plus 1; 0: none */
	atomic_bool is_in_graph;  /* a graph may contain the twin */
};
extern const struct gpubpf_hook_ops cuda_hook_ops;
/* The record of the twin with this handle; NULL: not a twin's handle. */
const struct cuda_twin_handle *cuda_twin_find(CUfunction twin);
/* The context is destroyed: mark its twins as dead, since the driver may reuse their handles. */
void cuda_twins_end(CUcontext context);

/* context.c: the device of a context; NULL without a context */
struct gpubpf_hook_device *cuda_device_of(CUcontext context);

/* launch.c: a launch call of any kind; run() makes the driver's call for the original or the twin */
struct cuda_call {
	CUfunction f;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	bool per_thread;       /* stream 0 means the per-thread default stream */
	bool node;             /* the call adds a graph node and launches nothing; there is no stream */
	const void *arguments; /* passed to run() */
	CUresult (*run)(const struct cuda_call *c, CUfunction f);
	CUcontext context; /* context that the graph node specifies, or NULL */
};
/* The application looked up the function: prefetch its twin in the function's context, or in the current one. */
void cuda_function_prefetch(void *handle);
CUresult cuda_launch(const struct cuda_call *call);

#endif
