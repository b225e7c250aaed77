/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device library's interface: what a lowered program calls. The library is one C source (the headers
 * of maps/ and maps/devlib.cl, the map types one file each) in the common subset of OpenCL C 1.2 and C:
 *
 *   - clang -x cl -cl-std=CL2.0 compiles it at build time to bitcode for nvptx64, amdgcn and spirv64;
 *     the LLVM lowering links it, internalises and inlines it;
 *   - the clc lowering puts its text in front of the program's;
 *   - the host's C compiler compiles it for the interpreter and for maps/ on the host (maps/host.c),
 *     where GPUBPF_DEVMEM and GPUBPF_PRIVATE are empty.
 *
 * Conventions. All functions are static inline there, external "gpubpf_*" in bitcode. Pointers that a
 * program passes are private (its stack, or a copy that the lowering made of map memory); addresses of
 * device memory travel as u64. The map's layout is passed as constants, GPUBPF_MAP_ARGS, so that after
 * inlining nothing is looked up. Functions on maps are named gpubpf_<impl>_<op>, impl from
 * include/gpubpf/map_types.def; the others gpubpf_helper_<name>, name from include/gpubpf/helpers.def.
 */
#ifndef GPUBPF_MAPS_DEVLIB_H
#define GPUBPF_MAPS_DEVLIB_H

#include "layout.h"

#ifdef GPUBPF_OPENCL
#define GPUBPF_DEVMEM __global
#define GPUBPF_PRIVATE __private
#else
#define GPUBPF_DEVMEM
#define GPUBPF_PRIVATE
#endif

#define GPUBPF_ENV_ARGS 32

/* What a site hands to the probes that run there; private memory of the lane, filled by the wrapper or
 * the injected code, only the members that the probes' facts ask for. */
struct gpubpf_env {
	u64 arena;             /* device address of the arena */
	u64 launch;            /* number of the launch */
	u64 pid_tgid;          /* helper 14, and the stack of the launch: GPUBPF_LAUNCH_PID in layout.h */
	u64 kernel_id;         /* id of the kernel */
	u32 device;            /* helper 512 */
	u32 flags;
	u64 arg[GPUBPF_ENV_ARGS]; /* kernel arguments as include/gpubpf/ctx.h says */
	/* helper 520: bytes of the parameters that the programs read, at the offsets of the site
	 * description; NULL if none */
	GPUBPF_PRIVATE const u8 *arg_bytes;
	u64 clock_offset;      /* with GPUBPF_ENV_CLOCK: what cycles, which are ns, are behind CLOCK_MONOTONIC */
};

#define GPUBPF_ENV_CLOCK 1 /* in flags; else a lane waits for the header's */
/* Likewise where the table of granules is, of which offsets are multiples of 64. */
#define GPUBPF_ENV_GRANULES 0xffffffc0
#define GPUBPF_ENV_GRANULES_AT(offset) ((offset) <= GPUBPF_ENV_GRANULES ? (u32)(offset) & GPUBPF_ENV_GRANULES : 0)

#define GPUBPF_ENV GPUBPF_PRIVATE const struct gpubpf_env *env
/* the layout of the map, in this order; u64 where struct gpubpf_map_layout has u64 */
#define GPUBPF_MAP_ARGS u32 map_flags, u32 key_size, u32 value_size, u32 max_entries, u32 copies, \
	u64 ctl, u64 data, u64 stride, u64 copy_stride
#define GPUBPF_MAP_PASS map_flags, key_size, value_size, max_entries, copies, ctl, data, stride, copy_stride

