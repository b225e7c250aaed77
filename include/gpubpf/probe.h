/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header for programs that run in GPU kernels (clang -g -O2 -target bpf). One include is enough:
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
 * This header includes <bpf/bpf_helpers.h> and <bpf/bpf_tracing.h>. It provides the types and constants of <vmlinux.h>
 * or <linux/bpf.h>, if the include path has one of these. A program may also include them itself, before or after this
 * header. The context is struct gpubpf_ctx of <gpubpf/ctx.h>. Accesses to its fields are relocated (CO-RE), so an
 * object works with later versions that order the fields differently.
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
struct bpf_dynptr {
	__u64 opaque[2];
};
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
#include "arm.h"
#include "clock.h"
#include "placement.h"

/* --- maps --- */

/* Map types in addition to the Linux kernel's. gpubpf-map(8) describes all map types. */
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
/* A map with one value per GPU thread, so programs need no atomics. The tool prints the values by thread. */
#define GPUBPF_PER_THREAD(map, value_type) \
	GPUBPF_MAP(map, BPF_MAP_TYPE_GPU_PERTHREAD_ARRAY, __u32, value_type, 1)
/* A ring buffer for bpf_ringbuf_*(). `bytes` is its size, a power of two of at least 4096. The tool prints each
 * record as a value of type `record`. */
#define GPUBPF_RINGBUF(map, record, bytes)          \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, bytes);         \
		__type(value, record);              \
	} map SEC(".maps")

/*
 * A function of the host. `in` is the type of its argument and `out` the type of its output, each of at most 512 bytes.
 * The tool registers the function by the map's name (gpubpf_map__register_host_call(), Session.host_call() in Python).
 * The program calls it and waits:
 *
 *	GPUBPF_HOST_CALL(policy, struct question, struct answer);
 *	...
 *	long result = gpubpf_call_host(&policy, &question, &answer);
 *
 * `n` of GPUBPF_HOST_CALLS() is the number of warps, on CPUs of work-items, that may wait at the same time.
 */
#define GPUBPF_HOST_CALLS(map, in, out, n) GPUBPF_MAP(map, BPF_MAP_TYPE_HOST_CALL, in, out, n)
#define GPUBPF_HOST_CALL(map, in, out) GPUBPF_HOST_CALLS(map, in, out, 512)

/*
 * Log2 histograms. Slot 0 counts zeros, and slot i counts the values from 2^(i-1) to below 2^i. The tool recognizes a
 * histogram by its type, and draws it.
 *
 * GPUBPF_HISTOGRAM() defines a map that is one histogram, and gpubpf_observe() counts a value in it. To use a histogram
 * as the value of a map, or as a member of this value, declare a struct gpubpf_hist. Count a value in it with
 * gpubpf_observe_in():
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

/* The array bounds of the empty members tell the tool and gpubpf_observe_in() which values a slot counts.
 * These bounds are the minimum, and the step between slots. A step of 0 means log2. */
struct gpubpf_hist {
	char gpubpf_min[0][0], gpubpf_step[0][0];
	gpubpf_log2_slot slot[GPUBPF_LOG2_SLOTS];
};

/*
 * Define struct `name`, a linear histogram of the values from `min` to below `max` in steps of `step`. All three are
 * constants below 2^31. Slot 0 counts values below min, and the last slot counts values from max on. A histogram has at
 * most 1024 slots.
 *
 *	GPUBPF_LINEAR_HIST(lanes, 0, 33, 1);
 */
#define GPUBPF_LINEAR_HIST(name, min, max, step)                                                                \
	struct name {                                                                                           \
		_Static_assert((step) > 0 && (max) > (min) && ((max) - (min)) / (step) < 1022,                  \
			       "a linear histogram requires a positive step, min below max, and at most 1024 slots");         \
		char gpubpf_min[0][min], gpubpf_step[0][step];                                                  \
		__u64 slot[((max) - (min) + (step) - 1) / (step) + 2];                                          \
	}

/* A time in nanoseconds. The tool prints 1234567 as 1.2 ms. */
typedef __u64 gpubpf_ns;

