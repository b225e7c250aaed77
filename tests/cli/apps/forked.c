/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forked LAUNCHES: uses OpenCL and forks. The child launches a kernel of its parent, step_before, LAUNCHES times, and
 * then step_after in its own context. The device must work in a forked child.
 */
#include "opencl.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 1024, GROUP = 64 };

static const char source[] =
	"__kernel void step_before(__global int *v) { v[get_global_id(0)] += 1; }\n"
	"__kernel void step_after(__global int *v) { v[get_global_id(0)] += 2; }\n";

static void launch(struct opencl *cl, cl_kernel kernel, int times)
{
	static cl_int v[N];
	cl_mem data = opencl_buffer(cl, v, sizeof(v));

	clSetKernelArg(kernel, 0, sizeof(data), &data);
	for (int i = 0; i < times; i++)
		opencl_run(cl, kernel, N, GROUP);
	opencl_read(cl, data, v, sizeof(v));
	printf("%d\n", v[N - 1]);
	clReleaseMemObject(data);
}

static int child(struct opencl *parents, cl_kernel before, int times)
{
	struct opencl own;

	launch(parents, before, times);
	own = opencl_start(source);
	launch(&own, opencl_kernel(&own, "step_after"), times);
	fflush(stdout);
	return 40;
}

int main(int argc, char **argv)
{
	struct opencl cl = opencl_start(source);
	cl_kernel before = opencl_kernel(&cl, "step_before");
	int status;
	pid_t pid;

	launch(&cl, before, 1);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child(&cl, before, argc > 1 ? atoi(argv[1]) : 3));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) + 2 : 1;
}