/*
 * Operations of the kinds of maps: gpubpf_<impl>_<function of core/ops.def>(GPUBPF_ENV, GPUBPF_MAP_ARGS, ...), then what
 * helpers.def's row hands on by the rules of core/args.def; their results are those of the helpers:
 *   u64 gpubpf_hash_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key);   address or 0
 *   s64 gpubpf_hash_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
 *                          GPUBPF_PRIVATE const u8 *value, u64 flags);
 *   s64 gpubpf_ring_output(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *data_, u64 size);
 * A kind whose types can ADDRESS: a value by its index, for direct addresses (global data); 0 beyond max_entries
 *   u64 gpubpf_array_address(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 index);
 *   u64 gpubpf_array_lookup_from(u64 first, u32 max_entries, u64 stride, const u8 *key);   first: the address of index 0
 * What becomes of a record that was reserved:
 *   void gpubpf_helper_ringbuf_submit(GPUBPF_ENV, u64 record, u64 flags);
 *   void gpubpf_helper_ringbuf_discard(GPUBPF_ENV, u64 record, u64 flags);
 * helpers without a map, by the names of include/gpubpf/helpers.def; exit_thread is the lowering's own:
 *   u64 gpubpf_helper_<name>(GPUBPF_ENV)
 *   s64 gpubpf_helper_get_<block_idx|block_dim|thread_idx|grid_dim>(GPUBPF_ENV, GPUBPF_PRIVATE u64 *x, *y, *z);
 *   u64 gpubpf_helper_gpu_membar(GPUBPF_ENV);
 *   s64 gpubpf_helper_read_arg(GPUBPF_ENV, u64 param_off, u64 param_size, u64 offset,
 *                              GPUBPF_PRIVATE u8 *to, u64 size);
 *           param_off, param_size: where the lowering put the parameter's bytes in env->arg_bytes
 *   u64 gpubpf_helper_named_arg(GPUBPF_ENV, u64 index, u64 bits);   struct gpubpf_param_read
 * prints: the layout is that of the print ring; prog the program's index in the unit; the format or the
 * string lies in private memory (size: with its NUL if there is one, at most GPUBPF_PRINT_TEXT are taken)
 *   s64 gpubpf_helper_trace_printk(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *fmt,
 *                                  u64 size, u64 a1, u64 a2, u64 a3);
 *   s64 gpubpf_helper_puts(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size);
 * the context's device fields (core/ctx_fields.def, source DEVICE):
 *   u64 gpubpf_ctx_<field>(u32 i);               i: index of the element, 0 for scalars
 *   u64 gpubpf_lanes_given(u64 lanes);           of a field whose source is LANES, from the place's word
 * atomics on device memory, relaxed, device scope (system scope where host and device share the arena):
 *   void gpubpf_atomic_add_u32/u64(u64 address, uN value);
 *   void gpubpf_atomic_add_warp_u32/u64(u64 address, uN value);   same, aggregated over the warp's lanes
 *                                              that name the same address, where that is faster
 *   void gpubpf_atomic_add_near_u32/u64(u64 address, uN value);   same, where addresses that differ do so in their lower halves
 *   void gpubpf_atomic_add_told_u32/u64(u64 address, uN value, u32 told);   same, where lanes have one value if `told` is not 0;
 *                                              of a library for which lowering has opts->keeps_sums
 *   void gpubpf_atomic_add_same_u32/u64(u64 address, uN value);   same, where all lanes name one address
 *   uN gpubpf_atomic_load_uN(u64 address); void gpubpf_atomic_store_uN(u64 address, uN value);
 *   uN gpubpf_atomic_fetch_<add|or|and|xor>_uN(u64 address, uN value);
 *   uN gpubpf_atomic_xchg_uN(u64 address, uN value);
 *   uN gpubpf_atomic_cmpxchg_uN(u64 address, uN expected, uN value);
 *
 * What the compiler of the library defines:
 *   GPUBPF_BITCODE          by clang for a target (nvptx64, amdgcn, spirv64, spir64): functions external
 *   GPUBPF_SUBGROUPS        text and SPIR-V: the device has sub-groups
 *   GPUBPF_X86              text: the device is an x86 CPU (GPUBPF_CAP_X86)
 *   GPUBPF_NVPTX_ASM        text: the OpenCL C compiler takes inline PTX
 *   GPUBPF_CLOCK_TSC, GPUBPF_CLOCK_KHR, GPUBPF_CLOCK_GLOBALTIMER  text: which clock (enum gpubpf_clock);
 *                           none: helper 5 reads 0 cycles
 * SPIR-V calls an external u64 gpubpf_clock_read(void), linked beside.
 *
 * BPF atomics other than add without fetch are sequentially consistent in the kernel; the fetching ones
 * here are acquire-release at device scope at least.
 */

#endif
