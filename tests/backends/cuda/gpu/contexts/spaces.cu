/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler emits one machine instruction for each access of shared memory, of local memory and
 * through a generic pointer. Prints "spaces" and ACCESSES BYTES OFFSETS STORED KINDS SPACES of shared
 * memory, then ACCESSES BYTES STORED KINDS SPACES of local memory, and the same of all memory.
 */
#include "../threads.cuh"

enum { BLOCK = 128, BLOCKS = 61, THREADS = BLOCKS * BLOCK, LOAD = 1, STORE, ATOMIC, GENERIC = 0, GLOBAL, SHARED, LOCAL, OWN = 99, TIMES = 3 };

/* base: receives the shared memory offsets of the block's arrays */
__global__ void tiles(volatile unsigned *out, volatile unsigned *base)
{
	__shared__ volatile unsigned tile[BLOCK];
	__shared__ unsigned sums[BLOCK];
	__shared__ volatile uint64_t wide[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
	uint64_t high;

	tile[t] = 3 * i;
	((volatile unsigned short *)sums)[2 * t] = i;
	wide[t] = (uint64_t)i << 33;
	__syncthreads();
	atomicAdd(&sums[t], 5 * i);
	__syncthreads();
	high = wide[t ^ 2];
	out[i] = tile[t ^ 1] + (unsigned)(high >> 32) + (unsigned)high;
	base[i] = (unsigned)__cvta_generic_to_shared((void *)tile);
	base[i + THREADS] = (unsigned)__cvta_generic_to_shared(sums);
	base[i + 2 * THREADS] = (unsigned)__cvta_generic_to_shared((void *)wide);
}

__global__ void own(volatile unsigned *out, unsigned n)
{
	volatile unsigned lane[OWN];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
	for (unsigned k = 0; k < TIMES; k++)
		lane[(i + k * n) % OWN] = 7 * i + k;
	out[i] = lane[(i + n) % OWN];
}

__global__ void through(volatile unsigned *const volatile *pointers)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	volatile unsigned *p = pointers[i];

	asm volatile("st.u32 [%0], %1;" :: "l"(p), "r"(9 * i) : "memory");
}

static struct expected {
	unsigned long long accesses, bytes, offsets, stored, kinds, spaces;
} in_shared, in_local, in_all;

static void at(int space, int kind, unsigned bytes, uint64_t value = 0, uint64_t offset = 0)
{
	struct expected *each[] = { &in_all, space == SHARED ? &in_shared : space == LOCAL ? &in_local : nullptr };

	for (struct expected *e : each) {
		if (!e)
			continue;
		e->accesses++;
		e->bytes += bytes;
		e->offsets += offset;
		e->stored += value;
		e->kinds += kind;
		e->spaces += space;
	}
}

int main()
{
	device_array<unsigned> out(THREADS), base(3 * THREADS), behind(THREADS);
	device_array<unsigned *> pointers(THREADS);
	std::vector<unsigned *> to(THREADS);
	std::vector<unsigned> bases(3 * THREADS);
	uint64_t digest;

	for (unsigned i = 0; i < THREADS; i++)
		to[i] = &behind.data[i ^ 1];
	check(cudaMemcpy(pointers.data, to.data(), to.size() * sizeof(to[0]), cudaMemcpyHostToDevice));
	tiles<<<BLOCKS, BLOCK>>>(out.data, base.data);
	digest = base.digest(out.digest());
	check(cudaMemcpy(bases.data(), base.data, 4 * bases.size(), cudaMemcpyDeviceToHost));
	own<<<BLOCKS, BLOCK>>>(out.data, 5);
	digest = out.digest(digest);
	through<<<BLOCKS, BLOCK>>>(pointers.data);
	digest = behind.digest(digest);
	for (unsigned i = 0; i < THREADS; i++) {
		const unsigned *b = &bases[i], t = i % BLOCK;

		at(SHARED, STORE, 4, 3 * i, b[0] + 4 * t);
		at(SHARED, STORE, 2, i & 0xffff, b[THREADS] + 4 * t);
		at(SHARED, STORE, 8, (uint64_t)i << 33, b[2 * THREADS] + 8 * t);
		at(SHARED, ATOMIC, 4, 5 * i, b[THREADS] + 4 * t);
		at(SHARED, LOAD, 4, 0, b[0] + 4 * (t ^ 1));
		at(SHARED, LOAD, 8, 0, b[2 * THREADS] + 8 * (t ^ 2));
		at(GLOBAL, STORE, 4, 3 * (i ^ 1) + 2 * (i ^ 2));
		for (int k = 0; k < 3; k++)
			at(GLOBAL, STORE, 4, b[k * THREADS]);
		for (int k = 0; k < TIMES; k++)
			at(LOCAL, STORE, 4, 7 * i + k);
		at(LOCAL, LOAD, 4);
		at(GLOBAL, STORE, 4, 7 * i + 1);
		at(GLOBAL, LOAD, 8);
		at(GENERIC, STORE, 4, 9 * i);
	}
	printf("spaces %llu %llu %llu %llu %llu %llu", in_shared.accesses, in_shared.bytes, in_shared.offsets, in_shared.stored, in_shared.kinds,
	       in_shared.spaces);
	for (const struct expected *e : { &in_local, &in_all })
		printf(" %llu %llu %llu %llu %llu", e->accesses, e->bytes, e->stored, e->kinds, e->spaces);
	printf("\n");
	return report(digest, 3 * THREADS);
}
