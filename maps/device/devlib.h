/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device library: the functions that lowered programs call. The library is one C source, maps/device/devlib.cl,
 * which includes headers of maps/, one for each kind of map. It is written in the common subset of OpenCL C 1.2 and C,
 * and used in three ways:
 *
 *   - clang -x cl -cl-std=CL2.0 compiles it at build time to bitcode for nvptx64, amdgcn and spirv64. The LLVM lowering
 *     links this bitcode to a program, internalises it and inlines it.
 *   - The OpenCL C lowering writes its text before the program's text.
 *   - The host's C compiler compiles it for the interpreter and for maps/ on the host (maps/host/host.c), with empty
 *     GPUBPF_DEVMEM and GPUBPF_PRIVATE.
 *
 * All functions are static inline in text, and external functions "gpubpf_*" in bitcode. Pointers that a program passes
 * are private: they point to its stack, or to a copy of map memory that the lowering made. Addresses of device memory
 * are u64. The lowering passes the layout of a map as constants (GPUBPF_MAP_ARGS), so that inlined code loads no
 * layout. Functions on maps are named gpubpf_<impl>_<op>, with impl from include/gpubpf/map_types.def. The other
 * functions are named gpubpf_helper_<name>, with name from include/gpubpf/helpers.def.
 */
#ifndef GPUBPF_MAPS_DEVLIB_H
#define GPUBPF_MAPS_DEVLIB_H

#include "maps/layout.h"

#ifdef GPUBPF_OPENCL
#define GPUBPF_DEVMEM __global
#define GPUBPF_PRIVATE __private
#else
#define GPUBPF_DEVMEM
#define GPUBPF_PRIVATE
#endif

#define GPUBPF_ENV_ARGS 32

/*
 * The environment: the values that a site passes to its probes, in private memory of the lane. The code that sets it
 * fills only the members that the probes read.
 */
struct gpubpf_env {
	u64 arena;  /* device address of the arena */
	u64 launch; /* number of the launch */
	/* result of helper 14, combined with the number of the launch's stack; see GPUBPF_LAUNCH_PID in layout.h */
	u64 pid_tgid;
	u64 kernel_id; /* id of the kernel */
	u32 device;    /* number of the device in its process, for helper 512 */
	u32 flags;
	u64 arg[GPUBPF_ENV_ARGS]; /* values of the kernel's arguments, in the format of include/gpubpf/ctx.h */
	/*
	 * bytes of the kernel's parameters for helper 520, at the offsets that the site's description states; NULL if
	 * no program reads them
	 */
	GPUBPF_PRIVATE const u8 *arg_bytes;
	/* with GPUBPF_ENV_CLOCK, on devices whose clock counts ns: CLOCK_MONOTONIC minus the device's clock */
	u64 clock_offset;
};

/*
 * Bit of `flags`: clock_offset is valid. If it is not set, a lane loads the clock's calibration from the arena's
 * header.
 */
#define GPUBPF_ENV_CLOCK 1
/* Bits of `flags`: the offset of the table of granules in the arena, a multiple of 64. */
#define GPUBPF_ENV_GRANULES 0xffffffc0
#define GPUBPF_ENV_GRANULES_AT(offset) ((offset) <= GPUBPF_ENV_GRANULES ? (u32)(offset) & GPUBPF_ENV_GRANULES : 0)

#define GPUBPF_ENV GPUBPF_PRIVATE const struct gpubpf_env *env
/*
 * The parameters with which an operation receives the layout of its map, in this order. Each has the type of the member
 * in struct gpubpf_map_layout.
 */
#define GPUBPF_MAP_ARGS u32 map_flags, u32 key_size, u32 value_size, u32 max_entries, u32 copies, \
	u64 ctl, u64 data, u64 stride, u64 copy_stride
#define GPUBPF_MAP_PASS map_flags, key_size, value_size, max_entries, copies, ctl, data, stride, copy_stride

