/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe context: the struct to which r1 points when a program begins. It is the same for all vendors. Programs
 * (clang -target bpf), the verifier, the lowering and applications include this header.
 *
 * The struct begins like struct pt_regs of the Linux kernel for x86-64. So with -D__TARGET_ARCH_x86, the macros
 * PT_REGS_PARM1..6 of libbpf's bpf_tracing.h read kernel arguments 0 to 5. Without that option, <gpubpf/probe.h>
 * defines these macros over arg[].
 *
 * A program reads the context at constant offsets. It reads each field in its declared size; of a u64 field it may also
 * read the low 1, 2 or 4 bytes. A program cannot write the context.
 *
 * arg[i] holds the bits of kernel parameter i, counted from 0:
 *   Integers, bool, enum:  zero-extended to 64 bits (cast to the parameter's type).
 *   Float, half:           the IEEE bits in the low 4 or 2 bytes; double: 8 bytes.
 *   Pointers:              the numeric value of the device address, also for `__local` and `__private` pointers.
 *   Struct, union, vector: the first 8 bytes, zero-padded; bpf_gpu_read_arg() reads all bytes.
 *   Images, samplers, queues, pipes, events: 0, because they have no address.
 * nargs counts all parameters. Only bpf_gpu_read_arg() reads parameters after the 32nd. If the kernel's code has names,
 * bpf_gpu_named_arg() finds a parameter by its name and extends it by its sign.
 *
 * At gpu/call/ and gpu/call_exit/, arg[] and nargs describe the call of the function. All other fields describe the
 * kernel.
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
	GPUBPF_SITE_CALL = 3, /* a call of a device function, by the GPU kernel or by another function */
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
	GPUBPF_SITE_HOST = 22,      /* on the CPU: before a call of the GPU runtime (sections host/EVENT) */
	GPUBPF_SITE_HOST_EXIT = 23, /* on the CPU: after the call (sections host/EVENT_exit) */
};

/* Values of host.event. core/model/host_events.def lists the sections. */
enum gpubpf_host_event {
	GPUBPF_HOST_LAUNCH = 1,
	GPUBPF_HOST_COPY = 2,
	GPUBPF_HOST_ALLOC = 3,
	GPUBPF_HOST_FREE = 4,
	GPUBPF_HOST_SYNC = 5,
	GPUBPF_HOST_EVENT = 6,
	GPUBPF_HOST_STREAM = 7,
	GPUBPF_HOST_MODULE = 8,
	GPUBPF_HOST_GRAPH = 9,
};

/* Values of host.direction, at host/copy and host/copy_exit. */
enum gpubpf_copy_direction {
	GPUBPF_COPY_UNKNOWN = 0, /* the call does not state where the memory is */
	GPUBPF_COPY_TO_DEVICE = 1,
	GPUBPF_COPY_TO_HOST = 2,
	GPUBPF_COPY_ON_DEVICE = 3, /* from device memory to device memory */
	GPUBPF_COPY_FILL = 4,      /* the runtime fills the memory with a pattern */
};

/* Values of done.clock: the meaning of done.device_ns. */
enum gpubpf_done_clock {
	GPUBPF_DONE_CALL = 1,   /* the device time is unknown; done.duration is the time of the call */
	GPUBPF_DONE_DEVICE = 2, /* the runtime reports the time on the device */
};

/* Values of mem.access. A copy from memory to memory is a load and a store. */
enum gpubpf_mem_access {
	GPUBPF_LOAD = 1,
	GPUBPF_STORE = 2,
	GPUBPF_ATOMIC = 3,
	/* prefetch of a cache line, or other advice to caches; mem.bytes is 0 if the code does not state the size */
	GPUBPF_PREFETCH = 4,
};

/* Values of mem.space, in CUDA's terms. OpenCL's local memory is SHARED, and its private memory is LOCAL. */
enum gpubpf_mem_space {
	GPUBPF_GENERIC = 0, /* the memory space of the address is unknown */
	GPUBPF_GLOBAL = 1,
	GPUBPF_SHARED = 2,
	GPUBPF_LOCAL = 3,
	GPUBPF_CONSTANT = 4,
};

