/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls exit() in a second thread, with its own status, while all OpenCL objects exist. */
#include "app.h"

#include <pthread.h>

static const char source[] =
	"__kernel void busy(__global uint *data)\n"
	"{ uint x = get_global_id(0); for (int i = 0; i < 20000; i++) x = x * 1664525 + i; data[get_global_id(0)] = x; }\n";

static void *leave(void *arg)
{
	exit(42);
}

int main(void)
{
	cl_program program;
	cl_kernel busy;
	cl_mem data;
	pthread_t thread;

	app_open();
	program = app_program(source, "");
	busy = app_kernel(program, "busy");
	data = app_buffer(4096 * 4, NULL);
	app_arg_mem(busy, 0, data);
	app_launch1(busy, 4096, 0);
	CHECK(clFinish(app_queue));
	app_launch1(busy, 4096, 0);
	CHECK(clFinish(app_queue));
	printf("kernel busy launches 2 items 8192\n");
	fflush(stdout);
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
	return 1;
}
