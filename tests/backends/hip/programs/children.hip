/* SPDX-License-Identifier: Apache-2.0 */
/* The program starts a second instance of itself, and both launch. */
#include "app.h"

#include <sys/wait.h>
#include <unistd.h>

extern "C" __global__ void work(uint32_t *data, uint32_t by)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] += i * by;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 1) {
		pid_t child = fork();

		if (!child) {
			execl("/proc/self/exe", argv[0], "child", nullptr);
			_exit(1);
		}
		waitpid(child, &status, 0);
	}
	app::array<uint32_t> data(128);
	work<<<2, 64>>>(data.data, argc);
	app::count("work", 128);
	data.digest();
	return status ? 1 : app::done();
}
