/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA adapter: what its files share. It answers the driver API in the application's place (preloaded:
 * symbols, dlsym, cuGetProcAddress), remembers which image each function came from, and at a launch does
 * what the launch path says. The application's modules are loaded as they came; a twin is a module of ours.
 */
#ifndef GPUBPF_HOOKS_CUDA_H
#define GPUBPF_HOOKS_CUDA_H

#include <limits.h>

#include "backends/cuda/device/device.h"
#include "backends/cuda/device/driver.h"
#include "hooks/handles.h"
#include "hooks/launch.h"

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

/* CUDA_KERNEL_NODE_PARAMS_v2; _v1 ends before `kernel` */
struct cuda_kernel_node {
	CUfunction f;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
	CUkernel kernel;             /* _v2: the kernel where f is NULL */
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

/* CUdevResource of multiprocessors; room: for larger ones than we know */
struct cuda_resource {
	int type;
	char padding[92];
	unsigned sms;
	unsigned room[127];
};

#define CUDA_RESOURCE_SM 1

/* The driver's own functions behind the calls that we answer, and others that we need. */
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

/* Our own, under the driver's names. */
#define CUDA_CALL(symbol, parameters, arguments) \
	__attribute__((visibility("default"))) CUresult symbol parameters;
#include "calls.def"

/* lookup.c: filled when the application first reaches for the driver; false: there is none */
bool cuda_next_init(void);
extern struct cuda_next cuda_next;
extern struct cuda_driver cuda_own; /* the driver for our own work: never comes back into the hooks */
extern const char *cuda_lacking;    /* a function that the driver is too old to have, though we need it; NULL: none */
/* Our function for a driver symbol, NULL where we have none. */
void *cuda_hook_find(const char *symbol);

/* module.c: images and the functions that came from them */
struct cuda_module {
	struct gpubpf_handle base;   /* CUmodule or CUlibrary; dead once unloaded */
	bool library;
	const struct cuda_module *of; /* the library whose module in a context this is, with which it goes */
	CUcontext context;           /* NULL: of all */
	struct gpubpf_kept image;
	struct gpubpf_kept code;     /* what was loaded, where `image` is the PTX that it was made of */
	uint64_t number;             /* of its image, which no other module of the process has */
	char from[256];              /* the file that its image lies in, or else that loaded it; "" unknown */
	pthread_mutex_t lent;        /* its handle, to driver calls of other threads than the application's */
};

#define CUDA_ATTRIBUTES 16           /* CUfunction_attribute below this are mirrored to twins */
#define CUDA_UNSET INT_MIN

/* To the launch path each function is a program of its own: its twin is made of it and what it calls. */
struct cuda_function {
	struct gpubpf_handle base;   /* CUfunction or CUkernel; dead when its module or its context is */
	struct cuda_module *module;
	bool is_kernel;              /* a CUkernel */
	CUcontext context;           /* NULL: of all */
	struct gpubpf_users users;   /* launches that look at it; the last one lets go of its twins */
	struct gpubpf_hook_program *program;
	struct gpubpf_hook_kernel *kernel;
	_Atomic(struct cuda_function *) shared_with; /* the CUkernel that it is of, which has what is set; NULL: it has it itself */
	atomic_int attribute[CUDA_ATTRIBUTES]; /* as the application set them; CUDA_UNSET: it did not */
	atomic_int cache_config;     /* likewise */
};

bool cuda_active(void);              /* there is a session; joins it on the first call */
/* caller: an address in the code that loads it */
void cuda_module_add(void *handle, bool library, const void *image, bool file, const void *caller);
/* The module of a library in the current context; nothing where it is known as that. */
void cuda_module_add_of(void *handle, const struct cuda_module *library);
void cuda_module_remove(void *handle);
/* A thread of ours is about to give the module's handle to the driver, until cuda_module_give_back(): unloading waits
 * for such threads, for a limited time. False: it is unloaded already. */
bool cuda_module_lend(struct cuda_module *m);
void cuda_module_give_back(struct cuda_module *m);
/* A copy of its image, malloc'd, as far as twins for `sm` need it; NULL with the reason. code: what was loaded, where the
 * image is the PTX that it was made of. */
void *cuda_module_image(struct cuda_module *m, bool code, uint32_t sm, size_t *size, const char **why);
struct cuda_module *cuda_module_find(void *handle);
void cuda_function_add(void *handle, struct cuda_module *module, const char *name, bool is_kernel);
/* The function's record; of one that we did not see come, what the driver tells. NULL: not known. */
struct cuda_function *cuda_function_find(void *handle);
/* The function is the kernel's in a context: what is set for one is for both. */
void cuda_function_share(void *handle, struct cuda_function *kernel);
/* Who has what the application set for it. */
struct cuda_function *cuda_function_settings(struct cuda_function *f);
/* Keep the twins of a function while its launch goes on; false: it died meanwhile. */
bool cuda_function_use(struct cuda_function *f);
void cuda_function_leave(struct cuda_function *f);
/* The context is about to be destroyed, and with it its modules and functions. */
void cuda_modules_end(CUcontext context);
/* The CUfunction of a CUfunction, or of a CUkernel in a context. */
CUfunction cuda_plain_function(const struct cuda_function *f, CUcontext context);

/*
 * culink.c: inputs of linkers that run in the program, kept until those end. `type` is the linker's own number; each
 * has a NUL behind it.
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
/* `first`, malloc'd or NULL, and the PTX among the inputs, one text behind the other, malloc'd; NULL: no memory. */
char *cuda_link_text(char *first, const struct cuda_link_input *inputs, bool (*is_ptx)(const struct cuda_link_input *));

/* jit.c: machine code that was made in the program, by its content */
bool cuda_jit_wanted(const void *image, size_t size); /* a pattern matches a function of it, or that cannot be told */
void cuda_jit_add(const void *image, size_t size, const char *ptx);
/* The PTX that the image was made from, malloc'd, its NUL counted; NULL: not known. */
char *cuda_jit_ptx(const void *image, size_t size, size_t *text_size);

/* twin_load.c */
struct cuda_twin_handle {
	struct gpubpf_handle base;   /* f, until it is unloaded */
	CUfunction f, flat;          /* flat: for launches of one dimension, that no graph has; NULL: f is */
	CUcontext context;
	CUdeviceptr launch, pid;     /* words that a launch in a stream writes; 0: the probes do not ask */
	CUdeviceptr clock;           /* and the clock's offset, which it writes when another was measured */
	atomic_uint_fast64_t offset; /* that the word has */
	struct cuda_function *original;
	atomic_int attribute[CUDA_ATTRIBUTES]; /* what the twin has */
	atomic_int cache_config;
	struct gpubpf_hook_fit fit;
	int registers[2];            /* of the original and of the twin */
	enum gpubpf_compiled_by compiled_by;
	int all_registers;           /* of a multiprocessor */
	int shared, shared_more;     /* bytes of shared memory that the twin has, and that a launch may add at most; < 0: not known */
	_Atomic uintptr_t stream;    /* of the first launch that wrote its number */
	atomic_bool kept;            /* a graph may have it */
};
extern const struct gpubpf_hook_ops cuda_hook_ops;
/* Of a function that is a twin; NULL if it is none. */
const struct cuda_twin_handle *cuda_twin_find(CUfunction twin);
/* The context is gone, and with it those there: their handles may come again. */
void cuda_twins_end(CUcontext context);

/* context.c: the device of a context, NULL if there is none */
struct gpubpf_hook_device *cuda_device_of(CUcontext context);

/* launch.c: one way for all kinds of launches; run() is done with the original or with its twin */
struct cuda_call {
	CUfunction f;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	bool per_thread;              /* stream 0 is the thread's */
	bool node;                    /* no launch yet, but a node of a graph: there is no stream to write to */
	const void *arguments;        /* of run */
	CUresult (*run)(const struct cuda_call *c, CUfunction f);
	CUcontext context;            /* of a node that names it; else NULL */
};
/* The application has looked up the function, to launch it in its context or the current one. */
void cuda_function_ahead(void *handle);
CUresult cuda_launch(const struct cuda_call *call);

#endif
