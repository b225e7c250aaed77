/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop LAUNCHES MS [SIGNAL]: launches a GPU kernel LAUNCHES times, pauses MS milliseconds after each launch, and prints
 * a checksum of the result. With SIGNAL it then raises that signal, or calls _exit() if SIGNAL is 0. Environment
 * variables:
 *
 * `LOOP_FORKS`: fork a child before the first launch.
 * `LOOP_UNTIL`: continue until a file of that name exists.
 * `LOOP_NAME`: name of the kernel.
 * `LOOP_WAITS`: wait for the end of each launch.
 * `LOOP_STEPS`: number of calls of host_step() in a second thread, which ends before the output.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl.h"

#define N 1024

static const char format[] =
	"__kernel void %s(__global int *v) { size_t i = get_global_id(0); v[i] = v[i] * 3 + (int)i; }\n"
	"__kernel void never_launched(__global int *v) { v[0] = 0; }\n";

/*
 * The target of uprobes. The main thread calls it once before each launch; the second thread calls it LOOP_STEPS times.
 */
void host_step(void);
__attribute__((noinline)) void host_step(void)
{
	__asm__ volatile("");
}

/* A second target of uprobes. Only the main thread calls it, once before each launch. */
void host_pause(void);
__attribute__((noinline)) void host_pause(void)
{
	__asm__ volatile("");
}

static void *step(void *steps)
{
	for (int i = 0; i < atoi(steps); i++)
		host_step();
	return NULL;
}

int main(int argc, char **argv)
{
	char *steps = getenv("LOOP_STEPS");
	int launches = argc > 1 ? atoi(argv[1]) : 1, ms = argc > 2 ? atoi(argv[2]) : 0, i;
	const char *until = getenv("LOOP_UNTIL");
	const char *name = getenv("LOOP_NAME") ? getenv("LOOP_NAME") : "step_one";
	static char source[5000];
	static cl_int v[N];
	unsigned int sum = 0;
	struct opencl cl;
	pthread_t stepping;
	cl_kernel kernel;
	cl_mem mem;

	snprintf(source, sizeof(source), format, name);
	cl = opencl_start(source);
	kernel = opencl_kernel(&cl, name);
	mem = opencl_buffer(&cl, NULL, sizeof(v));

	if (getenv("LOOP_FORKS")) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	clSetKernelArg(kernel, 0, sizeof(mem), &mem);
	if (steps)
		pthread_create(&stepping, NULL, step, steps);
	for (i = 0; i < launches || (until && access(until, F_OK)); i++) {
		host_step();
		host_pause();
		opencl_run(&cl, kernel, N, 64);
		if (getenv("LOOP_WAITS"))
			clFinish(cl.queue);
		usleep(1000 * ms);
	}
	if (steps)
		pthread_join(stepping, NULL);
	opencl_read(&cl, mem, v, sizeof(v));
	for (int k = 0; k < N; k++)
		sum = sum * 31 + v[k];
	printf("%d launches: %08x\n", i, sum);
	fflush(stdout);
	if (argc > 3 && !atoi(argv[3]))
		_exit(42);
	if (argc > 3)
		raise(atoi(argv[3]));
	return 42;
}
