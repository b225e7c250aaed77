/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared declarations of the CUDA adapter. The adapter interposes the driver API (by preloaded symbols, dlsym and
 * cuGetProcAddress) and records the image from which each function was loaded. At a launch, the launch path selects the
 * original or a twin, and the adapter launches it. The application's modules are loaded unchanged; a twin is a separate
 * module.
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
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;

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

/* CUDA_KERNEL_NODE_PARAMS_v2. Version 1 of that structure ends before the member `kernel`. */
struct cuda_kernel_node {
	CUfunction f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
	CUkernel kernel; /* in version 2: the kernel, used if f is NULL */
	CUcontext context;
};

/* CUgraphNodeParams: parameters of a graph node of any type */
struct cuda_any_node {
	int type; /* 0: kernel */
	int reserved[3];
	union {
		long long room[29];
		struct cuda_kernel_node kernel;
	};
	long long reserved2;
};

/* CUmemorytype */
enum {
	CUDA_MEMORY_HOST = 1,
	CUDA_MEMORY_DEVICE = 2,
	CUDA_MEMORY_ARRAY = 3,
	CUDA_MEMORY_UNIFIED = 4,
};

/* The common members of both ends of CUDA_MEMCPY2D and CUDA_MEMCPY3D. */
struct cuda_copy_end {
	int type; /* CUDA_MEMORY_..., which states the member in use; DEVICE and UNIFIED use `device` */
	void *host;
	CUdeviceptr device;
	CUarray array;
};

/* CUDA_MEMCPY2D */
struct cuda_copy_2d {
	struct {
		size_t x, y;
		struct cuda_copy_end end;
		size_t pitch;
	} from, to;
	size_t width, height;
};

/* CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER, in which `reserved` is a context */
struct cuda_copy_3d {
	struct {
		size_t x, y, z, level;
		struct cuda_copy_end end;
		void *reserved;
		size_t pitch, height;
	} from, to;
	size_t width, height, depth;
};

/*
 * CUdevResource of type multiprocessors. The structure is larger than in current headers, because a newer driver may
 * write more bytes.
 */
struct cuda_resource {
	int type;
	char padding[92];
	unsigned sms;
	unsigned room[127];
};

#define CUDA_RESOURCE_SM 1

/* Functions of the driver: the functions that the agent interposes, and other functions that the agent calls. */
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
	CUresult (*cuFuncGetParamInfo)(CUfunction f, size_t i, size_t *offset, size_t *size);
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

/* driver.c: fills cuda_next on the first use of the driver. Returns false if no driver is found. */
bool cuda_next_init(void);
extern struct cuda_next cuda_next;
extern struct cuda_driver cuda_direct;    /* driver functions for the agent's own calls, without the agent's hooks */
extern const char *cuda_missing_function; /* name of a required function that an old driver lacks; NULL: none */
/* lookup.c: returns the agent's function for a driver symbol, or NULL. */
void *cuda_hook_find(const char *symbol);

/* module.c: images and the functions loaded from them */
struct cuda_module {
	struct gpubpf_handle base; /* CUmodule or CUlibrary; NULL after the module was unloaded */
	bool library;
	/* not NULL: this module represents the library `of` in one context, and is unloaded with that library */
	const struct cuda_module *of;
	CUcontext context; /* NULL: all contexts */
	struct gpubpf_kept image;
	struct gpubpf_kept code; /* loaded machine code, if `image` is the PTX from which it was compiled */
	uint64_t number;         /* number of the image, unique in the process */
	bool is_older;           /* loaded before the attach: the first cuda_module_image() looks for the image */
	bool is_searched;        /* the image of an older module was looked for */
	/* name of the file that contains the image, or else of the file that loads it; "": unknown */
	char from[256];
	pthread_mutex_t handle_lock; /* held while an agent thread passes base.handle to the driver */
};

#define CUDA_ATTRIBUTES 16           /* values of enum CUfunction_attribute below this are copied to twins */
#define CUDA_UNSET INT_MIN

/*
 * A function of the application. The launch path treats it as a program: a twin contains the function and its callees.
 */
