/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device library's interface, which lowered programs call. The library is one C source: maps/device/devlib.cl with the
 * headers of maps/, one for each map type. It is written in the common subset of OpenCL C 1.2 and C:
 *
 *   - clang -x cl -cl-std=CL2.0 compiles it at build time to bitcode for nvptx64, amdgcn and spirv64;
 *     the LLVM lowering links it, internalises and inlines it;
 *   - the clc lowering emits its text before the program's;
 *   - the host's C compiler compiles it for the interpreter and for maps/ on the host (maps/host/host.c),
 *     where GPUBPF_DEVMEM and GPUBPF_PRIVATE are empty.
 *
 * Conventions. All functions are static inline in text, and external "gpubpf_*" in bitcode. Pointers that a program
 * passes are private: its stack, or a copy of map memory that the lowering made. Addresses of device memory are u64.
 * The lowering passes the map's layout as constants, GPUBPF_MAP_ARGS, so that inlined code loads no layout. Functions
 * on maps are named gpubpf_<impl>_<op>, with impl from include/gpubpf/map_types.def. The others are named
 * gpubpf_helper_<name>, with name from include/gpubpf/helpers.def.
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
 * The environment that a site passes to its probes. It lies in private memory of the lane. The wrapper or the injected
 * code fills only the members that the facts of the probes require.
 */
struct gpubpf_env {
	u64 arena;     /* device address of the arena */
	u64 launch;    /* number of the launch */
	u64 pid_tgid;  /* result of helper 14, and the number of the launch's stack: GPUBPF_LAUNCH_PID in
			        * layout.h */
	u64 kernel_id; /* id of the kernel */
	u32 device;    /* number of the device, for helper 512 */
	u32 flags;
	u64 arg[GPUBPF_ENV_ARGS]; /* values of the kernel's arguments, as in include/gpubpf/ctx.h */
	/*
	 * bytes of the parameters for helper 520, at the offsets that the site's description assigns; NULL if no
	 * program reads them
	 */
	GPUBPF_PRIVATE const u8 *arg_bytes;
	u64 clock_offset; /* with GPUBPF_ENV_CLOCK, where cycles are ns: CLOCK_MONOTONIC minus the cycle count */
};

#define GPUBPF_ENV_CLOCK 1 /* bit of `flags`: clock_offset is valid. Without it a lane loads the clock's calibration
			    * from the header */
/* Bits of `flags`: the arena offset of the table of granules, a multiple of 64. */
#define GPUBPF_ENV_GRANULES 0xffffffc0
#define GPUBPF_ENV_GRANULES_AT(offset) ((offset) <= GPUBPF_ENV_GRANULES ? (u32)(offset) & GPUBPF_ENV_GRANULES : 0)

#define GPUBPF_ENV GPUBPF_PRIVATE const struct gpubpf_env *env
/*
 * the parameters by which an operation receives the layout of its map, in this order; u64 where struct
 * gpubpf_map_layout has u64
 */
#define GPUBPF_MAP_ARGS u32 map_flags, u32 key_size, u32 value_size, u32 max_entries, u32 copies, \
	u64 ctl, u64 data, u64 stride, u64 copy_stride
#define GPUBPF_MAP_PASS map_flags, key_size, value_size, max_entries, copies, ctl, data, stride, copy_stride