/* Bits of mem.hint: the cache policy that an access requests. The terms of PTX and AMD's ISA are in parentheses. */
enum gpubpf_mem_hint {
	GPUBPF_HINT_ALL = 1,    /* cache at all levels (.ca, .wb) */
	GPUBPF_HINT_GLOBAL = 2, /* bypass the cache of the multiprocessor (.cg; glc, sc1) */
	/* the data is probably accessed only once (.cs, evict_first; slc, nt, TH_*_NT; SPIR-V's Nontemporal) */
	GPUBPF_HINT_STREAM = 4,
	GPUBPF_HINT_LAST = 8,          /* this is the last access to the data (.lu; TH_LOAD_LU) */
	GPUBPF_HINT_THROUGH = 16,      /* load from memory instead of caches, or write through (.cv, .wt) */
	GPUBPF_HINT_KEEP = 32,         /* the data is accessed often (evict_last; TH_*_HT) */
	GPUBPF_HINT_UNCHANGED = 64,    /* leave the eviction order unchanged (evict_unchanged) */
	GPUBPF_HINT_NO_ALLOCATE = 128, /* do not allocate a cache line (no_allocate) */
	GPUBPF_HINT_READ_ONLY = 256,   /* nothing writes the data while the GPU kernel runs (.nc) */
	GPUBPF_HINT_VOLATILE = 512,    /* volatile, in PTX, SPIR-V and OpenCL C */
	GPUBPF_HINT_POLICY = 1024,     /* a register of the kernel holds the policy (cache_hint) */
	/* the policy is unknown, because gpubpf does not decode it (NVIDIA's machine code) */
	GPUBPF_HINT_UNTOLD = 2048,
};

/* Values of barrier.kind. Each comment states which threads wait, and the value of barrier.id. */
enum gpubpf_barrier_kind {
	/* a block (work-group) or a part of it; id: the barrier's number, or 0 if it has no number */
	GPUBPF_BARRIER_BLOCK = 1,
	GPUBPF_BARRIER_CLUSTER = 2, /* all blocks of a cluster; id: 0 */
	GPUBPF_BARRIER_GRID = 3,    /* all blocks of the launch; id: 0 */
	/* the users of a barrier object in memory (mbarrier); id: the object's generic address. Each test of the
	 * object counts as a barrier */
	GPUBPF_BARRIER_OBJECT = 4,
	/* lanes of a warp (sub-group); id: bits of these lanes, or 0 if the code does not state the lanes */
	GPUBPF_BARRIER_WARP = 5,
};

/* Values of atomic.op: the read-modify-write operation, for integers and floating-point numbers. */
enum gpubpf_rmw {
	GPUBPF_RMW_ADD = 1,
	GPUBPF_RMW_SUB = 2,
	GPUBPF_RMW_AND = 3,
	GPUBPF_RMW_OR = 4,
	GPUBPF_RMW_XOR = 5,
	GPUBPF_RMW_MIN = 6,
	GPUBPF_RMW_MAX = 7,
	GPUBPF_RMW_EXCHANGE = 8,
	GPUBPF_RMW_COMPARE = 9, /* compare with a value, and exchange if equal */
	GPUBPF_RMW_INC = 10,    /* new value as for PTX's inc: 0 if the old value >= the operand, else old + 1 */
	/* new value as for PTX's dec: the operand if the old value is 0 or > the operand, else old - 1 */
	GPUBPF_RMW_DEC = 11,
};

struct gpubpf_ctx {
	/* Layout of struct pt_regs of x86-64, 168 bytes. The members with a comment arg[i] hold arguments 0 to 5. The
	 * other members are 0. */
	gpubpf_u64 r15, r14, r13, r12, bp, bx, r11, r10;
	gpubpf_u64 r9; /* arg[5] */
	gpubpf_u64 r8; /* arg[4] */
	gpubpf_u64 ax;
	gpubpf_u64 cx; /* arg[3] */
	gpubpf_u64 dx; /* arg[2] */
	gpubpf_u64 si; /* arg[1] */
	gpubpf_u64 di; /* arg[0] */
	gpubpf_u64 orig_ax, ip, cs, flags, sp, ss;

	/* Number of the launch, from 0; the session counts the launches of each kernel. CUDA: if launches of a kernel
	 * overlap in several streams, this may be the number of another launch. In CUDA graphs, it is the number of the
	 * last launch outside of graphs. */
	gpubpf_u64 launch;
	gpubpf_u64 kernel; /* id of the kernel in the session, from 0; it does not change during the session */
	gpubpf_u32 site;   /* enum gpubpf_site */
	gpubpf_u32 nargs;  /* number of parameters of the kernel (at a call: of the function) */
	/* number of dimensions of the launch, 1 to 3; on CUDA: number of the last dimension with more than one
	 * thread */
	gpubpf_u32 work_dim;
	gpubpf_u32 device;       /* number of the device in its process, equal to the result of helper 512 */
	gpubpf_u64 grid_dim[3];  /* number of blocks (work-groups) in each dimension */
	gpubpf_u64 block_dim[3]; /* threads per block; in a smaller last work-group, its real size */
	gpubpf_u64 block_idx[3];
	gpubpf_u64 thread_idx[3];
	gpubpf_u64 global_id[3]; /* get_global_id(), which includes the launch's offset */
	gpubpf_u64 global_offset[3];
	gpubpf_u64 global_linear; /* linear number of the thread in the launch, from 0, without the offset */
	gpubpf_u64 arg[GPUBPF_CTX_ARGS];
	char kernel_name[GPUBPF_CTX_NAME];   /* NUL-terminated; longer names are truncated */
	char function_name[GPUBPF_CTX_NAME]; /* CALL, CALL_EXIT: name of the function, NUL-terminated; else "" */