struct cuda_function {
	/* CUfunction or CUkernel; NULL after its module was unloaded or its context destroyed */
	struct gpubpf_handle base;
	struct cuda_module *module;
	bool is_kernel;            /* the handle is a CUkernel */
	CUcontext context;         /* NULL: all contexts */
	struct gpubpf_users users; /* launches that use the function; the last user releases the twins */
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *kernel;
	/* for a CUfunction of a CUkernel: the CUkernel's record, which holds the settings (attributes, cache config) */
	_Atomic(struct cuda_function *) settings_owner;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values that the application set, or CUDA_UNSET */
	atomic_int cache_config;               /* value that the application set, or CUDA_UNSET */
};

bool cuda_active(void); /* is a session connected? the first call joins the session */

/* Evaluates to the result of the driver's function. */
#define CUDA_NEXT(symbol, arguments) \
	(cuda_next_init() && cuda_next.symbol ? cuda_next.symbol arguments : CUDA_ERROR_NOT_FOUND)
/*
 * The same, with the programs of section host/EVENT before and after the call. GPUBPF_HOST_CALL_THEN() describes
 * `then` and the other arguments. The application may call the function before it loads a module, so the process joins
 * the session here.
 */
#define CUDA_HOST_CALL_THEN(EVENT, symbol, arguments, then, ...) ({ \
	if (cuda_next_init()) \
		cuda_active(); \
	GPUBPF_HOST_CALL_THEN(CUresult, CUDA_NEXT(symbol, arguments), result, then, .event = GPUBPF_HOST_##EVENT, \
			      .function = #symbol, ##__VA_ARGS__); \
})
#define CUDA_HOST_CALL(EVENT, symbol, arguments, ...) \
	CUDA_HOST_CALL_THEN(EVENT, symbol, arguments, (void)0, ##__VA_ARGS__)

/* Record a loaded module. file: `image` is a path. caller: an address in the code that loads the module. */
void cuda_module_add(void *handle, bool library, const void *image, bool file, const void *caller);
/* Record the module that represents `library` in the current context, if that module has no record yet. */
void cuda_module_add_of(void *handle, const struct cuda_module *library);
void cuda_module_remove(void *handle);
/*
 * An agent thread calls this before it passes the module's handle to the driver, and cuda_module_unpin_handle() after
 * that. Meanwhile the application's unload call waits, up to a time limit. Returns false if the module is already
 * unloaded.
 */
bool cuda_module_pin_handle(struct cuda_module *m);
void cuda_module_unpin_handle(struct cuda_module *m);
/*
 * Returns a malloc'd copy of the module's image. The copy is reduced to the parts that twins for compute capability
 * `sm` need (90 for 9.0). kernel: the name of a kernel of the module. Returns NULL on failure, with the reason in *why. code: copy the loaded machine code instead
 * of the PTX from which it was compiled.
 */
void *cuda_module_image(struct cuda_module *m, const char *kernel, bool code, uint32_t sm, size_t *size, const char **why);
struct cuda_module *cuda_module_find(void *handle);
void cuda_function_add(void *handle, struct cuda_module *module, const char *name, bool is_kernel);
/*
 * Returns the function's record. If the agent did not see the function's creation, it queries the driver. Returns NULL
 * for an unknown function.
 */
struct cuda_function *cuda_function_find(void *handle);
/* Record that `handle` is the CUfunction of CUkernel `kernel` in a context. Both handles share their settings. */
void cuda_function_share(void *handle, struct cuda_function *kernel);
/* Returns the record that holds the function's settings: the record of its CUkernel if it has one, else f. */
struct cuda_function *cuda_function_settings(struct cuda_function *f);
/* Keep the function's twins alive until cuda_function_leave(). Returns false if the function was unloaded. */
bool cuda_function_use(struct cuda_function *f);
void cuda_function_leave(struct cuda_function *f);
/* Call before a context is destroyed: mark its modules and functions as dead. */
void cuda_modules_end(CUcontext context);
void cuda_modules_end_all(void); /* at a detach, when no thread is in a hook: release all twins */
/* Free the records of modules and functions, of twins, and of contexts. Call when no thread uses them. */
void cuda_modules_forget(void);
void cuda_twins_forget(void);
void cuda_contexts_forget(void);
void cuda_graphs_forget(void);
bool cuda_contexts_wait(uint64_t ns); /* wait until all kernels have ended and no stream is captured; false: not in time */
/*
 * An image that the agent has found by the name of a kernel may be another one. Returns true if the function and the
 * same function of that image need the same registers, memory and parameters. The caller has entered the context.
 */
bool cuda_module_matches(struct cuda_module *m, CUfunction f, const char *kernel, uint32_t sm);
/*
 * learn.c: call use() with the wrapper of the fat binary in a loaded executable or library that defines the kernel. That
 * object stays loaded until use() returns. Returns NULL. If there is no such fat binary, or more than one, returns the
 * reason and does not call use(). May run destructors of a library that the application unloads meanwhile.
 */
const char *cuda_image_learn(const char *kernel, void (*use)(const void *image, void *arg), void *arg);
/* Returns the CUfunction of f in the context. If f is a CUfunction, returns its handle. */
CUfunction cuda_function_in_context(const struct cuda_function *f, CUcontext context);

/*
 * culink.c: stores copies of the inputs of linkers that run in the application, until each linker is destroyed. `type`
 * is the input type, as that linker numbers it. Each copy is NUL-terminated.
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
/*
 * Concatenate `first` (malloc'd, or NULL) and all inputs for which is_ptx() is true. Returns a malloc'd string; NULL:
 * out of memory.
 */
char *cuda_link_text(char *first, const struct cuda_link_input *inputs, bool (*is_ptx)(const struct cuda_link_input *));

/* jit.c: stores the PTX of machine code that was generated in the application; the machine code's bytes are the key */
/* Returns true if a pattern of the plan matches a function in the image, or if the image's functions are unknown. */
bool cuda_jit_is_matched(const void *image, size_t size);
void cuda_jit_add(const void *image, size_t size, const char *ptx);
/*
 * Returns the PTX from which the image was compiled, as a malloc'd string; NULL: unknown. *text_size receives its
 * bytes, including the NUL.
 */
char *cuda_jit_ptx(const void *image, size_t size, size_t *text_size);

/* twin_load.c, twin_kernel.c */
struct cuda_twin_handle {
	struct gpubpf_handle base; /* handle f; NULL after the twin was unloaded */
	CUfunction f, flat;        /* flat: the twin's variant for one-dimensional launches outside graphs, or NULL */
	CUcontext context;
	/*
	 * device addresses of variables of the twin that a launch writes in stream order; 0: the twin has no such
	 * variable
	 */
	CUdeviceptr launch, pid;
	CUdeviceptr clock;           /* device address of the variable with the clock's offset in ns; 0: none */
	atomic_uint_fast64_t offset; /* last value written to the variable at `clock` */
	struct cuda_function *original;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* values that the agent set on the twin, or CUDA_UNSET */
	atomic_int cache_config;
	struct gpubpf_hook_fit fit;
	int registers[2]; /* registers per GPU thread of the original [0] and of the twin [1] */
	enum gpubpf_compiled_by compiled_by;
	int unit_registers; /* registers of a multiprocessor */
	/*
	 * bytes of static shared memory of the twin; limit of a launch's dynamic shared memory, in bytes, < 0: unknown
	 */
	int shared, max_added_shared;
	/* stream of the first launch that wrote `launch`, plus 1; 0: no launch wrote it yet */
	_Atomic uintptr_t stream;
	atomic_bool is_in_graph; /* a graph may contain the twin */
};
extern const struct gpubpf_hook_ops cuda_hook_ops;
/* Returns the record of the twin with this handle, or NULL if the handle is not a twin's. */
const struct cuda_twin_handle *cuda_twin_find(CUfunction twin);
/* Call when the context is destroyed: mark its twins as dead, since the driver may reuse their handles. */
void cuda_twins_end(CUcontext context);

/* context.c: returns the device of a context; NULL without a context */
struct gpubpf_hook_device *cuda_device_of(CUcontext context);

/* launch.c: a launch call of any kind. run() makes the driver's call with f, the original or the twin. */
struct cuda_call {
	CUfunction f;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	bool per_thread;       /* stream 0 means the per-thread default stream */
	bool node;             /* the call adds a graph node and launches nothing; `stream` is not used */
	const void *arguments; /* passed to run() */
	CUresult (*run)(const struct cuda_call *c, CUfunction f);
	CUcontext context;    /* context in the parameters of the graph node, or NULL */
	void **params;        /* addresses of the kernel's arguments, or NULL */
	const char *function; /* name of the called function */
};
/*
 * Call when the application has looked up the function: prefetch its twin, in the function's context or else in the
 * current one.
 */
void cuda_function_prefetch(void *handle);
CUresult cuda_launch(const struct cuda_call *call);
/* Operation `argument` of struct gpubpf_hook_ops; l->call is a struct cuda_call. */
int cuda_argument(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value);

#endif
