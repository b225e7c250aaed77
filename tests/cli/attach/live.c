/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live THREADS [MODE]: an OpenCL application that runs until SIGRTMIN and checks each of its results. It prints
 * "ready" when all threads have set their arguments, and at the end "launches N wrong N". Each thread has its own queue,
 * kernel and buffer. MODE is one of these words.
 *
 * Mode once: set the arguments once, not before each launch.
 * Mode late: load the OpenCL library only after SIGUSR1, and print "ready" before.
 * Mode new: create program and kernel again after each 50 launches.
 * Mode il: create the program from the SPIR-V file $LIVE_IL.
 * Mode binary: create the program from its own binary.
 * Mode fork: fork a child every 200 launches. The child ends at once.
 * Mode pause: SIGRTMIN+1 pauses all threads, and the next one lets them run. In the pause it prints the
 *	number of launches, and the longest time in us between two launches of a thread since the last pause. It also
 *	prints whether the vendor's dispatch table is as at the start. If held.c is preloaded, it also prints the bytes
 *	that the agent and PoCL hold.
 * Mode stack: like pause; it also prints the most bytes of stack that setting an argument, a launch or a read wrote.
 * A number N: end after N launches of each thread.
 */
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ITEMS 256
#define FUNCTIONS(F)                                                                                                         \
	F(clGetPlatformIDs)                                                                                                  \
	F(clGetDeviceIDs)                                                                                                    \
	F(clCreateContext) F(clCreateProgramWithSource) F(clCreateProgramWithIL) F(clCreateProgramWithBinary)                \
	F(clGetProgramInfo) F(clGetProgramBuildInfo) F(clBuildProgram) F(clReleaseProgram) F(clCreateKernel) F(clReleaseKernel) F(clCreateCommandQueue) \
	F(clCreateBuffer) F(clEnqueueWriteBuffer) F(clEnqueueReadBuffer) F(clSetKernelArg) F(clEnqueueNDRangeKernel) F(clFinish)

static struct {
#define F(name) __typeof__(name) *name;
	FUNCTIONS(F)
#undef F
} cl;
static const char source[] = "__kernel void add(__global int *a, int n) { a[get_global_id(0)] += n; }";
static volatile sig_atomic_t stopped, started; /* started: number of signals */
static int nthreads;                           /* SIGRTMIN stops it: LLVM, in PoCL, handles SIGTERM and SIGUSR1 */
static int nready;                             /* number of threads that have set their arguments */
static cl_context context;
static cl_device_id device;
static const char *mode;
static unsigned long most, launches, wrong;

static void on_stop(int signal)
{
	stopped = 1;
}

static void on_start(int signal)
{
	started++;
}

static void die(const char *what)
{
	printf("%s failed\n", what);
	exit(2);
}

static void load(void)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);

	if (!lib)
		die("libOpenCL.so.1");
#define F(name)                                        \
	*(void **)&cl.name = dlsym(lib, #name);        \
	if (!cl.name)                                  \
		die(#name);
	FUNCTIONS(F)
#undef F
}

static cl_program from_il(void)
{
	FILE *f = fopen(getenv("LIVE_IL") ? getenv("LIVE_IL") : "", "r");
	static char il[1 << 16];
	cl_program p;
	cl_int err;

	if (!f)
		die("LIVE_IL");
	p = cl.clCreateProgramWithIL(context, il, fread(il, 1, sizeof(il), f), &err);
	fclose(f);
	return p;
}

static cl_program from_binary(cl_program built)
{
	unsigned char *binary;
	cl_program p;
	size_t size;
	cl_int err;

	if (cl.clGetProgramInfo(built, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) ||
	    !(binary = malloc(size)) || cl.clGetProgramInfo(built, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL))
		die("CL_PROGRAM_BINARIES");
	p = cl.clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, NULL, &err);
	free(binary);
	cl.clReleaseProgram(built);
	return p;
}

