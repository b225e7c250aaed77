/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels in a forked child and in a program that the child executes; the parent uses the GPU last. */
#include <sys/wait.h>
#include <unistd.h>
#include "../threads.cuh"

__global__ void child(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

static uint64_t work()
{
	device_array<unsigned> out(8 * 64);

	child<<<8, 64>>>(out.data);
	return out.digest();
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		exit(2);
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1) {
		work();
		return 0;
	}
	pid = fork();
	if (!pid) {
		work();
		_Exit(cudaDeviceSynchronize() != cudaSuccess);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", argv[0], "again", nullptr);
		_Exit(3);
	}
	wait_for(pid);
	return report(work(), 3 * 8 * 64);
}
