/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels whose images use newer encodings. One has over 4 KiB of parameters. The other
 * uses bulk copies and cp.async, whose completions arrive at a barrier in shared memory.
 */
#include "../threads.cuh"

enum { BLOCK = 128, BLOCKS = 67, THREADS = BLOCKS * BLOCK, NUMBERS = 2500 };

struct numbers {
	unsigned of[NUMBERS];
};

__global__ void large(unsigned *out, unsigned scale, numbers many, unsigned short last)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 7 == last)
		return;
	out[i] = many.of[i % NUMBERS] * scale + last;
}

__global__ void bulk(unsigned *out, const unsigned *in)
{
	__shared__ alignas(16) unsigned tile[BLOCK], own[4 * BLOCK];
	__shared__ alignas(8) unsigned long long copied, arrived;
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
	unsigned to = (unsigned)__cvta_generic_to_shared(tile), bar = (unsigned)__cvta_generic_to_shared(&copied);
	unsigned mine = (unsigned)__cvta_generic_to_shared(own + 4 * t), all = (unsigned)__cvta_generic_to_shared(&arrived);

	if (!t) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar) : "memory");
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(all), "r"(BLOCK) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		asm volatile("{\n.reg .b64 s;\nmbarrier.arrive.expect_tx.shared.b64 s, [%0], %1;\n}" :: "r"(bar), "r"(BLOCK * 4) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     :: "r"(to), "l"(in + blockIdx.x * BLOCK), "r"(BLOCK * 4), "r"(bar) : "memory");
		asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(in), "r"(BLOCK * 4) : "memory");
	}
	__syncthreads();
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(mine), "l"(in + i / 4 * 4) : "memory");
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(all) : "memory");
	for (unsigned b = bar, times = 0; times < 2; b = all, times++)
		asm volatile("{\n.reg .pred done;\nW%=: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n@!done bra W%=;\n}"
			     :: "r"(b) : "memory");
	out[i] = tile[t ^ 1] * 3 + own[4 * t + i % 4];
	if (!t) {
		asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
			     :: "l"(out + THREADS), "r"(to), "r"(BLOCK * 4) : "memory");
		asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
	}
}

int main()
{
	device_array<unsigned> out(2 * THREADS + BLOCK), in(THREADS);
	std::vector<unsigned> host(THREADS);
	static numbers many;

	for (unsigned i = 0; i < THREADS; i++)
		host[i] = i * 2654435761u;
	for (unsigned i = 0; i < NUMBERS; i++)
		many.of[i] = i * i + 7;
	check(cudaMemcpy(in.data, host.data(), THREADS * 4, cudaMemcpyHostToDevice));
	large<<<BLOCKS, BLOCK>>>(out.data, 5, many, 3);
	bulk<<<BLOCKS, BLOCK>>>(out.data + THREADS, in.data);
	check(cudaGetLastError());
	return report(out.digest(), 2 * THREADS);
}
