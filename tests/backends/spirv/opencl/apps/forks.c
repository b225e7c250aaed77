/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three children: one forked before OpenCL is used, one forked after that, and one that executes this program again.
 * The first and the last may use OpenCL and launch. The program's status is the sum of the children's.
 */
#include "app.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 512 };

static const char source[] = "__kernel void child(__global uint *data) { data[get_global_id(0)] += get_global_id(0) * 3; }\n";

static int work(int rounds)
{
	cl_program p;
	cl_kernel k;
	cl_mem data;

	app_open();
	p = app_program(source, "");
	k = app_kernel(p, "child");
	data = app_buffer(N * 4, NULL);
	app_arg_mem(k, 0, data);
	for (int i = 0; i < rounds; i++)
		app_launch1(k, N, 32);
	app_digest_buffer(data, N * 4);
	CHECK(clReleaseKernel(k));
	CHECK(clReleaseProgram(p));
	CHECK(clReleaseMemObject(data));
	return app_close();
}

static int wait_for(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char **argv)
{
	int sum = 0;
	pid_t child;

	if (argc > 1) {
		work(2);
		return 5;
	}
	child = fork();
	if (!child) {
		work(3);
		exit(7);
	}
	sum += wait_for(child);
	work(4);
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(11); /* this child must not use OpenCL, but it must be able to exit */
	sum += wait_for(child);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(99);
	}
	sum += wait_for(child);
	return sum;
}
