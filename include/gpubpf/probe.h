/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For authors of probes (clang -g -O2 -target bpf). One include is enough:
 *
 *	#include <gpubpf/probe.h>
 *
 *	GPUBPF_ARRAY(threads, __u64, 1);
 *
 *	SEC("gpu/exit/vector_add")
 *	int count(struct gpubpf_ctx *ctx)
 *	{
 *		gpubpf_add(&threads, 0, 1);
 *		return 0;
 *	}
 *
 * It includes <bpf/bpf_helpers.h> and <bpf/bpf_tracing.h>, and works with <vmlinux.h> or <linux/bpf.h> in either order.
 * If the include path has one of them, it provides the kernel's types and constants. The context is struct gpubpf_ctx
 * of <gpubpf/ctx.h>. Its fields are relocated (CO-RE), so an object keeps working when their order changes.
 */
#ifndef GPUBPF_PROBE_H
#define GPUBPF_PROBE_H

#ifndef __bpf__
#error "<gpubpf/probe.h> is for probes: compile with clang -target bpf"
#endif

#if defined(__VMLINUX_H__)
#elif __has_include(<vmlinux.h>)
#include <vmlinux.h>
#elif __has_include(<linux/bpf.h>) && __has_include(<asm/types.h>)
#include <linux/bpf.h>
#define GPUBPF_SHORT_TYPES
#else
#define GPUBPF_SHORT_TYPES
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
enum {
#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) BPF_MAP_TYPE_##name = number,
#define GPUBPF_OWN_MAP_TYPE(number, name, impl, operations, flags, meaning)
#include "map_types.def"
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};
enum {
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_STACK_BUILD_ID = 1 << 5,
	BPF_F_MMAPABLE = 1 << 10,
};
enum {
	BPF_F_SKIP_FIELD_MASK = 0xff,
	BPF_F_USER_STACK = 1 << 8,
	BPF_F_FAST_STACK_CMP = 1 << 9,
	BPF_F_REUSE_STACKID = 1 << 10,
};
enum {
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
	BPF_RB_CONS_POS = 2,
	BPF_RB_PROD_POS = 3,
};
#define BPF_F_CURRENT_CPU 0xffffffffULL
#endif

#ifdef GPUBPF_SHORT_TYPES
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
#undef GPUBPF_SHORT_TYPES
#endif

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#include "ctx.h"
#pragma clang attribute pop
#include "allocation.h"
#include "placement.h"

/* --- maps --- */

/* Map types in addition to the kernel's; gpubpf-map(8) describes all. */
enum {
#define GPUBPF_OWN_MAP_TYPE(number, name, impl, operations, flags, meaning) BPF_MAP_TYPE_##name = number,
#include "map_types.def"
};

#define GPUBPF_MAP(map, map_type, key_type, value_type, n) \
	struct {                                           \
		__uint(type, map_type);                    \
		__uint(max_entries, n);                    \
		__type(key, key_type);                     \
		__type(value, value_type);                 \
	} map SEC(".maps")

#define GPUBPF_ARRAY(map, value_type, n) GPUBPF_MAP(map, BPF_MAP_TYPE_ARRAY, __u32, value_type, n)
#define GPUBPF_HASH(map, key_type, value_type, n) GPUBPF_MAP(map, BPF_MAP_TYPE_HASH, key_type, value_type, n)
/* One value per GPU thread: no atomics needed; the tool prints the values by thread. */
#define GPUBPF_PER_THREAD(map, value_type) \
	GPUBPF_MAP(map, BPF_MAP_TYPE_GPU_PERTHREAD_ARRAY, __u32, value_type, 1)
/* A ring buffer for bpf_ringbuf_*(); bytes: a power of two of at least 4096. `record` is the type in which the tool
 * prints records. */
#define GPUBPF_RINGBUF(map, record, bytes)          \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, bytes);         \
		__type(value, record);              \
	} map SEC(".maps")

