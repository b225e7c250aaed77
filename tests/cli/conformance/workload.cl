/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that the suite probes, in OpenCL C; the build also makes SPIR-V, PTX and machine code of them. All kernels
 * have the same parameters. Each thread stores 3 * n + 1 in word n, n being its linear number, but each kernel uses
 * different control flow. An application builds one kernel of the source with -DONLY_x, which shortens compilation.
 */
#ifdef __NVPTX__
#define OF(d, what) ((d) == 0 ? __nvvm_read_ptx_sreg_##what##_x() : (d) == 1 ? __nvvm_read_ptx_sreg_##what##_y() : \
					__nvvm_read_ptx_sreg_##what##_z())
#define get_local_id(d) (uint)OF(d, tid)
#define get_global_id(d) (uint)(OF(d, ctaid) * OF(d, ntid) + OF(d, tid))
#define get_global_size(d) (uint)(OF(d, nctaid) * OF(d, ntid))
#define barrier(fence) __syncthreads()
#define atomic_add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#elif defined(__AMDGCN__)
/* the launch's packet: hsa_kernel_dispatch_packet_t */
#define PACKET ((constant ushort *)__builtin_amdgcn_dispatch_ptr())
#define OF(d, what) ((d) == 0 ? __builtin_amdgcn_##what##_x() : (d) == 1 ? __builtin_amdgcn_##what##_y() : \
					__builtin_amdgcn_##what##_z())
#define get_local_id(d) (uint)OF(d, workitem_id)
#define get_global_id(d) (uint)(OF(d, workgroup_id) * PACKET[2 + (d)] + OF(d, workitem_id))
#define get_global_size(d) ((constant uint *)PACKET)[3 + (d)]
#define atomic_add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define barrier(fence) do { \
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
	__builtin_amdgcn_s_barrier(); \
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
} while (0)
#endif

struct pair {
	int x, y;
};

#define PARAMETERS global uint *to, char c, short s, int i, long l, float f, struct pair p, uint last
#define LINEAR ((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0))

#if defined(ONLY_plain) || defined(ALL)
kernel void plain(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = 3 * n + 1;
}

kernel void again(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = 3 * n + 1;
}
#endif

#if defined(ONLY_early) || defined(ALL)
/* Some threads return early, one from a loop. */
kernel void early(PARAMETERS)
{
	uint n = LINEAR;

	if (n & 1) {
		to[n] = 3 * n + 1;
		return;
	}
	for (uint k = 0; k < 8; k++) {
		to[n] = 3 * n + (k == 7);
		if (k == 7)
			return;
	}
	to[n] = 0;
}
#endif

#if defined(ONLY_loops) || defined(ALL)
kernel void loops(PARAMETERS)
{
	uint n = LINEAR, sum = 1;

	for (uint k = 0; k < n; k++)
		sum += 3;
	to[n] = sum;
}
#endif

#if defined(ONLY_meets) || defined(ALL)
/* Reads the neighbour's value through local memory; blocks have at most 64 threads, an even number. */
kernel void meets(PARAMETERS)
{
	local uint words[64];
	uint me = get_local_id(0);

	words[me ^ 1] = LINEAR;
	barrier(CLK_LOCAL_MEM_FENCE);
	to[words[me ^ 1]] = 3 * words[me ^ 1] + 1;
}
#endif

#if defined(ONLY_calls) || defined(ALL)
uint triple(uint n)
{
	return n * 3;
}

kernel void calls(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = triple(n) + 1;
}
#endif

#if defined(ONLY_floats) || defined(ALL)
/* Floating point, where the last bit matters: sums 1/3 once per preceding thread. */
kernel void floats(PARAMETERS)
{
	uint n = LINEAR;
	float x = 0;

	for (uint k = 0; k < 64; k++)
		x += f / 3.0f;
	to[n] = 3 * n + (x > 13.33f && x < 13.34f);
}
#endif

#if defined(ONLY_adds) || defined(ALL)
/* Stores one part, and adds the rest with an atomic whose result is used. */
kernel void adds(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = n;
	if (atomic_add(to + n, 2 * n + 1) != n)
		to[n] = 0;
}
#endif

#if defined(ONLY_forks) || defined(ALL)
/* Two conditional branches around code that compilers cannot make branchless; the second is in a loop. */
kernel void forks(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = 3 * n;
	if (n % 5 < 2)
		atomic_add(to + n, 3);
	for (uint k = 0; k < n % 3; k++)
		atomic_add(to + n, 1);
	to[n] = to[n] - (n % 5 < 2 ? 3 : 0) - n % 3 + 1;
}
#endif

#if defined(ONLY_returns) || defined(ALL)
__attribute__((noinline))
uint thrice(uint n)
{
	return n * 3;
}

kernel void returns(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = thrice(n) + 1;
}
#endif

#if defined(__NVPTX__) || defined(__AMDGCN__) || defined(__SPIRV__)
#include <gpubpf/mark.h>
#else /* the same as in that file, for builds without it */
#define GPUBPF_MARK(name, value)                                \
	do {                                                    \
		const ulong gpubpf_mark_##name = (ulong)(value); \
		(void)gpubpf_mark_##name;                       \
	} while (0)
#endif

/* an instruction that compilers do not emit; with a number and zeros it returns the number */
#if defined(__NVPTX__)
#define RARE(x) __asm__ volatile("lop3.b32 %0, %1, 0, 0, 0xf0;" : "=r"(x) : "r"(x))
#elif defined(__AMDGCN__)
#define RARE(x) __asm__ volatile("v_xad_u32 %0, %1, 0, 0" : "=v"(x) : "v"(x))
#elif defined(__SPIRV__)
#define RARE(x) (x) = abs_diff(x, 0u)
#else
#define RARE(x)
#endif

#if defined(ONLY_named) || defined(ALL)
kernel void named(PARAMETERS)
{
	uint n = LINEAR;

	RARE(n);
	GPUBPF_MARK(step, 2 * n + 5);
	to[n] = 3 * n + 1;
}
#endif

#if defined(ONLY_sized) || defined(ALL)
/* Sub-groups of a size that the launch chooses, if possible; lanes diverge, and some return early. */
#if defined(SUB_GROUP) && SUB_GROUP > 0
__attribute__((intel_reqd_sub_group_size(SUB_GROUP)))
#endif
kernel void sized(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = 3 * n;
	if (n % 3 == 0) {
		to[n] += 1;
		return;
	}
	for (uint k = 0; k < n % 5; k++)
		to[n] += 2;
	to[n] += 1 - 2 * (n % 5);
}
#endif

#if defined(ONLY_consts) || (defined(ALL) && !defined(__NVPTX__))
constant uint thrice_of[8] = { 0, 3, 6, 9, 12, 15, 18, 21 };

kernel void consts(PARAMETERS)
{
	uint n = LINEAR;

	to[n] = 3 * (n & ~7u) + thrice_of[n & 7] + 1;
}
#endif

#if defined(ONLY_keeps) || defined(ALL)
/* A private variable that compilers must not remove. */
kernel void keeps(PARAMETERS)
{
	uint n = LINEAR;
	volatile uint mine[4];

	mine[n & 3] = 3 * n;
	to[n] = mine[n & 3] + 1;
}
#endif

#if defined(ONLY_lines) || defined(ALL)
/* A #line with a name that does not depend on the build; at the end, since it applies to all later lines. */
kernel void lines(PARAMETERS)
{
	uint n = LINEAR;

#line 1000 "lines.cl"
	to[n] = 3 * n + 1;
}
#endif