/*
 * Operations of the kinds of maps: gpubpf_<impl>_<function of core/model/ops.def>(GPUBPF_ENV, GPUBPF_MAP_ARGS, ...).
 *
 * The helper's row in helpers.def defines the further arguments, by the rules of core/model/args.def. Each operation returns
 * the helper's result.
 *   u64 gpubpf_hash_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key);   address or 0
 *   s64 gpubpf_hash_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
 *                          GPUBPF_PRIVATE const u8 *value, u64 flags);
 *   s64 gpubpf_ring_output(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u64 size);
 *
 * A kind whose types have the operation ADDRESS also returns a value's address by its index, for direct addresses
 * (global data). The result is 0 beyond max_entries:
 *   u64 gpubpf_array_address(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 index);
 *   u64 gpubpf_array_lookup_from(u64 first, u32 max_entries, u64 stride, const u8 *key);   first: the address of index 0
 *
 * Submit or discard a reserved record:
 *   void gpubpf_helper_ringbuf_submit(GPUBPF_ENV, u64 record, u64 flags);
 *   void gpubpf_helper_ringbuf_discard(GPUBPF_ENV, u64 record, u64 flags);
 *
 * Helpers without a map, by the names of include/gpubpf/helpers.def. The lowering implements exit_thread:
 *   u64 gpubpf_helper_<name>(GPUBPF_ENV)
 *   s64 gpubpf_helper_get_<block_idx|block_dim|thread_idx|grid_dim>(GPUBPF_ENV, GPUBPF_PRIVATE u64 *x, *y, *z);
 *   u64 gpubpf_helper_gpu_membar(GPUBPF_ENV);
 *   s64 gpubpf_helper_read_arg(GPUBPF_ENV, u64 param_off, u64 param_size, u64 offset,
 *                              GPUBPF_PRIVATE u8 *to, u64 size);
 *           param_off, param_size: position and size of the parameter in env->arg_bytes
 *   u64 gpubpf_helper_named_arg(GPUBPF_ENV, u64 index, u64 bits);   struct gpubpf_param_read
 *
 * Prints: GPUBPF_MAP_ARGS is the layout of the print ring. prog is the program's index in the unit. The format or the
 * string lies in private memory. size includes its NUL, if any; the library copies at most GPUBPF_PRINT_TEXT bytes:
 *   s64 gpubpf_helper_trace_printk(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *fmt,
 *                                  u64 size, u64 a1, u64 a2, u64 a3);
 *   s64 gpubpf_helper_puts(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size);
 *
 * The context's device fields (core/model/ctx_fields.def, source DEVICE):
 *   u64 gpubpf_ctx_<field>(u32 i);               i: index of the element, 0 for scalars
 *   u64 gpubpf_lanes_given(u64 lanes);           a field whose source is LANES, from the place's word
 *
 * Atomics on device memory, relaxed, with device scope (system scope where host and device share the arena):
 *   void gpubpf_atomic_add_u32/u64(u64 address, uN value);
 *   void gpubpf_atomic_add_warp_u32/u64(u64 address, uN value);   combines the adds of lanes with equal addresses,
 *                                              where that is faster
 *   void gpubpf_atomic_add_near_u32/u64(u64 address, uN value);   the same, if only the addresses' lower halves differ
 *   void gpubpf_atomic_add_told_u32/u64(u64 address, uN value, u32 told);   the same; all lanes have one value if
 *                                              `told` is not 0. Only in libraries lowered with opts->keeps_sums
 *   void gpubpf_atomic_add_same_u32/u64(u64 address, uN value);   the same, if all lanes have one address
 *   uN gpubpf_atomic_load_uN(u64 address); void gpubpf_atomic_store_uN(u64 address, uN value);
 *   uN gpubpf_atomic_fetch_<add|or|and|xor>_uN(u64 address, uN value);
 *   uN gpubpf_atomic_xchg_uN(u64 address, uN value);
 *   uN gpubpf_atomic_cmpxchg_uN(u64 address, uN expected, uN value);
 *
 * Macros that the compiler of the library defines:
 *   GPUBPF_BITCODE          by clang for a target (nvptx64, amdgcn, spirv64, spir64): functions external
 *   GPUBPF_SUBGROUPS        text and SPIR-V: the device has sub-groups
 *   GPUBPF_X86              text: the device is an x86 CPU (GPUBPF_CAP_X86)
 *   GPUBPF_NVPTX_ASM        text: the OpenCL C compiler takes inline PTX
 *   GPUBPF_CLOCK_TSC, GPUBPF_CLOCK_KHR, GPUBPF_CLOCK_GLOBALTIMER  text: which clock (enum gpubpf_clock);
 *                           without any, helper 5 reads 0 cycles
 *
 * SPIR-V calls an external u64 gpubpf_clock_read(void), which is linked separately.
 *
 * In the kernel, BPF atomics other than add without fetch are sequentially consistent. Here the fetching ones have
 * acquire-release order, at least at device scope.
 */

#endif