static void build(cl_program p)
{
	char log[2000] = "";

	if (p && !cl.clBuildProgram(p, 1, &device, "", NULL, NULL))
		return;
	if (p)
		cl.clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
	printf("%s\n", log);
	die("clBuildProgram");
}

static cl_program create_program(void)
{
	const char *text = source;
	cl_program p;
	cl_int err;

	p = !strcmp(mode, "il") ? from_il() : cl.clCreateProgramWithSource(context, 1, &text, NULL, &err);
	build(p);
	if (!strcmp(mode, "binary")) {
		p = from_binary(p);
		build(p);
	}
	return p;
}

static cl_program shared;

static cl_kernel create_kernel(cl_program *own)
{
	cl_int err;

	*own = !strcmp(mode, "new") ? create_program() : NULL;
	return cl.clCreateKernel(*own ? *own : shared, "add", &err);
}

static void set_args(cl_kernel k, cl_mem buffer, cl_int n)
{
	if (cl.clSetKernelArg(k, 0, sizeof(buffer), &buffer) || cl.clSetKernelArg(k, 1, sizeof(n), &n))
		die("clSetKernelArg");
}

static void fork_child(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

#define TABLE_WORDS 80 /* number of functions that the table of every OpenCL 1.2 vendor has, rounded down */

static void *table_at_start[TABLE_WORDS];

/* An OpenCL object begins with the address of its vendor's dispatch table. */
static void **dispatch_table(void)
{
	return *(void ***)context;
}

/* The state of mode pause. */
static struct {
	pthread_mutex_t lock;
	int signals, waiting; /* number of threads that wait in the pause which began with that number of signals */
	unsigned long launches, longest, stack;
} pauses = { .lock = PTHREAD_MUTEX_INITIALIZER };

static unsigned long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ul + t.tv_nsec / 1000;
}

/* All threads wait, so no launch runs. */
static void print_pause(void)
{
	long (*held)(const char *library) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "measure_held");

	printf("paused %lu gap %lu table %s stack %lu", pauses.launches, pauses.longest,
	       memcmp(dispatch_table(), table_at_start, sizeof(table_at_start)) ? "changed" : "same", pauses.stack);
	if (held)
		printf(" agent %ld runtime %ld", held("gpubpf-agent"), held("libpocl"));
	printf("\n");
	fflush(stdout);
	pauses.longest = pauses.stack = 0;
}

#define PAINT 0xa5
#define DEPTH (64 << 10) /* bytes of the stack that are painted */

static __thread unsigned long stack_used;

/* Returns the end of the free stack. x86-64: a function may use 128 bytes below its stack pointer. */
static __attribute__((always_inline)) inline volatile unsigned char *stack_end(void)
{
	volatile unsigned char *at;

	__asm__ volatile("mov %%rsp, %0" : "=r"(at));
	return at - 128;
}

/* Set an argument, launch and read, with a painted stack. `values` receives the results. */
static __attribute__((noinline)) cl_int launch_painted(cl_command_queue q, cl_kernel k, cl_int n, cl_mem buffer,
						       cl_int *values)
{
	volatile unsigned char *end = stack_end(), *at;
	size_t items = ITEMS;
	cl_int err;

	for (at = end - DEPTH; at < end; at++)
		*at = PAINT;
	err = cl.clSetKernelArg(k, 1, sizeof(n), &n);
	if (!err)
		err = cl.clEnqueueNDRangeKernel(q, k, 1, NULL, &items, NULL, 0, NULL, NULL);
	if (!err)
		err = cl.clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, ITEMS * sizeof(*values), values, 0, NULL, NULL);
	for (at = end - DEPTH; at < end && *at == PAINT; at++)
		;
	stack_used = (unsigned long)(end - at) > stack_used ? (unsigned long)(end - at) : stack_used;
	return err;
}

