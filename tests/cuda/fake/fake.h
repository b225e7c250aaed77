/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA driver that is not NVIDIA's: libcuda.so.1 for tests of the agent. Device memory is host memory; a
 * kernel does what its PTX says in comments, at the launch itself or when the graph that captured it runs:
 *   //fake regs N        before an entry: its registers (default 32), of which an SM has 65536
 *   //fake twin-regs N   in an entry: those of its twin (default 40)
 *   //fake twin-least N  in an entry: those that its twin cannot do without; with fewer it has more stack (default: all)
 *   //fake twin-spills N in an entry: so many bytes of it (default 16)
 *   //fake twin-frame N  in an entry: bytes of stack that its twin takes (default 0, as it does itself)
 *   //fake twin-shared N in an entry: bytes of shared memory that its twin has (default 0, as it does itself)
 *   //fake twin-flat N   in an entry: its twin has a form for launches of one dimension, of so many registers
 *   //fake param         adds the launch's threads to the u32 that its first parameter points to
 *   //fake add VAR       adds them to the module's u32 variable VAR, or to what gpubpf_bind_<i> points to
 *   //fake count I       adds them to count I of the arena that gpubpf_arena points to (tests/hooks/fake_tool.h)
 *   //fake flat I        adds them to the entries of count I alone; a launch of another shape, or a graph's, is refused
 *   //fake counter       adds them to the first value of the first map, in a twin that gpubpf made, or puts an event
 *                        for each into that map if it is a ring
 *   //fake calls N       in a function: each thread calls it N times; in a twin with probe code in that function, they
 *                        are added to the first value of the first map
 *   //fake wants-14      in an entry: it is launched only where that attribute was set, as for a cluster that is not portable
 *   //fake broken        text that the driver refuses
 *   //fake late WHERE    it refuses it not when it is loaded, but where something of it is asked for: variable, function, attribute
 *   //fake forever       never ends, nor does its launch
 *   //fake fault         breaks the context, as an illegal address does
 * Kernels of real machine code do nothing; it is opened, so that what that takes can be measured.
 * Rules of the real one that it keeps: the synchronous copies, synchronisation of the context and the legacy
 * stream are not allowed while a stream is captured and break the capture; handles are given out again;
 * what belonged to a destroyed context is invalid; to enter one, or to destroy one that a thread has entered, is the end.
 * So is a stream of it, to copies. A graph that is instantiated for launches by the device has kernels alone.
 *   FAKE_CUDA_FAIL=WHAT:N[:CODE]  the N-th call of WHAT (a driver symbol; "twin": a load of a twin) fails, or, with a
 *                                 negative code, never returns
 *   FAKE_CUDA_DRIFT=PPM            the device's clock is so much faster than the host's
 *   FAKE_CUDA_SLOW=MS              loading a twin takes so long
 *   FAKE_CUDA_PART=MS              unloading a twin takes so long
 *   FAKE_CUDA_BUSY=MS              to wait for a context takes so long
 *   FAKE_CUDA_LINGER=MS           to find a program's variable takes so long; its module must not go meanwhile
 *   FAKE_CUDA_PINNED=BYTES        twins that are launched before so much host memory was pinned fail
 *   FAKE_CUDA_DEVICES=N           how many devices there are (2); CUDA_VISIBLE_DEVICES picks of them
 */
#ifndef GPUBPF_TESTS_CUDA_FAKE_H
#define GPUBPF_TESTS_CUDA_FAKE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/cuda/cuda.h"

/* Machine code of the kernel, "executed" by its text: an ELF with a section of the kernel's name and no PTX that a
 * reader of cubins would find. malloc'd. */
static inline char *fake_cubin(const char *kernel, const char *text, size_t *size)
{
	Elf64_Ehdr *ehdr;
	Elf64_Shdr *section;
	size_t end = sizeof(*ehdr) + ((strlen(text) + 8) & ~7ull);
	char *image;

	*size = end + 3 * sizeof(*section) + 128;
	image = calloc(1, *size);
	ehdr = (Elf64_Ehdr *)image;
	memcpy(ehdr->e_ident, ELFMAG "\2\1\1", 7);
	ehdr->e_shoff = end;
	ehdr->e_shentsize = sizeof(*section);
	ehdr->e_shnum = 3;
	ehdr->e_shstrndx = 2;
	strcpy(image + sizeof(*ehdr), text);
	section = (Elf64_Shdr *)(image + end);
	section[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOBITS };
	section[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = *size - 128, .sh_size = 128 };
	strcpy(stpcpy(image + *size - 127, ".text."), kernel);
	return image;
}

enum {
	FAKE_INVALID_VALUE = 1,
	FAKE_OUT_OF_MEMORY = 2,
	FAKE_NO_DEVICE = 100,
	FAKE_INVALID_DEVICE = 101,
	FAKE_INVALID_IMAGE = 200,
	FAKE_INVALID_CONTEXT = 201,
	FAKE_INVALID_PTX = 218,
	FAKE_NEWER_PTX = 222,
	FAKE_INVALID_HANDLE = 400,
	FAKE_ILLEGAL_ADDRESS = 700,
	FAKE_TOO_MANY_RESOURCES = 701,
	FAKE_CONTEXT_DESTROYED = 709,
	FAKE_NOT_SUPPORTED = 801,
	FAKE_CAPTURE_UNSUPPORTED = 900,
	FAKE_CAPTURE_INVALIDATED = 901,
	FAKE_CAPTURE_IMPLICIT = 906,

