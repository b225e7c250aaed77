/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a kernel that ends, and then a kernel that runs until FILE exists; the test reads maps while
 * the latter runs. persistent FILE creates FILE.running after both launches, and ends when FILE exists */
#include <string>
#include <unistd.h>
#include "../threads.cuh"

__global__ void done_before(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

__global__ void stays(volatile unsigned *stop, unsigned *out)
{
	while (!*stop)
		__nanosleep(1000);
	out[threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
	device_array<unsigned> out(32 * 128);
	unsigned *stop;
	std::string file = argc > 1 ? argv[1] : "/tmp/gpubpf-persistent";

	check(cudaHostAlloc(&stop, sizeof(*stop), cudaHostAllocMapped));
	*stop = 0;
	done_before<<<32, 128>>>(out.data);
	check(cudaDeviceSynchronize());
	stays<<<1, 32>>>(stop, out.data);
	if (FILE *f = fopen((file + ".running").c_str(), "w"))
		fclose(f);
	for (int i = 0; i < 1000 && access(file.c_str(), F_OK); i++)
		usleep(10000);
	*(volatile unsigned *)stop = 1;
	check(cudaDeviceSynchronize());
	return report(out.digest(), 32 * 128 + 32);
}
