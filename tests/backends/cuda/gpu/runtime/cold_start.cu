/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads exit while the kernel's first load from the constant cache may be in flight. A kernel without a stack
 * loads R1, the stack pointer, without a scoreboard. Each launch has its own parameter bank, which misses the
 * cache; between launches another kernel evicts the cache's content. The kernels differ in the cycles between
 * that load and the first exits. They keep 24 to 32 registers live, so that a probe's registers overlap theirs.
 */
#include "../threads.cuh"

#ifndef ROUNDS
#define ROUNDS 400
#endif
#define BLOCKS 264
#define THREADS 128
#define BANK (64 << 10)            /* bytes of a constant bank */
#define LIVE 20

__constant__ unsigned bank[BANK / sizeof(unsigned)];

__global__ void replace_constants(unsigned *out)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < BANK / sizeof(unsigned); i += 16)
		sum += bank[(i + 16 * blockIdx.x) % (BANK / sizeof(unsigned))];
	if (!threadIdx.x)
		out[blockIdx.x] = sum;
}

/* Many lanes exit early, depending on no constant. The others load more values than fit in few registers. */
template <int DELAY> __global__ void exit_early(unsigned *out, const unsigned *in)
{
	unsigned t = threadIdx.x, x = t, v[LIVE];

#pragma unroll
	for (int i = 0; i < DELAY; i++)
		asm volatile("mad.lo.u32 %0, %0, %0, %1;" : "+r"(x) : "r"(t));
	if (t >= 64 || x == 0xdeadbeef)
		return;
#pragma unroll
	for (int i = 0; i < LIVE; i++)
		v[i] = in[t + 64 * i];
	asm volatile("" : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3]), "+r"(v[4]), "+r"(v[5]), "+r"(v[6]), "+r"(v[7]), "+r"(v[8]), "+r"(v[9]));
	asm volatile("" : "+r"(v[10]), "+r"(v[11]), "+r"(v[12]), "+r"(v[13]), "+r"(v[14]), "+r"(v[15]), "+r"(v[16]), "+r"(v[17]), "+r"(v[18]), "+r"(v[19]));
#pragma unroll
	for (int i = 1; i < LIVE; i++)
		v[0] = v[0] * 31 + v[i];
	out[blockIdx.x * 64 + t] += v[0];
}

static unsigned long long threads;

template <int DELAY> static void launch(device_array<unsigned> &out, device_array<unsigned> &in, device_array<unsigned> &sums)
{
	replace_constants<<<BLOCKS, 32>>>(sums.data);
	exit_early<DELAY><<<BLOCKS, THREADS>>>(out.data, in.data);
	check(cudaGetLastError());
	threads += BLOCKS * (32 + THREADS);
}

int main()
{
	device_array<unsigned> out(BLOCKS * 64), in(64 * LIVE), sums(BLOCKS);
	std::vector<unsigned> numbers(64 * LIVE);

	for (size_t i = 0; i < numbers.size(); i++)
		numbers[i] = i * 2654435761u;
	check(cudaMemcpy(in.data, numbers.data(), numbers.size() * sizeof(unsigned), cudaMemcpyHostToDevice));
	for (int round = 0; round < ROUNDS; round++) {
		launch<0>(out, in, sums);
		launch<4>(out, in, sums);
		launch<8>(out, in, sums);
		launch<16>(out, in, sums);
		launch<32>(out, in, sums);
		launch<48>(out, in, sums);
		launch<64>(out, in, sums);
		launch<96>(out, in, sums);
		launch<128>(out, in, sums);
		launch<192>(out, in, sums);
	}
	return report(out.digest(), threads);
}
