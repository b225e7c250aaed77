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

/* CUDA_KERNEL_NODE_PARAMS_v2; version 1 ends before `kernel` */
struct cuda_kernel_node {
	CUfunction f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
	CUkernel kernel;             /* version 2: the kernel if f is NULL */
	CUcontext context;
};

/* CUgraphNodeParams: a node of any type */
struct cuda_any_node {
	int type;                    /* 0: kernel */
	int reserved[3];
	union {
		long long room[29];
		struct cuda_kernel_node kernel;
	};
	long long reserved2;
};

/* CUdevResource of type multiprocessors; the extra room allows for larger versions of it */
struct cuda_resource {
	int type;
	char padding[92];
	unsigned sms;
	unsigned room[127];
};

#define CUDA_RESOURCE_SM 1

/* The driver's functions: the interposed ones, and others that the agent needs. */
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
extern struct cuda_driver cuda_direct; /* driver entry points for the agent's own calls; they bypass the hooks */
extern const char *cuda_missing_function;    /* a required function that an old driver lacks; NULL: none */
/* lookup.c: the agent's function for a driver symbol, or NULL */
void *cuda_hook_find(const char *symbol);

/* module.c: images and the functions loaded from them */
struct cuda_module {
	struct gpubpf_handle base;   /* CUmodule or CUlibrary; dead once unloaded */
	bool library;
	/* the library that this module instantiates in a context, and whose end is also its end */
	const struct cuda_module *of;
	CUcontext context;           /* NULL: all contexts */
	struct gpubpf_kept image;
	struct gpubpf_kept code;     /* the loaded machine code, if `image` is the PTX that it was compiled from */
	uint64_t number;             /* number of its image, unique in the process */
	char from[256];              /* file that contains the image, or else that loaded it; "" unknown */
	pthread_mutex_t lent;        /* held while another thread passes its handle to the driver */
};

#define CUDA_ATTRIBUTES 16           /* the agent copies CUfunction_attributes below this to twins */
#define CUDA_UNSET INT_MIN

/* Each function is a program of the launch path: its twin contains it and its callees. */
struct cuda_function {
	struct gpubpf_handle base;   /* CUfunction or CUkernel; dead with its module or context */
	struct cuda_module *module;
	bool is_kernel;              /* it is a CUkernel */
	CUcontext context;           /* NULL: all contexts */
	struct gpubpf_users users;   /* launches that use it; the last one releases its twins */
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *kernel;
	/* the CUkernel of this function, if it holds the settings, or NULL */
	_Atomic(struct cuda_function *) settings_owner;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values set by the application, or CUDA_UNSET */
	atomic_int cache_config;     /* likewise */
};

bool cuda_active(void);              /* is a session connected? The first call joins it. */
/* caller: an address in the code that loads the module */
void cuda_module_add(void *handle, bool library, const void *image, bool file, const void *caller);
/* Add a library's module in the current context, unless it is known. */
void cuda_module_add_of(void *handle, const struct cuda_module *library);
void cuda_module_remove(void *handle);
/* An agent thread is about to pass the module's handle to the driver. Until cuda_module_unpin_handle(), unloading waits
 * for such threads up to a limit. False: already unloaded. */
bool cuda_module_pin_handle(struct cuda_module *m);
void cuda_module_unpin_handle(struct cuda_module *m);
/* A malloc'd copy of its image, reduced to the parts that twins for `sm` need. NULL with the reason. code: the
 * loaded machine code instead of the PTX that it was compiled from. */
void *cuda_module_image(struct cuda_module *m, bool code, uint32_t sm, size_t *size, const char **why);
struct cuda_module *cuda_module_find(void *handle);
void cuda_function_add(void *handle, struct cuda_module *module, const char *name, bool is_kernel);
/* The function's record. For one whose creation was not intercepted, the agent queries the driver. NULL: unknown. */
struct cuda_function *cuda_function_find(void *handle);
/* `handle` is the kernel's function in a context: the two share their settings. */
void cuda_function_share(void *handle, struct cuda_function *kernel);
/* The record that holds the function's settings. */
struct cuda_function *cuda_function_settings(struct cuda_function *f);
/* Keep a function's twins alive during a launch. False: it was unloaded meanwhile. */
bool cuda_function_use(struct cuda_function *f);
void cuda_function_leave(struct cuda_function *f);
/* The context is about to be destroyed, with its modules and functions. */
void cuda_modules_end(CUcontext context);
/* The CUfunction of a CUfunction, or of a CUkernel in a context. */
CUfunction cuda_function_in_context(const struct cuda_function *f, CUcontext context);

/*
 * culink.c: copies of the inputs of linkers that run in the program, until the linker is destroyed. `type` is the
 * linker's own number. Each copy is NUL-terminated.
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

/* jit.c: machine code generated in the program, found by its content */
/* true: some pattern matches a function in it, or its functions are unknown */
bool cuda_jit_is_matched(const void *image, size_t size);
void cuda_jit_add(const void *image, size_t size, const char *ptx);
/* The PTX that the image was compiled from, malloc'd; its size includes the NUL. NULL: unknown. */
char *cuda_jit_ptx(const void *image, size_t size, size_t *text_size);

/* twin_load.c, twin_kernel.c */
struct cuda_twin_handle {
	struct gpubpf_handle base;   /* handle f, until it is unloaded */
	CUfunction f, flat;          /* flat: variant for one-dimensional launches outside graphs, or NULL */
	CUcontext context;
	CUdeviceptr launch, pid;     /* words that a launch writes in stream order; 0: not used by the probes */
	CUdeviceptr clock;           /* word with the clock's offset, written after a new calibration */
	atomic_uint_fast64_t offset; /* value of that word */
	struct cuda_function *original;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values set on the twin */
	atomic_int cache_config;
	struct gpubpf_hook_fit fit;
	int registers[2];            /* per thread: of the original, and of the twin */
	enum gpubpf_compiled_by compiled_by;
	int unit_registers;           /* registers of a multiprocessor */
	/* bytes of static shared memory of the twin, and the most that a launch may add; < 0: unknown */
	int shared, max_added_shared;
	_Atomic uintptr_t stream;    /* stream of the first launch that wrote its number */
	atomic_bool kept;            /* a graph may contain it */
};
extern const struct gpubpf_hook_ops cuda_hook_ops;
/* The record of a twin's function; NULL: not a twin. */
const struct cuda_twin_handle *cuda_twin_find(CUfunction twin);
/* The context is destroyed, with its twins: the driver may reuse their handles. */
void cuda_twins_end(CUcontext context);

/* context.c: the device of a context; NULL without a context */
struct gpubpf_hook_device *cuda_device_of(CUcontext context);

/* launch.c: common form of all kinds of launches; run() launches the original or its twin */
struct cuda_call {
	CUfunction f;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	bool per_thread;              /* stream 0 is the per-thread default stream */
	bool node;                    /* adds a graph node instead of launching: there is no stream to write to */
	const void *arguments;        /* passed to run() */
	CUresult (*run)(const struct cuda_call *c, CUfunction f);
	CUcontext context;            /* context that a graph node specifies, or NULL */
};
/* The application has looked up the function to launch it in its context, or else in the current one. */
void cuda_function_prefetch(void *handle);
CUresult cuda_launch(const struct cuda_call *call);

#endif
