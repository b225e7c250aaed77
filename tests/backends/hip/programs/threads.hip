/* SPDX-License-Identifier: Apache-2.0 */
/* Host threads, each with its own data, launch the same kernels at the same time. */
#include "app.h"

#include <thread>

extern "C" __global__ void grow(uint32_t *data, uint32_t who)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] += who * i + 1;
}

extern "C" __global__ void shrink(uint32_t *data)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] /= 2;
}

int main()
{
	std::vector<std::vector<uint32_t>> results(4);
	std::vector<std::thread> threads;

	for (uint32_t who = 0; who < 4; who++)
		threads.emplace_back([who, &results] {
			app::array<uint32_t> data(128);

			for (int i = 0; i < 5; i++) {
				grow<<<2, 64>>>(data.data, who + i);
				app::count("grow", 128);
				shrink<<<1, 128>>>(data.data);
				app::count("shrink", 128);
			}
			results[who] = data.read();
		});
	for (std::thread &t : threads)
		t.join();
	for (const std::vector<uint32_t> &r : results)
		app::digest(r.data(), 4 * r.size());
	return app::done();
}
