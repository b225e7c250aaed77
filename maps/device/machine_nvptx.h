/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer for NVIDIA devices, sm_70 and later, compiled by LLVM. PTX ISA: special registers (10), vote and
 * match (9.7.13).
 */
#ifndef GPUBPF_MAPS_MACHINE_NVPTX_H
#define GPUBPF_MAPS_MACHINE_NVPTX_H

/*
 * GPUBPF_LANES_ALONE is set for probes in machine code for sm_75 to sm_89, which cannot use vote and match. If only
 * some lanes are converged, the assembler adds calls of functions to reconverge them, and such probes cannot contain
 * calls (backends/cuda/sass).
 */
#ifndef GPUBPF_LANES_ALONE
#define GPUBPF_HAS_WARP 1
#endif
#define GPUBPF_COMBINES_ADDS 1
#ifndef GPUBPF_MACHINE_CODE /* probes in machine code cannot contain calls */
#define GPUBPF_FN_NOINLINE __attribute__((noinline))
#endif

/*
 * Memory operations are inline PTX with the scope of the GPU. The scoped atomics of clang (LLVM 22) have system scope
 * here, so they would wait for the bus, although the arena is in device memory. PTX ISA 9.7.9 (ld, st) and 9.7.13
 * (atom, red, fence).
 */
#define GPUBPF_PTX_LOAD(name, type, ptx, c) \
	GPUBPF_FN type gpubpf_load_##name(u64 a) \
	{ \
		type v; \
		__asm__ volatile(ptx " %0, [%1];" : "=" c(v) : "l"(a) : "memory"); \
		return v; \
	}

#define GPUBPF_PTX_STORE(name, type, ptx, c) \
	GPUBPF_FN void gpubpf_store_##name(u64 a, type v) \
	{ \
		__asm__ volatile(ptx " [%0], %1;" : : "l"(a), c(v) : "memory"); \
	}

/*
 * For probes in machine code: returns the same address, but in a way that looks different for each lane to the
 * assembler. Otherwise the assembler would combine 32-bit atomics of a warp on one address by REDUX. Its result is in a
 * register that probes may not use.
 */
#ifdef GPUBPF_MACHINE_CODE
GPUBPF_FN u64 gpubpf_own_address(u64 a)
{
	u32 own;

	__asm__("mov.u32 %0, %%lanemask_eq;" : "=r"(own));
	return a + (u32)(__builtin_popcount(own) - 1);
}
#define GPUBPF_OWN_ADDRESS(type, a) (sizeof(type) == 4 ? gpubpf_own_address(a) : (a))
#else
#define GPUBPF_OWN_ADDRESS(type, a) (a)
#endif

#define GPUBPF_PTX_RMW(name, type, ptx, c) \
	GPUBPF_FN type gpubpf_rmw_##name##_##type(u64 a, type v) \
	{ \
		type old; \
		__asm__ volatile(ptx " %0, [%1], %2;" : "=" c(old) : "l"(GPUBPF_OWN_ADDRESS(type, a)), c(v) : "memory"); \
		return old; \
	}

#define GPUBPF_PTX_FETCH_ADD(type, ptx, c) \
	GPUBPF_FN type gpubpf_fetch_add_relaxed_##type(u64 a, type v) \
	{ \
		type old; \
		__asm__ volatile(ptx " %0, [%1], %2;" : "=" c(old) : "l"(a), c(v) : "memory"); \
		return old; \
	}

#define GPUBPF_PTX_CAS(name, type, ptx, c) \
	GPUBPF_FN type gpubpf_##name##_##type(u64 a, type expected, type v) \
	{ \
		type old; \
		__asm__ volatile(ptx " %0, [%1], %2, %3;" : "=" c(old) : "l"(a), c(expected), c(v) : "memory"); \
		return old; \
	}