/*
 * Histograms. The tool recognizes them only by their types, and draws them. In a log2 histogram, slot 0 counts zeros
 * and slot i counts values in [2^(i-1), 2^i). gpubpf_observe() fills a histogram that is a whole map. A histogram that
 * is a value, or a member of one, is a struct gpubpf_hist, which gpubpf_observe_in() fills:
 *
 *	struct stats {
 *		__u64 calls;
 *		struct gpubpf_hist ns;
 *	};
 *	GPUBPF_HASH(by_kernel, gpubpf_kernel, struct stats, 64);
 *	...
 *	gpubpf_observe_in(&stats->ns, elapsed);
 */
typedef __u64 gpubpf_log2_slot;
#define GPUBPF_LOG2_SLOTS 64
#define GPUBPF_HISTOGRAM(map) GPUBPF_ARRAY(map, gpubpf_log2_slot, GPUBPF_LOG2_SLOTS)

/* The sizes of the empty members encode what the slots count, for the tool and gpubpf_observe_in(); step 0 is log2. */
struct gpubpf_hist {
	char gpubpf_min[0][0], gpubpf_step[0][0];
	gpubpf_log2_slot slot[GPUBPF_LOG2_SLOTS];
};

/*
 * Define struct `name`, a linear histogram of values from `min` to below `max` in steps of `step`, constants below
 * 2^31. Slot 0 counts values below min, the last slot values from max on. At most 1024 slots.
 *
 *	GPUBPF_LINEAR_HIST(lanes, 0, 33, 1);
 */
#define GPUBPF_LINEAR_HIST(name, min, max, step)                                                                \
	struct name {                                                                                           \
		_Static_assert((step) > 0 && (max) > (min) && ((max) - (min)) / (step) < 1022,                  \
			       "a linear histogram has a step, min below max, and at most 1024 slots");         \
		char gpubpf_min[0][min], gpubpf_step[0][step];                                                  \
		__u64 slot[((max) - (min) + (step) - 1) / (step) + 2];                                          \
	}

/* Nanoseconds: the tool prints 1234567 as 1.2 ms. */
typedef __u64 gpubpf_ns;

/*
 * A number of amounts and their sum: gpubpf_measure() adds one. The tool also recognizes these by their types. It
 * prints their number, sum, mean, median and 99th percentile, and each key's share of the sum over all keys.
 * Percentiles are as exact as the slots: eight per power of two.
 */
struct gpubpf_quantiles {
	char gpubpf_min[0][0], gpubpf_step[0][0], gpubpf_bits[0][3];
	__u64 slot[320]; /* values from 15 * 2^38 on (69 minutes of ns) are in the last slot */
};
struct gpubpf_amounts {
	__u64 count, sum;
	struct gpubpf_quantiles quantiles;
};
struct gpubpf_times {
	__u64 count;
	gpubpf_ns sum;
	struct gpubpf_quantiles quantiles;
};

/*
 * A struct that the tool prints as a row of a table. Each member is a column under its name; an amounts member is
 * several columns. The tool sorts rows by their sums, or by the first column, the largest first. A key's members are
 * columns too.
 *
 *	struct GPUBPF_ROW row {
 *		struct gpubpf_times launches;
 *	};
 *	GPUBPF_HASH(kernels, gpubpf_kernel, struct row, 256);
 */
#define GPUBPF_ROW __attribute__((btf_decl_tag("gpubpf:row")))

/* After a map: only its programs use the map. The text report prints it only if something was dropped. Only `prog
 * verify -v` prints the verifier's warnings: the programs know which keys are theirs, and how many lanes access
 * them. */
#define GPUBPF_SCRATCH __attribute__((btf_decl_tag("gpubpf:scratch")))

/* After a ring: few threads of a launch emit a record. Therefore only `prog verify -v` prints the warning about the
 * size of all threads' records. */
#define GPUBPF_FEW __attribute__((btf_decl_tag("gpubpf:few")))

/* After SEC() of a program: the text in which `gpubpf probes` says what the object shows. */
#define GPUBPF_ABOUT(text) __attribute__((btf_decl_tag("gpubpf:about=" text)))

/* --- helpers --- */

/* Helpers in addition to the kernel's, which gpubpf-prog(8) describes: ebpf_puts(), bpf_get_globaltimer(),
 * bpf_get_block_idx() and so on. The parameter and the offset of bpf_gpu_read_arg() must be constants. */
