/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda-live THREADS [MODE]: a CUDA application that runs until SIGTERM and checks each of its results. It prints "ready",
 * and at the end "launches N wrong N". Each thread has its own word in device memory. It
 * also runs with NVIDIA's driver. MODE is one of these words.
 *
 * Mode library: launch a CUkernel of a library instead of a CUfunction.
 * Mode memory: load the module from memory that is freed before "ready".
 * Mode same: like memory; the kernel has the name of another kernel in a fat binary of the program.
 * Mode new: unload the module, and load it again from memory, after each 50 launches.
 * Mode graph: every tenth launch is captured into a graph, which is launched once.
 * Mode capture: like graph, but a capture takes 50 ms, so nearly always a capture is open.
 * Mode replay: like graph, but each thread captures its graph once, before "ready".
 * Mode several: another fat binary of the program defines a kernel of the same name.
 * Mode settings: set an attribute of the function before "ready", without which it cannot be launched.
 * Mode fork: fork a child every 200 launches. The child launches once and ends.
 * Mode dlopen: another thread loads $LIVE_LIBRARY all the time; its constructor loads and unloads a module.
 * Mode late: load the driver only after SIGUSR1.
 * Mode bursts: launch only after SIGUSR1, 1,000 times in each thread; then print "done".
 * Mode around: look up the driver's functions by the C library's dlsym(), which the idle library does not see.
 * A number N: end after N launches of each thread.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fake/fake.h"
#include "fatbin.h"

#define BURST 1000
#define FUNCTIONS(F)                                                                                                        \
	F(cuInit) F(cuDevicePrimaryCtxRetain) F(cuCtxSetCurrent) F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction)   \
	F(cuFuncSetAttribute) F(cuLibraryLoadData) F(cuLibraryGetKernel) F(cuMemAlloc_v2) F(cuMemcpyHtoD_v2) F(cuMemcpyDtoH_v2) F(cuLaunchKernel)     \
	F(cuLaunchKernel_ptsz) F(cuLaunchKernelEx) F(cuLaunchCooperativeKernel) F(cuStreamCreate) F(cuStreamSynchronize) F(cuStreamBeginCapture_v2)    \
	F(cuStreamEndCapture) F(cuGraphInstantiateWithFlags) F(cuGraphLaunch) F(cuGraphDestroy)

static const struct container add = CONTAINER("add", ""), twice = CONTAINER("twice", ""), twice2 = CONTAINER("twice", ""),
			      other = CONTAINER("addition", ""), wants = CONTAINER("wants", "//fake wants-14\n");
/* the structures by which host code registers fat binaries */
const struct wrapper wrappers[] = { { 0x466243b1u, 1, &add, NULL },
				    { 0x466243b1u, 1, &twice, NULL },
				    { 0x466243b1u, 1, &twice2, NULL },
				    { 0x466243b1u, 1, &other, NULL },
				    { 0x466243b1u, 1, &wants, NULL } };

static struct {
#define F(name) __typeof__(name) *name;
	FUNCTIONS(F)
#undef F
} cu;
static volatile sig_atomic_t stopped, started;
static const char *mode;
static unsigned long most, launches, wrong, nthreads;
static CUcontext context;
static CUfunction shared;

static void on_stop(int signal)
{
	stopped = 1;
}

static void on_start(int signal)
{
	started++;
}

static void check(int error, const char *what)
{
	if (!error)
		return;
	printf("%s failed: %d\n", what, error);
	exit(1);
}
#define CHECK(call) check(call, #call)

static bool is_mode(const char *word)
{
	return !strcmp(mode, word);
}

typedef void *(*lookup_fn)(void *handle, const char *name);

/* Returns the C library's dlsym(), also if a preloaded library has another one. */
static lookup_fn find_lookup(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	lookup_fn found = libc ? (lookup_fn)dlvsym(libc, "dlsym", "GLIBC_2.34") : NULL;

	if (!found)
		found = (lookup_fn)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	check(!found, "dlsym");
	return found;
}