/*
 * Operations on maps: gpubpf_<impl>_<function of core/model/ops.def>(GPUBPF_ENV, GPUBPF_MAP_ARGS, ...).
 *
 * The other arguments are the arguments of the helper in helpers.def, by the rules of core/model/args.def. An operation
 * returns the result of the helper, for example:
 *   u64 gpubpf_hash_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key);   address or 0
 *   s64 gpubpf_hash_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
 *                          GPUBPF_PRIVATE const u8 *value, u64 flags);
 *   s64 gpubpf_ring_output(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u64 size);
 *
 * A kind whose types have the operation ADDRESS (global data) also has functions that return the address of a value by
 * its index, or 0 if the index is not below max_entries:
 *   u64 gpubpf_array_address(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 index);
 *   u64 gpubpf_array_lookup_from(u64 first, u32 max_entries, u64 stride, const u8 *key);   first: address of index 0
 *
 * Submit or discard a reserved record:
 *   void gpubpf_helper_ringbuf_submit(GPUBPF_ENV, u64 record, u64 flags);
 *   void gpubpf_helper_ringbuf_discard(GPUBPF_ENV, u64 record, u64 flags);
 *
 * Helpers without a map, named as in include/gpubpf/helpers.def. (The lowering implements exit_thread.)
 *   u64 gpubpf_helper_<name>(GPUBPF_ENV)
 *   s64 gpubpf_helper_get_<block_idx|block_dim|thread_idx|grid_dim>(GPUBPF_ENV, GPUBPF_PRIVATE u64 *x, *y, *z);
 *   u64 gpubpf_helper_gpu_membar(GPUBPF_ENV);
 *   s64 gpubpf_helper_read_arg(GPUBPF_ENV, u64 param_off, u64 param_size, u64 offset,
 *                              GPUBPF_PRIVATE u8 *to, u64 size);
 *           param_off, param_size: position and size of the parameter in env->arg_bytes
 *   u64 gpubpf_helper_named_arg(GPUBPF_ENV, u64 index, u64 bits);   see struct gpubpf_param_read
 *
 * Prints. GPUBPF_MAP_ARGS is the layout of the print ring, and prog is the index of the program in the unit. The format
 * or the string is in private memory. size includes the NUL, if there is one. At most GPUBPF_PRINT_TEXT bytes are
 * copied.
 *   s64 gpubpf_helper_trace_printk(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *fmt,
 *                                  u64 size, u64 a1, u64 a2, u64 a3);
 *   s64 gpubpf_helper_puts(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size);
 *
 * Fields of the context that the device computes (core/model/ctx_fields.def, source DEVICE):
 *   u64 gpubpf_ctx_<field>(u32 i);               i: index of the element, 0 for scalars
 *   u64 gpubpf_lanes_given(u64 lanes);           a field with source LANES, computed from the operand of the place
 *
 * Atomics on device memory. They are relaxed, with device scope, or system scope if the host and the device share the
 * arena:
 *   void gpubpf_atomic_add_u32/u64(u64 address, uN value);
 *   void gpubpf_atomic_add_warp_u32/u64(u64 address, uN value);   combines the adds of lanes with equal addresses,
 *                                              where this is faster
 *   void gpubpf_atomic_add_near_u32/u64(u64 address, uN value);   the same, if the addresses of lanes differ only in
 *                                              their lower halves
 *   void gpubpf_atomic_add_told_u32/u64(u64 address, uN value, u32 told);   the same; `told` not 0: all lanes have the
 *                                              same value. Only in libraries lowered with opts->keeps_sums
 *   void gpubpf_atomic_add_same_u32/u64(u64 address, uN value);   the same, if all lanes have the same address
 *   uN gpubpf_atomic_load_uN(u64 address); void gpubpf_atomic_store_uN(u64 address, uN value);
 *   uN gpubpf_atomic_fetch_<add|or|and|xor>_uN(u64 address, uN value);
 *   uN gpubpf_atomic_xchg_uN(u64 address, uN value);
 *   uN gpubpf_atomic_cmpxchg_uN(u64 address, uN expected, uN value);
 *
 * Macros that are defined when the library is compiled ("text": only for OpenCL C text):
 *   GPUBPF_BITCODE          clang compiles for a target (nvptx64, amdgcn, spirv64, spir64); functions are external
 *   GPUBPF_SUBGROUPS        text and SPIR-V: the device has sub-groups
 *   GPUBPF_X86              text: the device is an x86 CPU (GPUBPF_CAP_X86)
 *   GPUBPF_NVPTX_ASM        text: the OpenCL C compiler accepts inline PTX
 *   GPUBPF_CLOCK_TSC, GPUBPF_CLOCK_KHR, GPUBPF_CLOCK_GLOBALTIMER
 *                           text: the device's clock (enum gpubpf_clock). Without any, gpubpf_clock() returns 0
 *
 * SPIR-V calls an external function u64 gpubpf_clock_read(void), which is linked separately.
 *
 * In the Linux kernel, BPF atomics other than an add without fetch are sequentially consistent. Here, atomics with
 * fetch have acquire-release order, at least at device scope.
 */

#endif