/* A distribution of amounts: their number, their sum and their quantiles. gpubpf_measure() adds an amount. The tool
 * recognizes these types. It prints the number, sum, mean, median and 99th percentile, and each key's share of the sum
 * over all keys. Percentiles are as exact as the slots: eight per power of two. */
struct gpubpf_quantiles {
	char gpubpf_min[0][0], gpubpf_step[0][0], gpubpf_bits[0][3];
	__u64 slot[320]; /* the last slot counts all values from 15 * 2^38 on (69 minutes in ns) */
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
 * Marks the struct that is the value type of a map. The tool then prints the map as a table with one row per entry.
 * Each member of the key and of the value is a column with the member's name. A struct gpubpf_amounts or struct
 * gpubpf_times takes several columns. The tool sorts the rows by the sum in the first such struct, or else by the first
 * number in the value, the largest first.
 *
 *	struct GPUBPF_ROW row {
 *		struct gpubpf_times launches;
 *	};
 *	GPUBPF_HASH(kernels, gpubpf_kernel, struct row, 256);
 */
#define GPUBPF_ROW __attribute__((btf_decl_tag("gpubpf:row")))

/* Write it after the definition of a map that only programs use. The text report prints the map only if updates were
 * dropped. `prog verify` prints the verifier's warnings about the map only with -v: the programs know which keys are
 * theirs, and how many lanes access them. */
#define GPUBPF_SCRATCH __attribute__((btf_decl_tag("gpubpf:scratch")))

/* Write it after an array with gpubpf_kernel_index as key, whose values begin with a struct gpubpf_times. If the runtime
 * measures launches itself (OpenCL on CPUs), the session adds its times to the map. Programs that use only such maps and
 * scratch maps do not run then, and kernels need no twin for them. */
#define GPUBPF_LAUNCH_TIMES __attribute__((btf_decl_tag("gpubpf:launch_times")))

/* Write it after the definition of a map in which each thread uses only its own keys, such as the thread's number.
 * Then no thread holds the address of an element that another thread deletes. */
#define GPUBPF_OWN_KEYS __attribute__((btf_decl_tag("gpubpf:own_keys")))

/* Write it after the definition of a ring into which only few threads of a launch write a record. The verifier warns
 * about the many bytes of records that a launch produces if all its threads write. For this ring, `prog verify` prints
 * the warning only with -v. */
#define GPUBPF_FEW __attribute__((btf_decl_tag("gpubpf:few")))

/* Write it after SEC() of a program. `gpubpf probes` prints the text to describe the object. */
#define GPUBPF_ABOUT(text) __attribute__((btf_decl_tag("gpubpf:about=" text)))

/* --- helpers --- */

/* Helpers in addition to the Linux kernel's: ebpf_puts(), bpf_get_globaltimer(), bpf_get_block_idx() and others.
 * gpubpf-prog(8) describes them. The parameter number and the offset of bpf_gpu_read_arg() must be constants. */
#define GPUBPF_DECLARE_LIBBPF(id) _Static_assert(id, "libbpf declares it")
#define GPUBPF_DECLARE_KFUNC(id) _Static_assert(id, "a program declares it as __ksym")
#define GPUBPF_DECLARE_HERE(type, name, parameters) \
	static __attribute__((unused)) type (*const name) parameters = (void *)
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) \
	GPUBPF_DECLARE_##declared(id);
#include "helpers.def"
#undef GPUBPF_DECLARE_LIBBPF
#undef GPUBPF_DECLARE_KFUNC
#undef GPUBPF_DECLARE_HERE

#include "loops.h"

/*
 * Access to the application's memory. A program reads it with bpf_probe_read_kernel() and similar helpers (4, 45, 112
 * to 115). Each call first searches for an allocation that contains all of the bytes. gpubpf_allocation() describes the
 * allocation that contains an address:
 *
 *	struct gpubpf_allocation of;
 *	if (!gpubpf_allocation(ctx->mem.addr, &of))
 *		... of.number, of.base, of.size, of.kind, of.stack ...
 *
 * gpubpf_allocation() returns 0. If no known allocation contains the address, it returns -ENOENT, the helpers return
 * -EFAULT, and both fill the output with zeros. At most 4096 allocations are known at a time: those made by calls that
 * the hooks intercept (SUPPORT.md). Variables of modules, local and shared memory, and freed memory are not known. Each
 * search costs about ten memory reads.
 */