#define GPUBPF_PTX_OPS(type, bits, c) \
	GPUBPF_PTX_LOAD(type, type, "ld.relaxed.gpu.global.b" bits, c) \
	GPUBPF_PTX_LOAD(acquire_##type, type, "ld.acquire.gpu.global.b" bits, c) \
	GPUBPF_PTX_STORE(type, type, "st.relaxed.gpu.global.b" bits, c) \
	GPUBPF_PTX_STORE(release_##type, type, "st.release.gpu.global.b" bits, c) \
	GPUBPF_PTX_RMW(add, type, "atom.acq_rel.gpu.global.add.u" bits, c) \
	GPUBPF_PTX_RMW(or, type, "atom.acq_rel.gpu.global.or.b" bits, c) \
	GPUBPF_PTX_RMW(and, type, "atom.acq_rel.gpu.global.and.b" bits, c) \
	GPUBPF_PTX_RMW(xor, type, "atom.acq_rel.gpu.global.xor.b" bits, c) \
	GPUBPF_PTX_RMW(xchg, type, "atom.acq_rel.gpu.global.exch.b" bits, c) \
	GPUBPF_PTX_FETCH_ADD(type, "atom.relaxed.gpu.global.add.u" bits, c) \
	GPUBPF_PTX_CAS(cas, type, "atom.acq_rel.gpu.global.cas.b" bits, c) \
	GPUBPF_PTX_CAS(cas_relaxed, type, "atom.relaxed.gpu.global.cas.b" bits, c) \
	GPUBPF_FN void gpubpf_add_##type(u64 a, type v) \
	{ \
		if (!__builtin_constant_p(v)) \
			a = GPUBPF_OWN_ADDRESS(type, a); \
		__asm__ volatile("red.relaxed.gpu.global.add.u" bits " [%0], %1;" : : "l"(a), c(v) : "memory"); \
	}

GPUBPF_PTX_OPS(u32, "32", "r")
GPUBPF_PTX_OPS(u64, "64", "l")

GPUBPF_FN void gpubpf_max_u64(u64 a, u64 v)
{
	__asm__ volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" : : "l"(a), "l"(v) : "memory");
}

/* Words that the host reads and writes while kernels run. */
#define GPUBPF_HAS_SYSTEM_WORDS 1
GPUBPF_PTX_LOAD(system_u64, u64, "ld.relaxed.sys.global.b64", "l")
GPUBPF_PTX_STORE(system_u64, u64, "st.relaxed.sys.global.b64", "l")

/* Loads through the multiprocessor's cache, of 8 bytes and of 16 bytes. */
#define GPUBPF_HAS_CACHED_LOADS 1
GPUBPF_PTX_LOAD(cached_u64, u64, "ld.global.b64", "l")

GPUBPF_FN void gpubpf_load_cached_pair(u64 a, GPUBPF_PRIVATE u64 *low, GPUBPF_PRIVATE u64 *high)
{
	u64 l, h;

	__asm__ volatile("ld.global.v2.b64 {%0, %1}, [%2];" : "=l"(l), "=l"(h) : "l"(a) : "memory");
	*low = l;
	*high = h;
}

GPUBPF_FN void gpubpf_fence(void)
{
	__asm__ volatile("fence.acq_rel.gpu;" : : : "memory");
}

#define GPUBPF_SREG3(name, reg) \
	GPUBPF_FN u32 gpubpf_sreg_##name(u32 i) \
	{ \
		return i == 0 ? __nvvm_read_ptx_sreg_##reg##_x() : \
		       i == 1 ? __nvvm_read_ptx_sreg_##reg##_y() : __nvvm_read_ptx_sreg_##reg##_z(); \
	}

GPUBPF_SREG3(block_idx, ctaid)
GPUBPF_SREG3(block_dim, ntid)
GPUBPF_SREG3(thread_idx, tid)
GPUBPF_SREG3(grid_dim, nctaid)

GPUBPF_FN u64 gpubpf_block_idx_at(u32 i)
{
	return gpubpf_sreg_block_idx(i);
}

GPUBPF_FN u64 gpubpf_block_dim_at(u32 i)
{
	return gpubpf_sreg_block_dim(i);
}

GPUBPF_FN u64 gpubpf_thread_idx_at(u32 i)
{
	return gpubpf_sreg_thread_idx(i);
}

GPUBPF_FN u64 gpubpf_grid_dim_at(u32 i)
{
	return gpubpf_sreg_grid_dim(i);
}

GPUBPF_FN u64 gpubpf_offset_at(u32 i)
{
	return 0;
}

/*
 * Return the thread's global index. The block size is read first: ptxas then multiplies by a constant of the launch
 * instead of a register that it reads each time. On an H200, vectorAdd with a clock at entry and exit then takes 1.09
 * times as long as without probes, instead of 1.12 times.
 */
GPUBPF_FN u64 gpubpf_global_id_at(u32 i)
{
	u64 size = gpubpf_sreg_block_dim(i);

	return gpubpf_sreg_block_idx(i) * size + gpubpf_sreg_thread_idx(i);
}

GPUBPF_FN u64 gpubpf_global_size_at(u32 i)
{
	return (u64)gpubpf_sreg_grid_dim(i) * gpubpf_sreg_block_dim(i);
}

/*
 * The launch's dimensions can be tested cheaply here. Block and grid sizes are constants of the launch, but each read
 * of a thread's coordinate is slow.
 */
#define GPUBPF_KNOWS_LINE 1
GPUBPF_FN u32 gpubpf_is_line(void)
{
	return (gpubpf_sreg_block_dim(1) | gpubpf_sreg_block_dim(2) | gpubpf_sreg_grid_dim(1) |
		gpubpf_sreg_grid_dim(2)) == 1;
}

GPUBPF_FN u32 gpubpf_dims(void)
{
	return gpubpf_global_size_at(2) > 1 ? 3 : gpubpf_global_size_at(1) > 1 ? 2 : 1;
}

#define GPUBPF_NUMBERS_SMS 1
GPUBPF_FN void gpubpf_or_u64(u64 a, u64 v)
{
	__asm__ volatile("red.relaxed.gpu.global.or.b64 [%0], %1;" : : "l"(a), "l"(v) : "memory");
}

GPUBPF_FN u32 gpubpf_sm(void)
{
	return __nvvm_read_ptx_sreg_smid();
}

GPUBPF_FN u32 gpubpf_lane(void)
{
	return __nvvm_read_ptx_sreg_laneid();
}

#define GPUBPF_HAS_GRID_ID 1
GPUBPF_FN u64 gpubpf_grid_id(void)
{
	u64 id;

	__asm__("mov.u64 %0, %%gridid;" : "=l"(id));
	return id;
}

/* Computed from the thread's number, because %warpid may change while a thread runs (PTX ISA 10.4). */
GPUBPF_FN u32 gpubpf_warp(void)
{
	return ((gpubpf_sreg_thread_idx(2) * gpubpf_sreg_block_dim(1) + gpubpf_sreg_thread_idx(1)) *
			gpubpf_sreg_block_dim(0) +
		gpubpf_sreg_thread_idx(0)) /
	       32;
}

GPUBPF_FN u64 gpubpf_clock(void)
{
	u64 ns;

	/* inline PTX, because clang 22 emits an invalid cast for __nvvm_read_ptx_sreg_globaltimer() in OpenCL C */
	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/*
 * Hides a number from LLVM's optimiser. Otherwise LLVM replaces the product by shifts and masks, which take two more
 * instructions. The product and the sum that follows it are one instruction.
 */
#define GPUBPF_HIDES 1
GPUBPF_FN u32 gpubpf_hidden(u32 n)
{
	__asm__("mov.b32 %0, %1;" : "=r"(n) : "r"(n));
	return n;
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	__nvvm_membar_sys();
}

GPUBPF_FN u32 gpubpf_warp_active(void)
{
	return __nvvm_activemask();
}

GPUBPF_FN u32 gpubpf_warp_peers(u64 key)
{
	u32 active = __nvvm_activemask();

	/* two matches of 32 bits, because a match of 64 bits takes four times as long as one of 32 bits */
	return __nvvm_match_any_sync_i32(active, (u32)key) & __nvvm_match_any_sync_i32(active, (u32)(key >> 32));
}

GPUBPF_FN u32 gpubpf_warp_count(u32 mask)
{
	return (u32)__builtin_popcount(mask);
}

GPUBPF_FN u32 gpubpf_warp_first(u32 mask)
{
	return (u32)__builtin_ctz(mask);
}

/* Return one lane of the mask: the last one, which takes one instruction. The first lane would take three. */
GPUBPF_FN u32 gpubpf_warp_one(u32 mask)
{
	u32 lane;

	__asm__("bfind.u32 %0, %1;" : "=r"(lane) : "r"(mask));
	return lane;
}

GPUBPF_FN u64 gpubpf_warp_from(u32 peers, u64 value, u32 lane)
{
	u32 low = (u32)__nvvm_shfl_sync_idx_i32(peers, (int)(u32)value, (int)lane, 31), high = (u32)(value >> 32);

	if (!__builtin_constant_p(high)) /* a constant is the same in all lanes */
		high = (u32)__nvvm_shfl_sync_idx_i32(peers, (int)high, (int)lane, 31);
	return (u64)high << 32 | low;
}

GPUBPF_FN u32 gpubpf_warp_ballot(u32 lanes, u32 bit)
{
	return (u32)__nvvm_vote_ballot_sync(lanes, bit != 0);
}

GPUBPF_FN bool gpubpf_warp_any(u32 lanes, bool bit)
{
	return __nvvm_vote_any_sync(lanes, bit);
}

/*
 * Return a * b. If `a` has at most 32 bits, this is one instruction. LLVM cannot infer the size of `a` across basic
 * blocks, so the code tests it.
 */
GPUBPF_FN u64 gpubpf_product(u64 a, u32 b)
{
	u64 product;

	if (a >> 32)
		return a * b;
	__asm__("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"((u32)a), "r"(b));
	return product;
}

#define GPUBPF_HAS_MATCH 1
GPUBPF_FN bool gpubpf_warp_match(u32 lanes, u32 key)
{
	u32 all;

	__asm__ volatile("{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_m;\nmatch.all.sync.b32 %%gpubpf_m|%%gpubpf_p, %1, %2;\n"
			 "selp.b32 %0, 1, 0, %%gpubpf_p;\n}"
			 : "=r"(all)
			 : "r"(key), "r"(lanes));
	return all;
}

GPUBPF_FN void gpubpf_warp_sync(u32 lanes)
{
	__nvvm_bar_warp_sync(lanes);
}

/*
 * Begins a section in which active lanes may diverge. They reconverge at gpubpf_warp_end();
 * backends/cuda/ptx/passes/reconverge.c explains why a barrier alone is not sufficient. The result is true in every
 * lane, but the assembler does not know this. If it is false, the caller must do nothing.
 */
#ifndef GPUBPF_MACHINE_CODE
#define GPUBPF_HAS_MEETING 1
GPUBPF_FN bool gpubpf_warp_begin(u32 *here)
{
	u32 below, above;

	__asm__ volatile("mov.u32 %0, %%lanemask_lt;\nmov.u32 %1, %%lanemask_gt;" : "=r"(below), "=r"(above));
	*here = gpubpf_warp_active();
	return below != above;
}

GPUBPF_FN void gpubpf_warp_end(u32 here)
{
	gpubpf_warp_sync(here);
}
#endif

GPUBPF_FN u32 gpubpf_warp_same(u64 key)
{
	u32 active = gpubpf_warp_active();

	return gpubpf_warp_ballot(active, key == gpubpf_warp_from(active, key, gpubpf_warp_first(active)));
}

#endif