#define GPUBPF_DECLARE_LIBBPF(id) _Static_assert(id, "libbpf declares it")
#define GPUBPF_DECLARE_HERE(type, name, parameters) \
	static __attribute__((unused)) type (*const name) parameters = (void *)
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) \
	GPUBPF_DECLARE_##declared(id);
#include "helpers.def"
#undef GPUBPF_DECLARE_LIBBPF
#undef GPUBPF_DECLARE_HERE

/*
 * The application's memory. A program reads it with bpf_probe_read_kernel() and similar helpers (4, 45, 112 to 115).
 * Each call first searches for an allocation that contains all of the bytes. This describes the allocation of an
 * address:
 *
 *	struct gpubpf_allocation of;
 *	if (!gpubpf_allocation(ctx->mem.addr, &of))
 *		... of.number, of.base, of.size, of.kind, of.stack ...
 *
 * Returns 0. If no known allocation contains the address, gpubpf_allocation() returns -ENOENT, the reads return
 * -EFAULT, and the output is zeroed. Known are allocations made by calls that the hooks intercept (SUPPORT.md), at most
 * 4096 at a time. Unknown are variables of modules, local and shared memory, and freed memory. Each search costs about
 * ten memory reads.
 */
#define gpubpf_allocation(addr, info) bpf_gpu_allocation(addr, info, sizeof(*(info)))

/* All allocations with numbers below n; the session fills in the map. With it, a program or report can describe an
 * allocation by its number. Programs may read the map. */
#define GPUBPF_ALLOCATIONS(name, n) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, GPUBPF_F_ALLOCATIONS); \
		__uint(max_entries, n); \
		__type(key, __u32); \
		__type(value, struct gpubpf_allocation); \
	} name SEC(".maps")

/*
 * bpf_printk() prints at most three values. Formats: %d %i %u %x %X %c %p with l and ll; %s for text in maps and
 * constants, which is looked up when the record is read; %f %e %g for the bits of a float or double, as in ctx->arg:
 * bpf_printk("%f", ctx->arg[2]).
 */

/* --- kernel arguments --- */

/* Kernel parameter i, counting from 0, as a value of `type` (at most 8 bytes; i is a constant):
 * GPUBPF_ARG(ctx, 0, float *). A float keeps its bits. */
#define GPUBPF_ARG(ctx, i, type)                                                          \
	({                                                                                \
		_Static_assert(sizeof(type) <= 8, "larger parameters: bpf_gpu_read_arg()"); \
		union {                                                                   \
			__u64 bits;                                                       \
			type value;                                                       \
		} ___arg = { .bits = ((const struct gpubpf_ctx *)(ctx))->arg[i] };        \
		___arg.value;                                                             \
	})

/* libbpf's names, independent of -D__TARGET_ARCH_... */
#undef PT_REGS_PARM1
#undef PT_REGS_PARM2
#undef PT_REGS_PARM3
#undef PT_REGS_PARM4
#undef PT_REGS_PARM5
#undef PT_REGS_PARM6
#define PT_REGS_PARM1(x) (((const struct gpubpf_ctx *)(x))->arg[0])
#define PT_REGS_PARM2(x) (((const struct gpubpf_ctx *)(x))->arg[1])
#define PT_REGS_PARM3(x) (((const struct gpubpf_ctx *)(x))->arg[2])
#define PT_REGS_PARM4(x) (((const struct gpubpf_ctx *)(x))->arg[3])
#define PT_REGS_PARM5(x) (((const struct gpubpf_ctx *)(x))->arg[4])
#define PT_REGS_PARM6(x) (((const struct gpubpf_ctx *)(x))->arg[5])