/* Add the launches of a thread since its last pause, and wait. The last thread prints. */
static void wait_in_pause(unsigned long n, unsigned long gap)
{
	int signals = started;

	pthread_mutex_lock(&pauses.lock);
	if (pauses.signals != signals)
		pauses.waiting = 0;
	pauses.signals = signals;
	pauses.launches += n;
	pauses.longest = gap > pauses.longest ? gap : pauses.longest;
	pauses.stack = stack_used > pauses.stack ? stack_used : pauses.stack;
	stack_used = 0;
	if (++pauses.waiting == nthreads)
		print_pause();
	pthread_mutex_unlock(&pauses.lock);
	while (started == signals && !stopped)
		usleep(200);
}

/* Called before launch i of a thread. */
static void pause_thread(unsigned long i)
{
	static __thread unsigned long counted, last, longest;
	unsigned long now = now_us();

	longest = last && now - last > longest ? now - last : longest;
	last = now;
	if (!(started & 1))
		return;
	wait_in_pause(i - counted, longest);
	counted = i;
	last = longest = 0;
}

static void *work(void *arg)
{
	cl_int err, values[ITEMS] = { 0 }, want = 0, n = 1;
	cl_command_queue q = cl.clCreateCommandQueue(context, device, 0, &err);
	cl_mem buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(values), NULL, &err);
	size_t items = ITEMS;
	cl_program own;
	cl_kernel k = create_kernel(&own);
	unsigned long i;

	cl.clEnqueueWriteBuffer(q, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL);
	set_args(k, buffer, n);
	__atomic_add_fetch(&nready, 1, __ATOMIC_RELEASE);
	for (i = 0; !stopped && (!most || i < most); i++) {
		if (!strcmp(mode, "pause") || !strcmp(mode, "stack"))
			pause_thread(i);
		if (own && i % 50 == 49) {
			cl.clReleaseKernel(k);
			cl.clReleaseProgram(own);
			k = create_kernel(&own);
		}
		if (!strcmp(mode, "fork") && i % 200 == 199)
			fork_child();
		if (strcmp(mode, "once")) {
			n = 1 + i % 3;
			set_args(k, buffer, n);
		}
		want += n;
		if (!strcmp(mode, "stack"))
			err = launch_painted(q, k, n, buffer, values);
		else if (!(err = cl.clEnqueueNDRangeKernel(q, k, 1, NULL, &items, NULL, 0, NULL, NULL)))
			err = cl.clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL);
		if (err)
			die("a launch");
		for (int j = 0; j < ITEMS; j++)
			if (values[j] != want) {
				__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
				break;
			}
	}
	__atomic_add_fetch(&launches, i, __ATOMIC_RELAXED);
	return NULL;
}

static void open_device(void)
{
	cl_platform_id platform;
	cl_int err;

	load();
	if (cl.clGetPlatformIDs(1, &platform, NULL) || cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		die("no device: clGetDeviceIDs");
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	shared = context ? create_program() : NULL;
	if (context)
		memcpy(table_at_start, dispatch_table(), sizeof(table_at_start));
}

static void print_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void wait_ready(void)
{
	while (__atomic_load_n(&nready, __ATOMIC_ACQUIRE) < nthreads)
		usleep(1000);
}

int main(int argc, char **argv)
{
	pthread_t threads[64];

	nthreads = argc > 1 ? atoi(argv[1]) : 1;
	nthreads = nthreads < 64 ? nthreads : 64;
	mode = argc > 2 ? argv[2] : "";
	most = isdigit((unsigned char)mode[0]) ? strtoul(mode, NULL, 10) : 0;
	signal(SIGRTMIN, on_stop);
	signal(SIGUSR1, on_start);
	signal(SIGRTMIN + 1, on_start);
	if (!strcmp(mode, "late")) {
		print_ready();
		while (!started)
			usleep(1000);
	}
	open_device();
	for (int i = 0; i < nthreads; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			die("pthread_create");
	wait_ready();
	if (strcmp(mode, "late"))
		print_ready();
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	printf("launches %lu wrong %lu\n", launches, wrong);
	return wrong != 0;
}