static void load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	lookup_fn lookup = is_mode("around") ? find_lookup() : dlsym;

	check(!lib, "dlopen");
#define F(name) check(!(cu.name = (__typeof__(name) *)lookup(lib, #name)), #name);
	FUNCTIONS(F)
#undef F
	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cu.cuCtxSetCurrent(context));
}

/* Load the module from memory that is freed at once. */
static CUfunction load_from_memory(CUmodule *module)
{
	const char *name = is_mode("new") || is_mode("same") ? "add" : "made";
	char *copy = strdup(is_mode("same") ? "//fake regs 40\n" TEXT("add", "") :
			    is_mode("new")  ? TEXT("add", "") :
					      TEXT("made", ""));
	CUfunction f;

	CHECK(cu.cuModuleLoadData(module, copy));
	memset(copy, 0, strlen(copy));
	free(copy);
	CHECK(cu.cuModuleGetFunction(&f, *module, name));
	return f;
}

static CUfunction load_kernel(void)
{
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	CUfunction f;

	if (is_mode("memory") || is_mode("same"))
		return load_from_memory(&module);
	if (is_mode("library")) {
		CHECK(cu.cuLibraryLoadData(&library, &wrappers[0], NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cu.cuLibraryGetKernel(&kernel, library, "add"));
		return (CUfunction)kernel;
	}
	if (is_mode("settings")) {
		CHECK(cu.cuModuleLoadData(&module, &wrappers[4]));
		CHECK(cu.cuModuleGetFunction(&f, module, "wants"));
		CHECK(cu.cuFuncSetAttribute(f, 14, 1));
		return f;
	}
	CHECK(cu.cuModuleLoadData(&module, is_mode("several") ? &wrappers[1] : &wrappers[0]));
	CHECK(cu.cuModuleGetFunction(&f, module, is_mode("several") ? "twice" : "add"));
	return f;
}

/* For the constructor of $LIVE_LIBRARY, which runs under a lock of the dynamic linker. */
__attribute__((visibility("default"))) void live_load_and_unload(void);
void live_load_and_unload(void)
{
	CUmodule module;

	CHECK(cu.cuModuleLoadData(&module, &wrappers[0]));
	usleep(2000);
	CHECK(cu.cuModuleUnload(module));
}

static void *load_libraries(void *arg)
{
	CHECK(cu.cuCtxSetCurrent(context));
	while (!stopped) {
		void *library = dlopen(getenv("LIVE_LIBRARY"), RTLD_NOW);

		check(!library, "LIVE_LIBRARY");
		dlclose(library);
	}
	return NULL;
}

/* Launch 64 threads by one of several calls. */
static void launch(CUfunction f, CUdeviceptr to, unsigned long i)
{
	void *params[] = { &to };
	CUlaunchConfig config = { .gx = 1, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1 };

	switch (i % 4) {
	case 0:
		CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
		break;
	case 1:
		CHECK(cu.cuLaunchKernel_ptsz(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
		break;
	case 2:
		CHECK(cu.cuLaunchKernelEx(&config, f, params, NULL));
		break;
	case 3:
		CHECK(cu.cuLaunchCooperativeKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params));
		break;
	}
}

/* A thread's graph, and the word to which the graph adds, in mode replay. */
static struct replay {
	CUdeviceptr to;
	CUgraphExec ready;
	CUstream stream;
} replays[64];

static void prepare_replay(struct replay *r, CUfunction f)
{
	void *params[] = { &r->to };
	CUgraph graph;

	CHECK(cu.cuMemAlloc_v2(&r->to, 4096));
	CHECK(cu.cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuStreamBeginCapture_v2(r->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, r->stream, params, NULL));
	CHECK(cu.cuStreamEndCapture(r->stream, &graph));
	CHECK(cu.cuGraphInstantiateWithFlags(&r->ready, graph, 0)); /* the fake driver's graph must live */
}

static void launch_replay(const struct replay *r)
{
	CHECK(cu.cuGraphLaunch(r->ready, r->stream));
	CHECK(cu.cuStreamSynchronize(r->stream));
}

static void launch_graph(CUfunction f, CUdeviceptr to)
{
	void *params[] = { &to };
	CUgraphExec ready;
	CUstream stream;
	CUgraph graph;

	CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL));
	if (is_mode("capture"))
		usleep(50000);
	CHECK(cu.cuStreamEndCapture(stream, &graph));
	CHECK(cu.cuGraphInstantiateWithFlags(&ready, graph, 0));
	CHECK(cu.cuGraphLaunch(ready, stream));
	CHECK(cu.cuStreamSynchronize(stream));
	CHECK(cu.cuGraphDestroy(graph));
}