	/* Each field below exists only at some kinds of places (gpubpf-prog(8)). The verifier refuses a program that
	 * reads a field that does not exist at its place. */
	/* CALL_EXIT: the first 8 bytes of the returned value, in the format of arg[]; 0 for void */
	gpubpf_u64 result;
	gpubpf_u32 place; /* number of the place among the places of its kind in the function, from 0 */
	gpubpf_u32 line;  /* source line; 0: unknown */
	struct {
		gpubpf_u64 addr; /* generic address; in one thread, equal addresses refer to the same memory */
		/* in SHARED or LOCAL memory on CUDA: offset from the start of this memory space; else equal to addr */
		gpubpf_u64 offset;
		/* the first 16 bytes of the stored value, zero-padded; for an atomic, its operand */
		gpubpf_u64 value[2];
		gpubpf_u32 bytes;  /* bytes of the access; 0 if this execution of the instruction accesses no memory */
		gpubpf_u32 access; /* enum gpubpf_mem_access */
		gpubpf_u32 space;  /* enum gpubpf_mem_space */
		gpubpf_u32 count;  /* number of elements of a vector access; else 1 */
		gpubpf_u64 hint;   /* bits of enum gpubpf_mem_hint; 0: the code requests no policy */
	} mem;
	struct {
		/* bits of the active lanes that take the branch. At a jump through a table: bits of the active lanes
		 * with the same target as this lane */
		gpubpf_u64 lanes;
		gpubpf_u64 taken; /* 1: this lane takes the branch */
		/* bits of the lanes that execute the branch together; only this lane if warps are unknown (OpenCL) */
		gpubpf_u64 active;
	} branch;
	struct {
		gpubpf_u64 id;   /* depends on the kind, see enum gpubpf_barrier_kind */
		gpubpf_u64 kind; /* enum gpubpf_barrier_kind */
	} barrier;
	struct {
		gpubpf_u64 op; /* enum gpubpf_rmw */
		/* the first 8 bytes of the operand. COMPARE: the value with which the old value is compared; the new
		 * value is in mem.value */
		gpubpf_u64 operand;
		/* the first 8 bytes of the old value; 0 if the instruction does not return it (PTX's red) */
		gpubpf_u64 old;
	} atomic;
	/* INSN: values of the registers that the instruction names, in the same order, before the instruction
	 * executes; a predicate is 0 or 1 */
	gpubpf_u64 operand[8];
	gpubpf_u64 mark;             /* MARK: its value */
	struct {                     /* HOST, HOST_EXIT: the call */
		gpubpf_u64 function; /* id of the function's name in the session; maps print it like a kernel's id */
		gpubpf_u64 call;     /* number of the call in its process, equal before and after the call */
		/* bytes that the call copies or allocates; 0 if the call does not state the size */
		gpubpf_u64 bytes;
		/* destination of a copy, allocated memory (only after the call), freed memory; an address or a handle */
		gpubpf_u64 pointer;
		gpubpf_u64 source;    /* source of a copy: an address or a handle */
		gpubpf_u64 stream;    /* handle of the stream or queue; 0: none, or the default stream */
		gpubpf_u32 event;     /* enum gpubpf_host_event */
		gpubpf_u32 direction; /* enum gpubpf_copy_direction */
		gpubpf_u32 pid, tid;  /* process and thread that call */
	} host;
	struct {                      /* HOST_EXIT: the result */
		gpubpf_u64 duration;  /* time of the call in ns, without programs at host places */
		gpubpf_u64 result;    /* the runtime's result code, sign-extended; 0: success */
		gpubpf_u64 device_ns; /* time in ns on the device if `clock` is GPUBPF_DONE_DEVICE; else 0 */
		gpubpf_u64 clock;     /* enum gpubpf_done_clock */
	} done;
};

#endif