	FAKE_SMS = 4,
	FAKE_REGISTERS = 65536,
	FAKE_SHARED = 99 * 1024,  /* a block's at most, where the function's attribute allows it; an SM has a KiB more */
	FAKE_MAX_THREADS = 2048,  /* an SM holds */
};

struct fake_variable {
	char name[64];
	uint64_t address;
	size_t size;
};

struct fake_entry {
	char name[8192];
	int regs;
	int spilled;              /* bytes of stack for want of registers */
	const char *from, *to;    /* its text */
};

/* text opened: what modules and libraries have in common */
struct fake_image {
	char *text;
	struct fake_entry few[16], *entries; /* of machine code as many as it has */
	struct fake_variable variables[16];
	unsigned nentries, nvariables;
};

struct CUctx_st {
	int device, refs;
	bool alive, primary;
	atomic_int entered;       /* so often just now */
	unsigned life;            /* of all that had this handle, the how manyth */
	int sms;                  /* of a green context: some; 0: all */
	CUresult broken;
};

struct CUfunc_st {
	int kind;                 /* 'f'; a CUkernel begins with 'k' */
	CUmodule module;
	struct fake_entry *entry;
	int attribute[16];
	struct CUkern_st *kernel;
	struct CUfunc_st *next;
};

struct CUmod_st {
	bool alive, loading;      /* loading: its image is being read, and the slot is not another's yet */
	CUcontext context;
	struct fake_image image;
	struct CUfunc_st *functions;
	struct CUlib_st *library;
	struct CUmod_st *next;    /* of all, or of the library's */
};

struct CUkern_st {
	int kind;
	struct CUlib_st *library;
	char name[128];
	struct CUkern_st *next;
};

struct CUlib_st {
	bool alive;
	char *text;
	struct CUmod_st *modules[16]; /* one a context */
	unsigned nmodules;
	struct CUkern_st *kernels;
};

struct fake_launch {
	CUfunction f;
	uint64_t threads;
	uint64_t target;          /* what the first parameter pointed to */
	uint64_t write_at, write_value; /* instead of a kernel: a value written */
};

struct CUgraphNode_st {
	struct fake_launch launch;
	struct cuda_kernel_node params;
	void *args[1];
	uint64_t arg;
	struct CUgraphNode_st *next;
};

struct CUgraph_st {
	struct CUgraphNode_st *nodes;
};

struct CUstream_st {
	bool blocking, capturing;
	CUresult invalid;         /* the capture */
	struct CUgraph_st *graph;
	CUcontext context;
	unsigned life;            /* that context's */
};

/* driver.c */
extern pthread_mutex_t fake_lock;
CUcontext fake_current(void);
CUresult fake_push(CUcontext context);
CUresult fake_check(const char *symbol);   /* FAKE_CUDA_FAIL, and the current context's state */
bool fake_pinned_enough(void);
CUresult fake_capture_rule(CUresult error); /* what must not be done while a blocking stream is captured */
CUresult fake_alloc(uint64_t *address, size_t size, CUcontext context);

/* module.c */
CUresult fake_open(struct fake_image *image, const void *data);
struct CUfunc_st *fake_function(CUfunction f);  /* of a CUfunction, or of a CUkernel in the current context */
int fake_shared_more(const struct CUfunc_st *f); /* bytes that a launch may add */
void fake_modules_die(CUcontext context);
uint64_t fake_variable(CUmodule module, const char *name);

/* launch.c */
void fake_run(const struct fake_launch *launch);
void fake_captures_break(CUresult error);

#define FAKE_EXPORT __attribute__((visibility("default")))

/* what tests call beyond what hooks/cuda/cuda.h declares */
#define CUDA_FN(member, symbol, arguments) CUresult symbol arguments;
CUDA_FUNCTIONS(CUDA_FN)
#undef CUDA_FN
CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, CUlinkState *state);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status);
CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f);
CUresult cuFuncGetModule(CUmodule *module, CUfunction f);
CUresult cuFuncGetName(const char **name, CUfunction f);
CUresult cuKernelGetName(const char **name, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel);
CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared);
CUresult cuCtxAttach(CUcontext *context, unsigned flags);
CUresult cuCtxDetach(CUcontext context);
CUresult cuGreenCtxCreate(CUgreenCtx *green, void *desc, CUdevice device, unsigned flags);
CUresult cuGreenCtxDestroy(CUgreenCtx green);
CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green);
CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority);
CUresult cuGreenCtxGetDevResource(CUgreenCtx green, struct cuda_resource *resource, int type);
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green);
CUresult cuStreamIsCapturing(CUstream stream, int *status);
CUresult cuStreamIsCapturing_ptsz(CUstream stream, int *status);
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuGraphCreate(CUgraph *graph, unsigned flags);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *ready, CUgraph graph, unsigned long long flags);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream);

#endif