static void fork_child(CUfunction f, CUdeviceptr to)
{
	void *params[] = { &to };
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL); /* NVIDIA's driver refuses it */
		_exit(0);
	}
	check(pid < 0 || waitpid(pid, &status, 0) != pid || status, "a child");
}

/* Report the end of burst i - 1, and wait for burst i. Returns false at the end. */
static bool wait_for_burst(unsigned long i)
{
	static unsigned long waiting;

	if (__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST) % nthreads == 0 && i) {
		puts("done");
		fflush(stdout);
	}
	while (!stopped && (unsigned long)started <= i)
		usleep(100);
	return !stopped;
}

static void *work(void *arg)
{
	const struct replay *replay = arg;
	uint32_t zero = 0, value, want = 0;
	CUmodule module = NULL;
	CUfunction f = shared;
	unsigned long i = 0;
	CUdeviceptr to;

	CHECK(cu.cuCtxSetCurrent(context));
	to = replay->to;
	if (!to)
		CHECK(cu.cuMemAlloc_v2(&to, 4096));
	CHECK(cu.cuMemcpyHtoD_v2(to, &zero, 4));
	for (; !stopped && (!most || i < most); i++) {
		if (is_mode("bursts") && i % BURST == 0 && !wait_for_burst(i / BURST))
			break;
		if (is_mode("new") && i % 50 == 0) {
			if (module)
				CHECK(cu.cuModuleUnload(module));
			f = load_from_memory(&module);
		}
		if (is_mode("fork") && i % 200 == 199)
			fork_child(f, to);
		if (is_mode("replay") && i % 10 == 9)
			launch_replay(replay);
		else if ((is_mode("graph") || is_mode("capture")) && i % 10 == 9)
			launch_graph(f, to);
		else
			launch(f, to, i);
		want += 64;
		CHECK(cu.cuMemcpyDtoH_v2(&value, to, 4));
		if (value != want)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		want = value;
		if (i % 16 == 0)
			usleep(100);
	}
	__atomic_add_fetch(&launches, i, __ATOMIC_RELAXED);
	return NULL;
}

static void print_ready(void)
{
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[64], loader;

	nthreads = n;
	mode = argc > 2 ? argv[2] : "";
	most = isdigit((unsigned char)mode[0]) ? strtoul(mode, NULL, 10) : 0;
	signal(SIGTERM, on_stop);
	signal(SIGUSR1, on_start);
	if (is_mode("late")) {
		print_ready();
		while (!started)
			usleep(1000);
	}
	load_driver();
	shared = load_kernel();
	for (int i = 0; i < n && i < 64 && is_mode("replay"); i++)
		prepare_replay(&replays[i], shared);
	if (!is_mode("late"))
		print_ready();
	for (int i = 0; i < n && i < 64; i++)
		check(pthread_create(&threads[i], NULL, work, &replays[i]), "pthread_create");
	if (is_mode("dlopen"))
		check(pthread_create(&loader, NULL, load_libraries, NULL), "pthread_create");
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	if (is_mode("dlopen"))
		pthread_join(loader, NULL);
	printf("launches %lu wrong %lu\n", launches, wrong);
	return wrong != 0;
}