#define gpubpf_allocation(addr, info) bpf_gpu_allocation(addr, info, sizeof(*(info)))

/* A map of all allocations with numbers below n, which the session fills in. With it, a program or the report can
 * describe an allocation by its number. Programs may only read the map. */
#define GPUBPF_ALLOCATIONS(name, n) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, GPUBPF_F_ALLOCATIONS); \
		__uint(max_entries, n); \
		__type(key, __u32); \
		__type(value, struct gpubpf_allocation); \
	} name SEC(".maps")

/*
 * bpf_printk() prints at most three values. It supports these conversions:
 *   %d %i %u %x %X %c %p, with the modifiers l and ll;
 *   %s for text in maps and constants, which the tool reads when it prints the record;
 *   %f %e %g for the bits of a float or double, as in ctx->arg: bpf_printk("%f", ctx->arg[2]).
 */

/* --- kernel arguments --- */

/* The value of kernel parameter i (a constant, from 0) as `type`, which has at most 8 bytes: GPUBPF_ARG(ctx, 0, float
 * *). A float keeps its bits. */
#define GPUBPF_ARG(ctx, i, type)                                                          \
	({                                                                                \
		_Static_assert(sizeof(type) <= 8, "parameters of more than 8 bytes: use bpf_gpu_read_arg()"); \
		union {                                                                   \
			__u64 bits;                                                       \
			type value;                                                       \
		} ___arg = { .bits = ((const struct gpubpf_ctx *)(ctx))->arg[i] };        \
		___arg.value;                                                             \
	})

/* libbpf's macros, redefined so that they do not depend on -D__TARGET_ARCH_... */
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
 * Define a program that has the parameters of the GPU kernel, as BPF_KPROBE does for functions:
 *
 *	SEC("gpu/entry/vector_add")
 *	int GPUBPF_PROBE(entered, float *a, float *b, float *c, unsigned n) { ... uses ctx and n ... }
 *
 * The first 12 parameters can be used, if they are integers and pointers. For others use GPUBPF_ARG() or
 * bpf_gpu_read_arg().
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
 * Atomic adds. If the program does not use the old value, a relaxed add compiles to an add without fetch. Such an add
 * is faster on devices, and the map can have a replica per multiprocessor.
 *
 * If the program uses the old value, the add must not be relaxed. For BPF, clang 22 would omit the fetch, and the
 * result would be n instead of the old value.
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

/* Maxima and minima, of unsigned numbers. gpubpf_atomic_max() is helper 533. gpubpf_max() and gpubpf_min() take element i
 * of an array of 64-bit words. If programs only take maxima and minima of a map's values, the map can have a replica per
 * multiprocessor. So use separate maps for counters and for extremes.
 *
 * A new word is 0, so a minimum is stored as its complement: it is a maximum of complements. The tool prints a word of
 * type gpubpf_minimum as the minimum, or as "none" if no program stored a number. GPUBPF_MINIMUM() returns the minimum in
 * a word that another program reads; without a minimum it returns the largest number. */
typedef __u64 gpubpf_minimum;
#define GPUBPF_MINIMUM(word) (~(__u64)(word))

static __always_inline void gpubpf_atomic_min(gpubpf_minimum *word, __u64 n)
{
	gpubpf_atomic_max((__u64 *)word, ~n);
}

static __always_inline void gpubpf_max(void *array, __u32 i, __u64 n)
{
	__u64 *word = bpf_map_lookup_elem(array, &i);

	if (word)
		gpubpf_atomic_max(word, n);
}

static __always_inline void gpubpf_min(void *array, __u32 i, __u64 n)
{
	gpubpf_max(array, i, ~n);
}

/* Returns the slot of value v in a log2 histogram. */
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

