/* SPDX-License-Identifier: Apache-2.0 */
/* Launches KERNELS small kernels of one module, each for the first time, and prints the time of all launches. */
#include "../threads.cuh"

#include <chrono>
#include <utility>

#ifndef KERNELS
#define KERNELS 200
#endif

template <int N> __global__ void one_of_many(uint32_t *out, uint32_t seed, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = seed + i * (2 * N + 1);

	if (i >= n)
		return;
	for (int k = 0; k < N % 7; k++)
		x = (x << (N % 5 + 1)) ^ (x >> 3) ^ out[i];
	out[i] = x * (N + 1);
}

template <int... N> static void launch(uint32_t *out, std::integer_sequence<int, N...>)
{
	int launched[] = { (one_of_many<N><<<4, 128>>>(out, N, 500), 0)... };

	(void)launched;
}

int main()
{
	device_array<uint32_t> out(500);
	auto from = std::chrono::steady_clock::now();

	launch(out.data, std::make_integer_sequence<int, KERNELS>());
	check(cudaDeviceSynchronize());
	fprintf(stderr, "first launches took %.1f ms\n",
		std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
	return report(out.digest(), KERNELS * 4ull * 128);
}