#define ___gpubpf_args0() ctx
#define ___gpubpf_args1(x) ___gpubpf_args0(), (void *)ctx->arg[0]
#define ___gpubpf_args2(x, args...) ___gpubpf_args1(args), (void *)ctx->arg[1]
#define ___gpubpf_args3(x, args...) ___gpubpf_args2(args), (void *)ctx->arg[2]
#define ___gpubpf_args4(x, args...) ___gpubpf_args3(args), (void *)ctx->arg[3]
#define ___gpubpf_args5(x, args...) ___gpubpf_args4(args), (void *)ctx->arg[4]
#define ___gpubpf_args6(x, args...) ___gpubpf_args5(args), (void *)ctx->arg[5]
#define ___gpubpf_args7(x, args...) ___gpubpf_args6(args), (void *)ctx->arg[6]
#define ___gpubpf_args8(x, args...) ___gpubpf_args7(args), (void *)ctx->arg[7]
#define ___gpubpf_args9(x, args...) ___gpubpf_args8(args), (void *)ctx->arg[8]
#define ___gpubpf_args10(x, args...) ___gpubpf_args9(args), (void *)ctx->arg[9]
#define ___gpubpf_args11(x, args...) ___gpubpf_args10(args), (void *)ctx->arg[10]
#define ___gpubpf_args12(x, args...) ___gpubpf_args11(args), (void *)ctx->arg[11]
#define ___gpubpf_args(args...) ___bpf_apply(___gpubpf_args, ___bpf_narg(args))(args)

/*
 * A probe with the kernel's parameters as its own, as BPF_KPROBE does for functions:
 *
 *	SEC("gpu/entry/vector_add")
 *	int GPUBPF_PROBE(entered, float *a, float *b, float *c, unsigned n) { ... uses ctx and n ... }
 *
 * Up to 12 parameters, integers and pointers. For others use GPUBPF_ARG() or bpf_gpu_read_arg().
 */
#define GPUBPF_PROBE(name, args...)                                                                          \
	name(struct gpubpf_ctx *ctx);                                                                        \
	static __always_inline typeof(name(0)) ____##name(struct gpubpf_ctx *ctx, ##args);                   \
	typeof(name(0)) name(struct gpubpf_ctx *ctx)                                                         \
	{                                                                                                    \
		_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"") return \
			____##name(___gpubpf_args(args));                                                    \
		_Pragma("GCC diagnostic pop")                                                                \
	}                                                                                                    \
	static __always_inline typeof(name(0)) ____##name(struct gpubpf_ctx *ctx, ##args)

/* --- common tasks of probes --- */

/*
 * Atomic adds. If the program does not use the old value, a relaxed add compiles to an add without fetch. Devices
 * execute it faster, and the map may be replicated. If the program uses the old value, the add must not be relaxed:
 * clang 22 for BPF would omit the fetch, and the "old value" would be n.
 */
#define gpubpf_count(counter, n) ((void)__atomic_fetch_add(counter, n, __ATOMIC_RELAXED))
#define gpubpf_fetch_add(counter, n) __sync_fetch_and_add(counter, n)

/* Add n to element i of an array of 64-bit counters. */
static __always_inline void gpubpf_add(void *array, __u32 i, __u64 n)
{
	__u64 *counter = bpf_map_lookup_elem(array, &i);

	if (counter)
		gpubpf_count(counter, n);
}

/* Returns the slot of v in a log2 histogram. */
static __always_inline __u32 gpubpf_log2(__u64 v)
{
	__u32 slot = v != 0;

	if (v >= 1ull << 32) {
		v >>= 32;
		slot += 32;
	}
	if (v >= 1 << 16) {
		v >>= 16;
		slot += 16;
	}
	if (v >= 1 << 8) {
		v >>= 8;
		slot += 8;
	}
	if (v >= 1 << 4) {
		v >>= 4;
		slot += 4;
	}
	if (v >= 1 << 2) {
		v >>= 2;
		slot += 2;
	}
	if (v >= 1 << 1)
		slot += 1;
	return slot < GPUBPF_LOG2_SLOTS ? slot : GPUBPF_LOG2_SLOTS - 1;
}

/* Count v in a map defined by GPUBPF_HISTOGRAM(). */
static __always_inline void gpubpf_observe(void *histogram, __u64 v)
{
	gpubpf_add(histogram, gpubpf_log2(v), 1);
}

/* Count v in slot[n]; min and step are constants as in GPUBPF_LINEAR_HIST(). */
static __always_inline void gpubpf_observe_slot(__u64 *slot, __u32 n, __u64 min, __u64 step, __u64 v)
{
	__u64 i = gpubpf_log2(v);

	if (step)
		i = v < min ? 0 : (v - min) / step + 1;
	if (i >= n)
		i = n - 1;
	gpubpf_count(&slot[i], 1);
}

