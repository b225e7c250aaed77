/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe context: what r1 points to when a probe begins, the same on every vendor. Included by
 * probes (clang -target bpf), by the verifier, by the lowering and by user programs.
 *
 * It begins as the kernel's struct pt_regs of x86-64, so that PT_REGS_PARM1..6 of libbpf's
 * bpf_tracing.h with -D__TARGET_ARCH_x86 read kernel arguments 0 to 5; without that macro
 * <gpubpf/probe.h> defines PT_REGS_PARM1..6 over arg[]. A program reads the context at constant
 * offsets, each field in its own size or, in u64 fields, the low 1, 2 or 4 bytes; it never writes it.
 *
 * Arguments. arg[i] is the i-th kernel parameter, counting from 0, as bits:
 *   integers, bool, enum  zero-extended to 64 bits (cast to the parameter's type)
 *   float, half           the IEEE bits in the low 4 or 2 bytes; double: 8 bytes
 *   pointers              the device address, `__local` and `__private` ones too (their numeric value)
 *   struct, union, vector the first 8 bytes, zero-padded; all bytes through bpf_gpu_read_arg()
 *   images, samplers, queues, pipes, events  0: they have no address
 * bpf_gpu_named_arg() finds one by its name, where the kernel's code has names, with its sign.
 * Parameters past the 32nd are reached by bpf_gpu_read_arg() alone. nargs counts all.
 *
 * At gpu/call/ and gpu/call_exit/ the arguments are the function's, of this call; all else is the kernel's.
 */
#ifndef GPUBPF_CTX_H
#define GPUBPF_CTX_H

#ifndef __bpf__
#include <stdint.h>
typedef uint32_t gpubpf_u32;
typedef uint64_t gpubpf_u64;
#else
typedef unsigned int gpubpf_u32;
typedef unsigned long long gpubpf_u64;
#endif

#define GPUBPF_CTX_ARGS 32
#define GPUBPF_CTX_NAME 64

enum gpubpf_site {
	GPUBPF_SITE_NONE = 0,
	GPUBPF_SITE_ENTRY = 1,
	GPUBPF_SITE_EXIT = 2,
	GPUBPF_SITE_CALL = 3,      /* of a device function, by the kernel or by what it calls */
	GPUBPF_SITE_MEM = 4,
	GPUBPF_SITE_BLOCK_BEGIN = 5,
	GPUBPF_SITE_BLOCK_END = 6,
	GPUBPF_SITE_BARRIER = 7,
	GPUBPF_SITE_ATOMIC = 8,
	GPUBPF_SITE_BRANCH = 9,
	GPUBPF_SITE_CALL_EXIT = 10,
	GPUBPF_SITE_INSN = 11,
	GPUBPF_SITE_MARK = 12,
	GPUBPF_SITE_MEM_BEFORE = 13,
	GPUBPF_SITE_MEM_SHARED = 14,
	GPUBPF_SITE_MEM_LOCAL = 15,
	GPUBPF_SITE_MEM_CONST = 16,
	GPUBPF_SITE_MEM_ALL = 17,
	GPUBPF_SITE_MEM_BEFORE_ALL = 18,
	GPUBPF_SITE_BARRIER_EXIT = 19,
	GPUBPF_SITE_LINE = 20,
	GPUBPF_SITE_MEM_CAPTURE = 21,
};

/* mem.access. What copies memory is a load and a store. */
enum gpubpf_mem_access {
	GPUBPF_LOAD = 1,
	GPUBPF_STORE = 2,
	GPUBPF_ATOMIC = 3,
	GPUBPF_PREFETCH = 4,       /* of a cache line, and other advice to caches; mem.bytes: as far as it is said, or 0 */
};

/* mem.space, as the field's words for them: CUDA's, of OpenCL's local memory SHARED and of private memory LOCAL */
enum gpubpf_mem_space {
	GPUBPF_GENERIC = 0,        /* of which space the address is could not be told */
	GPUBPF_GLOBAL = 1,
	GPUBPF_SHARED = 2,
	GPUBPF_LOCAL = 3,
	GPUBPF_CONSTANT = 4,
};

/* mem.hint: what an access says of caches, in brackets PTX's words and AMD's */
enum gpubpf_mem_hint {
	GPUBPF_HINT_ALL = 1,          /* in caches of all levels (.ca, .wb) */
	GPUBPF_HINT_GLOBAL = 2,       /* past the multiprocessor's own (.cg; glc, sc1) */
	GPUBPF_HINT_STREAM = 4,       /* once, probably (.cs, evict_first; slc, nt, TH_*_NT; SPIR-V's Nontemporal) */
	GPUBPF_HINT_LAST = 8,         /* for the last time (.lu; TH_LOAD_LU) */
	GPUBPF_HINT_THROUGH = 16,     /* anew from memory, or through to it (.cv, .wt) */
	GPUBPF_HINT_KEEP = 32,        /* often (evict_last; TH_*_HT) */
	GPUBPF_HINT_UNCHANGED = 64,   /* without a change of what leaves the cache first (evict_unchanged) */
	GPUBPF_HINT_NO_ALLOCATE = 128, /* without room in the cache (no_allocate) */
	GPUBPF_HINT_READ_ONLY = 256,  /* of what is not written while the kernel runs (.nc) */
	GPUBPF_HINT_VOLATILE = 512,   /* volatile, in PTX, SPIR-V and OpenCL C */
	GPUBPF_HINT_POLICY = 1024,    /* by a register (cache_hint) */
	GPUBPF_HINT_UNTOLD = 2048,    /* not known here: NVIDIA's machine code */
};

/* barrier.kind, and what barrier.id is of each */
enum gpubpf_barrier_kind {
	GPUBPF_BARRIER_BLOCK = 1,    /* of a block (work-group), or the part of it that is said: its number, 0 if it has none */
	GPUBPF_BARRIER_CLUSTER = 2,  /* of a cluster of blocks: 0 */
	GPUBPF_BARRIER_GRID = 3,     /* of all blocks: 0 */
	GPUBPF_BARRIER_OBJECT = 4,   /* in memory (mbarrier): its generic address; each try is a wait */
	GPUBPF_BARRIER_WARP = 5,     /* of a warp (sub-group): its lanes as bits, 0 if they are not said */
};

/* atomic.op: what is read, modified, written; integers and floating point alike */
enum gpubpf_rmw {
	GPUBPF_RMW_ADD = 1,
	GPUBPF_RMW_SUB = 2,
	GPUBPF_RMW_AND = 3,
	GPUBPF_RMW_OR = 4,
	GPUBPF_RMW_XOR = 5,
	GPUBPF_RMW_MIN = 6,
	GPUBPF_RMW_MAX = 7,
	GPUBPF_RMW_EXCHANGE = 8,
	GPUBPF_RMW_COMPARE = 9,   /* and exchange if equal */
	GPUBPF_RMW_INC = 10,      /* PTX's: 0 above the operand, else one more */
	GPUBPF_RMW_DEC = 11,      /* PTX's: the operand at 0 and above the operand, else one less */
};

struct gpubpf_ctx {
	/* struct pt_regs of x86-64, 168 bytes. Of these the ones named arg* are arguments 0 to 5 and
	 * the others read as 0. */
	gpubpf_u64 r15, r14, r13, r12, bp, bx, r11, r10;
	gpubpf_u64 r9;   /* arg[5] */
	gpubpf_u64 r8;   /* arg[4] */
	gpubpf_u64 ax;
	gpubpf_u64 cx;   /* arg[3] */
	gpubpf_u64 dx;   /* arg[2] */
	gpubpf_u64 si;   /* arg[1] */
	gpubpf_u64 di;   /* arg[0] */
	gpubpf_u64 orig_ax, ip, cs, flags, sp, ss;

	/* Number of the launch, from 0, counted in the session per kernel. CUDA: where launches of a kernel
	 * overlap in several streams, maybe that of another; in graphs, that of the last one outside of graphs. */
	gpubpf_u64 launch;
	gpubpf_u64 kernel;         /* id of the kernel in the session, from 0; stable within it */
	gpubpf_u32 site;           /* enum gpubpf_site */
	gpubpf_u32 nargs;          /* parameters that the kernel has */
	gpubpf_u32 work_dim;       /* 1, 2 or 3: as launched; on CUDA, the last with more than one thread */
	gpubpf_u32 device;         /* ordinal of the device, as helper 512 */
	gpubpf_u64 grid_dim[3];    /* blocks (work-groups) in each dimension */
	gpubpf_u64 block_dim[3];   /* threads of a block; the real size in an uneven last group */
	gpubpf_u64 block_idx[3];
	gpubpf_u64 thread_idx[3];
	gpubpf_u64 global_id[3];   /* get_global_id(): with the launch's offset */
	gpubpf_u64 global_offset[3];
	gpubpf_u64 global_linear;  /* linear thread number in the launch, from 0, without the offset */
	gpubpf_u64 arg[GPUBPF_CTX_ARGS];
	char kernel_name[GPUBPF_CTX_NAME]; /* NUL-terminated, cut if longer; 8-byte aligned */
	char function_name[GPUBPF_CTX_NAME]; /* CALL, CALL_EXIT: the function's, likewise; elsewhere "" */

	/* Each kind of place gives some of these (gpubpf-prog(8)); the verifier refuses reads of the others. */
	gpubpf_u64 result;         /* CALL_EXIT: the first 8 bytes of what is returned, as arg has arguments; void: 0 */
	gpubpf_u32 place;          /* number of the place in its function, from 0 */
	gpubpf_u32 line;           /* of the source; 0 unknown */
	struct {
		gpubpf_u64 addr;       /* generic: the same number for the same memory of a thread */
		gpubpf_u64 offset;     /* SHARED, LOCAL: from where the space begins, if it does (CUDA); else as addr */
		gpubpf_u64 value[2];   /* what is stored, the first 16 bytes, zero-padded; of an atomic its operand */
		gpubpf_u32 bytes;      /* of the whole access, 0 if it turns out to touch none */
		gpubpf_u32 access;     /* enum gpubpf_mem_access */
		gpubpf_u32 space;      /* enum gpubpf_mem_space */
		gpubpf_u32 count;      /* elements of a vector; else 1 */
		gpubpf_u64 hint;       /* to the caches: enum gpubpf_mem_hint as bits; 0: the code says none */
	} mem;
	struct {
		gpubpf_u64 lanes;      /* of the active ones, those that take it; of a jump by a table, that go where this one goes */
		gpubpf_u64 taken;      /* 1: by this lane */
		gpubpf_u64 active;     /* lanes that come to it together; where warps are not known (OpenCL), this one alone */
	} branch;
	struct {
		gpubpf_u64 id;         /* by its kind */
		gpubpf_u64 kind;       /* enum gpubpf_barrier_kind */
	} barrier;
	struct {
		gpubpf_u64 op;         /* enum gpubpf_rmw */
		gpubpf_u64 operand;    /* the first 8 bytes; of COMPARE what it is compared with, and mem.value is what is stored */
		gpubpf_u64 old;        /* the first 8 bytes; 0 where the kernel does not take it (PTX's red) */
	} atomic;
	gpubpf_u64 operand[8];     /* INSN: the registers that it names, in its order, before it; of a predicate 0 or 1 */
	gpubpf_u64 mark;           /* MARK: its value */
};

#endif
