/* SPDX-License-Identifier: Apache-2.0 */
/* Ends by SIGKILL, or with an argument by an illegal address in a kernel. The counts of finished
 * kernels must be complete; the counts of the kernel with the illegal address may be partial. */
#include <csignal>
#include <cstring>
#include <unistd.h>
#include "../threads.cuh"

__global__ void finished(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

__global__ void broken(unsigned *out)
{
	*(volatile unsigned *)((uintptr_t)16 + 4 * threadIdx.x) = out[0];
}

int main(int argc, char **argv)
{
	device_array<unsigned> out(32 * 128);

	finished<<<32, 128>>>(out.data);
	report(out.digest(), 32 * 128);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "fault")) {
		puts("unfinished 32");
		fflush(stdout);
		broken<<<1, 32>>>(out.data);
		if (cudaDeviceSynchronize() != cudaErrorIllegalAddress)
			return 2;
		_Exit(0);
	}
	raise(SIGKILL);
	return 3;
}