/* Count value v in a map that GPUBPF_HISTOGRAM() defines. */
static __always_inline void gpubpf_observe(void *histogram, __u64 v)
{
	gpubpf_add(histogram, gpubpf_log2(v), 1);
}

/* Count value v in one of the n slots. min and step are the constants of GPUBPF_LINEAR_HIST(); step 0: log2. */
static __always_inline void gpubpf_observe_slot(__u64 *slot, __u32 n, __u64 min, __u64 step, __u64 v)
{
	__u64 i = gpubpf_log2(v);

	if (step)
		i = v < min ? 0 : (v - min) / step + 1;
	if (i >= n)
		i = n - 1;
	gpubpf_count(&slot[i], 1);
}

/* Count value v in the histogram *h, a struct gpubpf_hist or a struct that GPUBPF_LINEAR_HIST() defines. */
#define gpubpf_observe_in(h, v)                                                          \
	gpubpf_observe_slot((h)->slot, sizeof((h)->slot) / sizeof((h)->slot[0]),         \
			    sizeof((h)->gpubpf_min[0]), sizeof((h)->gpubpf_step[0]), (v))

/* Add amount v to *a, a struct gpubpf_amounts or struct gpubpf_times. */
#define gpubpf_measure(a, v)                                                    \
	({                                                                      \
		__u64 ___v = (v);                                               \
		gpubpf_count(&(a)->count, 1);                                   \
		gpubpf_count(&(a)->sum, ___v);                                  \
		gpubpf_observe_quantile(&(a)->quantiles, ___v);                 \
	})

static __always_inline void gpubpf_observe_quantile(struct gpubpf_quantiles *q, __u64 v)
{
	__u32 power = gpubpf_log2(v >> 3); /* power 0: values below 8 have a slot each */
	__u64 i = v;

	if (power)
		i = (power << 3) + ((v >> (power - 1)) & 7);
	if (i >= sizeof(q->slot) / sizeof(q->slot[0]))
		i = sizeof(q->slot) / sizeof(q->slot[0]) - 1;
	gpubpf_count(&q->slot[i], 1);
}

/* gpubpf_block_threads() returns the number of threads in the lane's block. gpubpf_block_linear() returns the linear
 * number of the block in the launch. */
static __always_inline __u64 gpubpf_block_threads(const struct gpubpf_ctx *ctx)
{
	return ctx->block_dim[0] * ctx->block_dim[1] * ctx->block_dim[2];
}

static __always_inline __u64 gpubpf_block_linear(const struct gpubpf_ctx *ctx)
{
	return (ctx->block_idx[2] * ctx->grid_dim[1] + ctx->block_idx[1]) * ctx->grid_dim[0] + ctx->block_idx[0];
}

/* The id of a GPU kernel in the session, as a key or a value. The tool prints the kernel's full name, also after the
 * application has ended. gpubpf_session__kernel_name() returns this name. */
typedef __u64 gpubpf_kernel;

static __always_inline gpubpf_kernel gpubpf_kernel_of(const struct gpubpf_ctx *ctx)
{
	return ctx->kernel;
}

#include "launch.h"
/* The id of a GPU kernel as the index of an array. An array is faster than a hash table, and it works on devices where
 * hash tables do not. */
typedef __u32 gpubpf_kernel_index;

/* The id of the host stack that launched a kernel, as bpf_get_stackid() returns it. If the session has exactly one
 * STACK_TRACE map, the tool prints the stack's functions. */
typedef __s64 gpubpf_stack;

/* The arguments of a kernel. The tool prints each argument with the name and in the type of its parameter, if these
 * are known. */
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

/* The name of a kernel or function, truncated to 63 bytes. Two kernels may have the same truncated name, so prefer
 * gpubpf_kernel as a key. */
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

/* Copy the name of the called device function, at gpu/call/ and gpu/call_exit/. */
static __always_inline void gpubpf_function_name(const struct gpubpf_ctx *ctx, struct gpubpf_name *name)
{
	gpubpf_copy_name(ctx->function_name, name);
}

#endif
