/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake CUDA driver: libcuda.so.1 for tests of the agent. Device memory is host memory. A kernel executes the
 * comments in its PTX, at the launch itself or when the graph that captured it runs:
 *   //fake regs N before an entry: registers per thread of the entry (default 32); an SM has 65536
 *   //fake twin-regs N in an entry: registers per thread of its twin (default 40)
 *   //fake twin-least N in an entry: the twin spills to the stack if it gets fewer than N registers (default: it never
 *                        spills)
 *   //fake twin-spills N in an entry: bytes of stack that these spills use (default 16)
 *   //fake twin-frame N in an entry: bytes of stack that its twin uses (default 0, like the kernel)
 *   //fake twin-shared N in an entry: bytes of shared memory of its twin (default 0, like the kernel)
 *   //fake twin-flat N in an entry: its twin has a form for one-dimensional launches, with N registers
 *   //fake param adds the number of threads of the launch to the u32 that the kernel's first parameter points to
 *   //fake add VAR adds that number to the module's u32 variable VAR, or to the target of gpubpf_bind_<i>
 *   //fake count I adds it to count I of the arena that gpubpf_arena points to (tests/hooks/fake_tool.h)
 *   //fake flat I adds it to the entries of count I only; rejects launches of another shape and launches in graphs
 *   //fake counter in a twin made by gpubpf: adds it to the first value of the first map; if that map is a ring buffer,
 *                        emits an event per thread instead
 *   //fake calls N in a function: each thread calls the function N times; if the twin has probe code in the function,
 *                        the number of calls is added to the first value of the first map
 *   //fake wants-14 in an entry: launches only after attribute 14 was set, as for a non-portable cluster size
 *   //fake broken the driver rejects this text
 *   //fake late WHERE the driver rejects this text only at a later look-up; WHERE is variable, function or attribute
 *   //fake forever the kernel and its launch never end
 *   //fake fault breaks the context, like an illegal address
 * Kernels of real machine code do nothing; the driver reads the code, so that tests can measure the load.
 * The fake keeps these rules of the real driver: synchronous copies, context synchronisation and the legacy
 * stream are forbidden while a stream is captured, and break the capture; handles are reused;
 * objects of a destroyed context are invalid. Entering a destroyed context, or destroying an entered one, aborts,
 * as do copies on a stream of such a context. A graph instantiated for device launch holds only kernel nodes.
 *   FAKE_CUDA_FAIL=WHAT:N[:CODE] the N-th call of WHAT (a driver symbol; "twin": a load of a twin) fails, or, with a
 *                                 negative code, never returns
 *   FAKE_CUDA_DRIFT=PPM the device's clock runs faster than the host's by PPM
 *   FAKE_CUDA_SLOW=MS delay of loading a twin
 *   FAKE_CUDA_PART=MS delay of unloading a twin
 *   FAKE_CUDA_BUSY=MS delay of waiting for a context
 *   FAKE_CUDA_LINGER=MS delay of finding a program's variable; its module must stay loaded meanwhile
 *   FAKE_CUDA_PINNED=BYTES launches of twins fail until the process has pinned this many bytes
 *   FAKE_CUDA_DEVICES=N number of devices (default 2); CUDA_VISIBLE_DEVICES selects among them
 */
#ifndef GPUBPF_TESTS_CUDA_FAKE_H
#define GPUBPF_TESTS_CUDA_FAKE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/cuda/cuda.h"

/*
 * Returns "machine code" of the kernel: an ELF file with the kernel's text in a section named after the kernel. The
 * fake driver executes that text. A reader of cubins finds no PTX in the file. The caller frees the buffer.
 */
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
	FAKE_SHARED = 99 * 1024, /* maximum bytes per block that a function may request; an SM has 1 KiB more */
	FAKE_MAX_THREADS = 2048, /* per SM */
};

struct fake_variable {
	char name[64];
	uint64_t address;
	size_t size;
};

struct fake_entry {
	char name[8192];
	int regs;
	int spilled;           /* bytes of stack that spills use */
	const char *from, *to; /* first byte and end of the kernel's text */
};

/* an image after parsing, as a module or a library uses it */
struct fake_image {
	char *text;
	struct fake_entry few[16], *entries; /* entries points to few, or to a longer array for machine code */
	struct fake_variable variables[16];
	unsigned nentries, nvariables;
};

struct CUctx_st {
	int device, refs;
	bool alive, primary;
	atomic_int entered; /* how many threads have entered the context */
	unsigned life;      /* distinguishes the contexts that used this handle one after the other */
	int sms;            /* SMs of a green context; 0: all */
	CUresult broken;
};

struct CUfunc_st {
	int kind; /* 'f'; a CUkernel starts with 'k' */
	CUmodule module;
	struct fake_entry *entry;
	int attribute[16];
	struct CUkern_st *kernel;
	struct CUfunc_st *next;
};

struct CUmod_st {
	bool alive, loading; /* loading: a load reads the image without the lock, so the slot must not be reused */
	CUcontext context;
	struct fake_image image;
	struct CUfunc_st *functions;
	struct CUlib_st *library;
	struct CUmod_st *next; /* next in the list of all modules, or of the library's modules */
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
	struct CUmod_st *modules[16]; /* one per context */
	unsigned nmodules;
	struct CUkern_st *kernels;
};

struct fake_launch {
	CUfunction f;
	uint64_t threads;
	uint64_t target;                /* value that the first parameter pointed to */
	uint64_t write_at, write_value; /* address and value of a memory write node, which launches no kernel */
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
	CUresult invalid; /* error that invalidated the capture */
	struct CUgraph_st *graph;
	CUcontext context;
	unsigned life; /* value of context->life when the stream was created */
};

/* driver.c */
extern pthread_mutex_t fake_lock;
CUcontext fake_current(void);
CUresult fake_push(CUcontext context);
/* returns the error that FAKE_CUDA_FAIL or the state of the current context demands */
CUresult fake_check(const char *symbol);
/* returns error if a blocking stream is being captured, and invalidates that capture */
CUresult fake_capture_rule(CUresult error);

/* memory.c */
bool fake_pinned_enough(void);
CUresult fake_alloc(uint64_t *address, size_t size, CUcontext context);
void fake_memory_die(CUcontext context);

/* image.c */
/* returns the text or machine code in an image, or in a fat binary, or NULL */
const void *fake_code(const void *data);
CUresult fake_open(struct fake_image *image, const void *data);

/* module.c */
struct CUfunc_st *fake_function(CUfunction f);   /* accepts a CUfunction, or a CUkernel in the current context */
int fake_shared_more(const struct CUfunc_st *f); /* maximum dynamic shared memory in bytes */
void fake_modules_die(CUcontext context);
uint64_t fake_variable(CUmodule module, const char *name);

/* kernel.c */
void fake_run(const struct fake_launch *launch);

/* launch.c */
void fake_captures_break(CUresult error);

#define FAKE_EXPORT __attribute__((visibility("default")))

/* driver functions that tests call in addition to the ones of hooks/cuda/cuda.h */
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
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);

#endif
