/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe context: r1 points to it when a probe begins. It is the same for every vendor. Included by probes (clang
 * -target bpf), by the verifier, by the lowering and by user programs.
 *
 * It begins like the kernel's struct pt_regs of x86-64. With -D__TARGET_ARCH_x86, the macros PT_REGS_PARM1..6 of
 * libbpf's bpf_tracing.h therefore read kernel arguments 0 to 5. Without that option <gpubpf/probe.h> defines
 * PT_REGS_PARM1..6 over arg[]. A program reads the context at constant offsets, each field in its declared size; in u64
 * fields it may read the low 1, 2 or 4 bytes. A program never writes the context.
 *
 * Arguments. arg[i] holds the bits of kernel parameter i, counting from 0.
 *   Integers, bool, enum:  zero-extended to 64 bits (cast to the parameter's type).
 *   Float, half:           the IEEE bits in the low 4 or 2 bytes; double: 8 bytes.
 *   Pointers:              the device address, also of `__local` and `__private` pointers (the numeric value).
 *   Struct, union, vector: the first 8 bytes, zero-padded; bpf_gpu_read_arg() reads all bytes.
 *   Images, samplers, queues, pipes, events: 0, because they have no address.
 * Use bpf_gpu_named_arg() to find a parameter by name, with its sign, if the kernel's code has names. Only
 * bpf_gpu_read_arg() reads parameters past the 32nd. nargs counts all parameters.
 *
 * At gpu/call/ and gpu/call_exit/, arg[] and nargs describe this call of the function; all other fields are the
 * kernel's.
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
	GPUBPF_SITE_CALL = 3, /* call of a device function, by the kernel or by another function */
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

/* mem.access. A copy is a load and a store. */
enum gpubpf_mem_access {
	GPUBPF_LOAD = 1,
	GPUBPF_STORE = 2,
	GPUBPF_ATOMIC = 3,
	/* prefetch of a cache line, or other advice to caches; mem.bytes: the size if the code states it, else 0 */
	GPUBPF_PREFETCH = 4,
};

/* mem.space, in CUDA's terms. OpenCL's local memory is SHARED, its private memory is LOCAL. */
enum gpubpf_mem_space {
	GPUBPF_GENERIC = 0, /* the space of the address is unknown */
	GPUBPF_GLOBAL = 1,
	GPUBPF_SHARED = 2,
	GPUBPF_LOCAL = 3,
	GPUBPF_CONSTANT = 4,
};

/* mem.hint: the cache policy that an access requests. PTX's and AMD's terms are in parentheses. */
enum gpubpf_mem_hint {
	GPUBPF_HINT_ALL = 1,    /* cache at all levels (.ca, .wb) */
	GPUBPF_HINT_GLOBAL = 2, /* bypass the multiprocessor's own cache (.cg; glc, sc1) */
	/* probably accessed only once (.cs, evict_first; slc, nt, TH_*_NT; SPIR-V's Nontemporal) */
	GPUBPF_HINT_STREAM = 4,
	GPUBPF_HINT_LAST = 8,          /* accessed for the last time (.lu; TH_LOAD_LU) */
	GPUBPF_HINT_THROUGH = 16,      /* read from memory again, or write through (.cv, .wt) */
	GPUBPF_HINT_KEEP = 32,         /* accessed often (evict_last; TH_*_HT) */
	GPUBPF_HINT_UNCHANGED = 64,    /* leave the eviction order unchanged (evict_unchanged) */
	GPUBPF_HINT_NO_ALLOCATE = 128, /* do not allocate a cache line (no_allocate) */
	GPUBPF_HINT_READ_ONLY = 256,   /* the data is not written while the kernel runs (.nc) */
	GPUBPF_HINT_VOLATILE = 512,    /* volatile, in PTX, SPIR-V and OpenCL C */
	GPUBPF_HINT_POLICY = 1024,     /* a register holds the policy (cache_hint) */
	GPUBPF_HINT_UNTOLD = 2048,     /* the hint is unknown: NVIDIA's machine code */
};

/* barrier.kind; each comment says what barrier.id holds */
enum gpubpf_barrier_kind {
	/* a block (work-group), or a stated part of it: the barrier's number, or 0 without a number */
	GPUBPF_BARRIER_BLOCK = 1,
	GPUBPF_BARRIER_CLUSTER = 2, /* a cluster of blocks: 0 */
	GPUBPF_BARRIER_GRID = 3,    /* all blocks: 0 */
	/* a barrier object in memory (mbarrier): its generic address; each try is a wait */
	GPUBPF_BARRIER_OBJECT = 4,
	GPUBPF_BARRIER_WARP = 5, /* a warp (sub-group): its lanes as bits, 0 if the code does not state them */
};

/* atomic.op: the read-modify-write operation, for integers and floating point alike */
enum gpubpf_rmw {
	GPUBPF_RMW_ADD = 1,
	GPUBPF_RMW_SUB = 2,
	GPUBPF_RMW_AND = 3,
	GPUBPF_RMW_OR = 4,
	GPUBPF_RMW_XOR = 5,
	GPUBPF_RMW_MIN = 6,
	GPUBPF_RMW_MAX = 7,
	GPUBPF_RMW_EXCHANGE = 8,
	GPUBPF_RMW_COMPARE = 9, /* and exchange if equal */
	GPUBPF_RMW_INC = 10,    /* PTX's: 0 if the old value is not below the operand, else old + 1 */
	GPUBPF_RMW_DEC = 11,    /* PTX's: the operand if the old value is 0 or above the operand, else old - 1 */
};

struct gpubpf_ctx {
	/* struct pt_regs of x86-64, 168 bytes. The members marked arg[i] hold arguments 0 to 5; the others read as
	 * 0. */
	gpubpf_u64 r15, r14, r13, r12, bp, bx, r11, r10;
	gpubpf_u64 r9; /* arg[5] */
	gpubpf_u64 r8; /* arg[4] */
	gpubpf_u64 ax;
	gpubpf_u64 cx; /* arg[3] */
	gpubpf_u64 dx; /* arg[2] */
	gpubpf_u64 si; /* arg[1] */
	gpubpf_u64 di; /* arg[0] */
	gpubpf_u64 orig_ax, ip, cs, flags, sp, ss;

	/* Number of the launch, from 0; the session counts per kernel. CUDA: if launches of a kernel overlap in several
	 * streams, it may be that of another launch. In graphs, it is that of the last launch outside of graphs. */
	gpubpf_u64 launch;
	gpubpf_u64 kernel;       /* id of the kernel in the session, from 0; stable within the session */
	gpubpf_u32 site;         /* enum gpubpf_site */
	gpubpf_u32 nargs;        /* number of the kernel's parameters */
	gpubpf_u32 work_dim;     /* 1, 2 or 3: as launched; on CUDA, the last dimension with more than one thread */
	gpubpf_u32 device;       /* number of the device in its process, as helper 512 returns it */
	gpubpf_u64 grid_dim[3];  /* blocks (work-groups) in each dimension */
	gpubpf_u64 block_dim[3]; /* threads per block; in an uneven last work-group, the real size */
	gpubpf_u64 block_idx[3];
	gpubpf_u64 thread_idx[3];
	gpubpf_u64 global_id[3]; /* get_global_id(), including the launch's offset */
	gpubpf_u64 global_offset[3];
	gpubpf_u64 global_linear; /* linear thread number in the launch, from 0, excluding the offset */
	gpubpf_u64 arg[GPUBPF_CTX_ARGS];
	char kernel_name[GPUBPF_CTX_NAME];   /* NUL-terminated, truncated if longer; 8-byte aligned */
	char function_name[GPUBPF_CTX_NAME]; /* CALL, CALL_EXIT: the function's name, in the same form; else "" */

	/* Each kind of place provides some of these fields (gpubpf-prog(8)); the verifier refuses reads of the
	 * others. */
	/* CALL_EXIT: the first 8 bytes of the returned value, in the representation of arg (void: 0) */
	gpubpf_u64 result;
	gpubpf_u32 place; /* number of the place in its function, from 0 */
	gpubpf_u32 line;  /* source line; 0: unknown */
	struct {
		gpubpf_u64 addr; /* generic address: equal numbers mean equal memory within a thread */
		/* SHARED, LOCAL: offset from the start of the space if it has one (CUDA); else equal to addr */
		gpubpf_u64 offset;
		/* the first 16 bytes of the stored value, zero-padded; for an atomic, its operand */
		gpubpf_u64 value[2];
		gpubpf_u32 bytes;  /* size of the whole access; 0 if the instruction turns out to access nothing */
		gpubpf_u32 access; /* enum gpubpf_mem_access */
		gpubpf_u32 space;  /* enum gpubpf_mem_space */
		gpubpf_u32 count;  /* elements of a vector, else 1 */
		gpubpf_u64 hint;   /* enum gpubpf_mem_hint as bits; 0: the code requests no policy */
	} mem;
	struct {
		/* active lanes that take the branch; for a jump by a table, lanes with the same target as this lane */
		gpubpf_u64 lanes;
		gpubpf_u64 taken; /* 1: this lane takes the branch */
		/* lanes that execute the branch together; only this lane if warps are unknown (OpenCL) */
		gpubpf_u64 active;
	} branch;
	struct {
		gpubpf_u64 id;   /* meaning: enum gpubpf_barrier_kind */
		gpubpf_u64 kind; /* enum gpubpf_barrier_kind */
	} barrier;
	struct {
		gpubpf_u64 op; /* enum gpubpf_rmw */
		/* the first 8 bytes; for COMPARE the value to compare with, and mem.value is the value to store */
		gpubpf_u64 operand;
		/* the first 8 bytes of the old value; 0 if the instruction does not return it (PTX's red) */
		gpubpf_u64 old;
	} atomic;
	/* INSN: the registers that the instruction names, in order, before it executes; 0 or 1 for a predicate */
	gpubpf_u64 operand[8];
	gpubpf_u64 mark; /* MARK: its value */
};

#endif
