/* SPDX-License-Identifier: Apache-2.0 */
/* accesses through generic pointers, whose address space is known only at run time */
extern "C" __global__ void anywhere(const unsigned long long *pointers, int n)
{
	unsigned value;

	asm volatile("ld.u32 %0, [%1+8];" : "=r"(value) : "l"(pointers[threadIdx.x]));
	asm volatile("st.u32 [%0+12], %1;" :: "l"(pointers[threadIdx.x + n]), "r"(value) : "memory");
}

/* Atomics on generic pointers that are one instruction in every address space. */
extern "C" __global__ void anywhere_at_once(unsigned *const *pointers, unsigned n)
{
	unsigned *p = pointers[threadIdx.x], r;

	asm volatile("atom.add.u32 %0, [%1+4], %2;" : "=r"(r) : "l"(p), "r"(n) : "memory");
	asm volatile("atom.cas.b32 %0, [%1+20], %0, %2;" : "+r"(r) : "l"(p), "r"(n) : "memory");
	asm volatile("atom.exch.b32 %0, [%1], %0;" : "+r"(r) : "l"(p) : "memory");
	asm volatile("red.max.s32 [%0+8], %1;" :: "l"(p), "r"(r) : "memory");
}

/* Atomics on generic pointers that are a loop if the memory is shared. */
extern "C" __global__ void anywhere_tried(unsigned long long *const *pointers, unsigned long long n)
{
	atomicAdd((float *)pointers[threadIdx.x] + 2, 1.5f);
	pointers[0][0] = atomicAdd(pointers[threadIdx.x] + 1, n);
}

/* An indirect branch to an address in a register. */
extern "C" __global__ void by_number(unsigned *out, unsigned n)
{
	unsigned r = out[threadIdx.x] & 3;

	asm volatile("{\n.reg .u32 k;\nmov.u32 k, %0;\nways: .branchtargets W0, W1, W2, W3;\nbrx.idx k, ways;\n"
		     "W0: add.u32 %0, k, %1;\nbra.uni OUT;\nW1: mul.lo.u32 %0, %1, 7;\nbra.uni OUT;\n"
		     "W2: xor.b32 %0, %1, 9;\nbra.uni OUT;\nW3: popc.b32 %0, %1;\nOUT:\n}" : "+r"(r) : "r"(n));
	out[n] = r;
}

/* An indirect branch to an address in a uniform register: BRXU on some architectures. */
extern "C" __global__ void by_launch(unsigned *out, unsigned n)
{
	unsigned r = n;

	asm volatile("{\n.reg .u32 k;\nand.b32 k, %1, 3;\nways: .branchtargets W0, W1, W2, W3;\nbrx.idx.uni k, ways;\n"
		     "W0: add.u32 %0, k, %1;\nbra.uni OUT;\nW1: mul.lo.u32 %0, %1, 7;\nbra.uni OUT;\n"
		     "W2: xor.b32 %0, %1, 9;\nbra.uni OUT;\nW3: popc.b32 %0, %1;\nOUT:\n}" : "+r"(r) : "r"(n));
	out[n] = r;
}