/* Count v in the histogram *h: a struct gpubpf_hist, or one defined by GPUBPF_LINEAR_HIST(). */
#define gpubpf_observe_in(h, v)                                                          \
	gpubpf_observe_slot((h)->slot, sizeof((h)->slot) / sizeof((h)->slot[0]),         \
			    sizeof((h)->gpubpf_min[0]), sizeof((h)->gpubpf_step[0]), (v))

/* Add v to the amounts or times *a. */
#define gpubpf_measure(a, v)                                                    \
	({                                                                      \
		__u64 ___v = (v);                                               \
		gpubpf_count(&(a)->count, 1);                                   \
		gpubpf_count(&(a)->sum, ___v);                                  \
		gpubpf_observe_quantile(&(a)->quantiles, ___v);                 \
	})

static __always_inline void gpubpf_observe_quantile(struct gpubpf_quantiles *q, __u64 v)
{
	__u32 power = gpubpf_log2(v >> 3); /* 0: one slot per value */
	__u64 i = v;

	if (power)
		i = (power << 3) + ((v >> (power - 1)) & 7);
	if (i >= sizeof(q->slot) / sizeof(q->slot[0]))
		i = sizeof(q->slot) / sizeof(q->slot[0]) - 1;
	gpubpf_count(&q->slot[i], 1);
}

/* The first function returns the number of threads in the lane's block, the second the block's linear number in the
 * launch. */
static __always_inline __u64 gpubpf_block_threads(const struct gpubpf_ctx *ctx)
{
	return ctx->block_dim[0] * ctx->block_dim[1] * ctx->block_dim[2];
}

static __always_inline __u64 gpubpf_block_linear(const struct gpubpf_ctx *ctx)
{
	return (ctx->block_idx[2] * ctx->grid_dim[1] + ctx->block_idx[1]) * ctx->grid_dim[0] + ctx->block_idx[0];
}

/* A kernel, as a key or a value: its id in the session. The tool prints its full name, also after the program's end;
 * gpubpf_session__kernel_name() returns it. */
typedef __u64 gpubpf_kernel;

static __always_inline gpubpf_kernel gpubpf_kernel_of(const struct gpubpf_ctx *ctx)
{
	return ctx->kernel;
}

/* A kernel's id as an index of an array. Arrays are faster than hash tables, and work on devices where hash tables do
 * not. */
typedef __u32 gpubpf_kernel_index;

/* The stack of a kernel's launch, as bpf_get_stackid() returns it. If the session has exactly one STACK_TRACE map, the
 * tool prints the functions. */
typedef __s64 gpubpf_stack;

/* The arguments of a kernel: the tool prints them by parameter, as far as the parameters are known. */
struct gpubpf_args {
	gpubpf_kernel kernel;
	__u64 n;
	__u64 value[GPUBPF_CTX_ARGS];
};

static __always_inline void gpubpf_copy_args(const struct gpubpf_ctx *ctx, struct gpubpf_args *to)
{
	to->kernel = ctx->kernel;
	to->n = ctx->nargs;
#pragma unroll
	for (int i = 0; i < GPUBPF_CTX_ARGS; i++)
		to->value[i] = ctx->arg[i];
}

/* The name of a kernel or function, truncated to 63 bytes: two kernels may have the same. As a key, prefer
 * gpubpf_kernel. */
struct gpubpf_name {
	char text[GPUBPF_CTX_NAME];
} __attribute__((aligned(8)));

static __always_inline void gpubpf_copy_name(const char *name, struct gpubpf_name *to)
{
	const __u64 *from = (const __u64 *)name;

#pragma unroll
	for (int i = 0; i < GPUBPF_CTX_NAME / 8; i++)
		((__u64 *)to)[i] = from[i];
}

static __always_inline void gpubpf_kernel_name(const struct gpubpf_ctx *ctx, struct gpubpf_name *name)
{
	gpubpf_copy_name(ctx->kernel_name, name);
}

/* At gpu/call/: the name of the called device function. */
static __always_inline void gpubpf_function_name(const struct gpubpf_ctx *ctx, struct gpubpf_name *name)
{
	gpubpf_copy_name(ctx->function_name, name);
}

#endif
