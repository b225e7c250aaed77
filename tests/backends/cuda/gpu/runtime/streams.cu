/* SPDX-License-Identifier: Apache-2.0 */
/* Several host threads launch kernels, each thread in its own stream. */
#include <thread>
#include "../threads.cuh"

__global__ void fill(unsigned *out, unsigned value)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

int main()
{
	device_array<unsigned> out(8 * 1024);
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 8; t++)
		threads.emplace_back([&out, t] {
			cudaStream_t stream;

			check(cudaStreamCreate(&stream));
			for (int i = 0; i < 25; i++)
				fill<<<8, 128, 0, stream>>>(out.data + 1024 * t, t);
			check(cudaStreamSynchronize(stream));
		});
	for (std::thread &thread : threads)
		thread.join();
	return report(out.digest(), 8 * 25 * 1024);
}
