/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios about the owners of handles: libraries that are unloaded, and contexts that are not current. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "app.h"

static const char plain[] = HEADER
	".visible .global .align 4 .u32 total;\n" ENTRY(scale,
							"\t.reg .b32 %r;\n//fake param\n//fake add total\n//fake counter\n"
							"\tld.global.u32 %r, [total];\n");
static const char thrice[] = HEADER ENTRY(scale, "//fake param\n//fake param\n//fake param\n//fake counter\n");

static void launch(CUfunction f, CUdeviceptr to, CUstream stream)
{
	void *params[] = { &to };

	GOOD(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

/*
 * Loads the text as a library. Launches its kernel through a function of the library's module in this context, and
 * through a CUkernel.
 */
static void launch_from_library(const char *text)
{
	CUdeviceptr word = new_word();
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	CUfunction f;

	GOOD(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetModule(&module, library));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, NULL);
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	GOOD(cuKernelGetFunction(&f, kernel));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	GOOD(cuLibraryUnload(library));
}

/*
 * Unloads libraries. The driver reuses the handles of their modules and functions for other libraries, or for a module.
 */
void libraries(void)
{
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;

	begin(0);
	launch_from_library(plain);
	launch_from_library(thrice);
	launch_from_library(plain);
	word = new_word();
	GOOD(cuModuleLoadData(&module, thrice));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	told("scale", 7, 7 * 64);
}

struct owner {
	CUcontext context;
	CUstream stream;
	CUdeviceptr word;
};

static struct owner make_owner(CUdevice device)
{
	struct owner p = { .context = begin(device), .word = new_word() };

	GOOD(cuStreamCreate(&p.stream, 0));
	return p;
}

static unsigned total_of(CUlibrary library, CUmodule module)
{
	CUdeviceptr total;
	size_t size;

	if (library)
		GOOD(cuLibraryGetModule(&module, library));
	GOOD(cuModuleGetGlobal_v2(&total, &size, module, "total"));
	return *to_host(total);
}

/*
 * Launches in the second context while the first is current. A CUfunction and a CUkernel of a library are launched in a
 * stream of the second context, and as graph nodes. A twin loaded into the wrong context would add its count to the
 * variable of that context.
 */
void foreign(void)
{
	struct owner first = make_owner(0), second;
	struct cuda_kernel_node node = { .gx = 1, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1 }, got;
	CUgraphNode nodes[2];
	CUgraphExec ready;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUgraph graph;
	CUfunction f;
	void *params[1];

	GOOD(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	second = make_owner(1);
	GOOD(cuModuleLoadData(&module, plain));
	GOOD(cuCtxSetCurrent(first.context));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch((CUfunction)kernel, second.word, second.stream);
	launch(f, second.word, second.stream);
	GOOD(cuGraphCreate(&graph, 0));
	params[0] = &second.word;
	node.params = params;
	node.f = f;
	GOOD(cuGraphAddKernelNode_v2(&nodes[0], graph, NULL, 0, &node));
	node.f = NULL;
	node.kernel = kernel;
	node.context = second.context;
	GOOD(cuGraphAddKernelNode_v2(&nodes[1], graph, NULL, 0, &node));
	GOOD(cuGraphKernelNodeGetParams_v2(nodes[0], &got));
	printf("asked: %s\n", got.f == f ? "the function" : "another");
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 0));
	GOOD(cuGraphLaunch(ready, second.stream));
	printf("there %u\n", total_of(library, NULL));
	GOOD(cuCtxSetCurrent(second.context));
	printf("here %u and %u\n", total_of(library, NULL), total_of(NULL, module));
	printf("word %u\n", *to_host(second.word));
	told("scale", 4, 4 * 64);
}

/*
 * Loads one of two texts and launches its kernel. The kernel may get the handle of a kernel of an earlier, destroyed
 * context. The agent must not mistake one for the other.
 */
static void launch_in_turn(int i, CUstream stream)
{
	CUdeviceptr word = new_word();
	CUmodule module;
	CUfunction f;

	GOOD(cuModuleLoadData(&module, i % 2 ? thrice : plain));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, stream);
	printf("word %u\n", *to_host(word));
}

/*
 * Creates and destroys green contexts. While the last one exists, the application releases the primary context; then
 * only that green context keeps the primary context alive.
 */
void green(void)
{
	CUcontext primary = begin(0), context;
	CUgreenCtx green;
	CUstream stream;

	for (int i = 0; i < 4; i++) {
		GOOD(cuGreenCtxCreate(&green, NULL, 0, 1));
		GOOD(cuCtxFromGreenCtx(&context, green));
		GOOD(cuCtxSetCurrent(context));
		GOOD(cuGreenCtxStreamCreate(&stream, green, 1, 0));
		launch_in_turn(i, stream);
		GOOD(cuStreamDestroy_v2(stream));
		if (i == 3) {
			GOOD(cuDevicePrimaryCtxRelease_v2(0));
			GOOD(cuCtxSetCurrent(primary));
			launch_in_turn(i, NULL);
			GOOD(cuCtxSetCurrent(context));
		}
		GOOD(cuGreenCtxDestroy(green));
		cuCtxSetCurrent(primary);
	}
	begin(0);
	launch_in_turn(0, NULL);
	told("scale", 6, 6 * 64);
}

/*
 * Launches in a stream with half of the device's SMs. These hold 64 blocks of the original at once, and 8 blocks of the
 * twin.
 */
void part(void)
{
	static const char heavy[] = HEADER ENTRY(heavy, "//fake param\n//fake twin-regs 255\n//fake twin-wide\n");
	CUdeviceptr word;
	CUgreenCtx green;
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUfunction f;
	void *params[] = { &word };

	begin(0);
	GOOD(cuGreenCtxCreate(&green, NULL, 0, 1));
	GOOD(cuCtxFromGreenCtx(&context, green));
	GOOD(cuCtxSetCurrent(context));
	GOOD(cuGreenCtxStreamCreate(&stream, green, 1, 0));
	GOOD(cuModuleLoadData(&module, heavy));
	GOOD(cuModuleGetFunction(&f, module, "heavy"));
	word = new_word();
	/* runs the original: 16 blocks of the twin fit only the whole device */
	GOOD(cuLaunchKernel(f, 16, 1, 1, 64, 1, 1, 0, stream, params, NULL));
	GOOD(cuLaunchKernel(f, 8, 1, 1, 64, 1, 1, 0, stream, params, NULL));
	GOOD(cuLaunchKernel(f, 65, 1, 1, 64, 1, 1, 0, stream, params, NULL));
	GOOD(cuLaunchKernel(f, 16, 1, 1, 64, 1, 1, 0, NULL, params, NULL)); /* the context's own stream */
	GOOD(cuLaunchKernel(f, 8, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	printf("word %u\n", *to_host(word));
	told("heavy", 5, (8 + 65 + 8) * 64);
}

/* Each context is attached twice; the last cuCtxDetach() destroys it. */
void detached(void)
{
	CUcontext context, same;

	for (int i = 0; i < 4; i++) {
		GOOD(cuCtxCreate_v2(&context, 0, 0));
		GOOD(cuCtxAttach(&same, 0));
		launch_in_turn(i, NULL);
		GOOD(cuCtxDetach(context));
		launch_in_turn(i + 1, NULL);
		GOOD(cuCtxDetach(context));
	}
	told("scale", 8, 8 * 64);
}

/*
 * The application first releases the primary context more often than it retained it, which is an error. Then it
 * retains and releases the context equally often.
 */
void unbalanced(void)
{
	for (int i = 0; i < 4; i++) {
		printf("released: %d\n", cuDevicePrimaryCtxRelease_v2(0));
		begin(0);
		launch_in_turn(i, NULL);
		GOOD(cuDevicePrimaryCtxRelease_v2(0));
	}
	told("scale", 4, 4 * 64);
}

/* Unloads modules and libraries soon after their first launches, while the session still makes their twins. */
void hasty(void)
{
	CUdeviceptr word;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUfunction f;

	begin(0);
	word = new_word();
	for (int i = 0; i < 4; i++) {
		if (i % 2) {
			GOOD(cuModuleLoadData(&module, plain));
			GOOD(cuModuleGetFunction(&f, module, "scale"));
		} else {
			GOOD(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
			GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
			f = (CUfunction)kernel;
		}
		for (int j = 0; j < 20; j++) {
			launch(f, word, NULL);
			usleep(5000);
		}
		GOOD(i % 2 ? cuModuleUnload(module) : cuLibraryUnload(library));
	}
	printf("word %u\n", *to_host(word));
}

static int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = -2; /* "." and ".." */

	while (readdir(tasks))
		n++;
	closedir(tasks);
	return n;
}

/* The test kills the tool. The agent notices this and ends its thread; then the application destroys the context. */
void orphaned(void)
{
	const char *tool = getenv("FAKE_CUDA_APP_KILLS");
	CUcontext context;
	int n;

	GOOD(cuCtxCreate_v2(&context, 0, 0));
	launch_in_turn(0, NULL);
	n = threads();
	if (tool)
		kill(atoi(tool), SIGKILL);
	for (int i = 0; tool && threads() >= n && i < 1000; i++)
		usleep(10000);
	GOOD(cuCtxDestroy_v2(context));
	if (tool)
		usleep(500000); /* waits longer than the polling interval of the agent's threads */
	begin(1);
	launch_in_turn(1, NULL);
}

static CUdeviceptr begun;

static void *never_returns(void *arg)
{
	static const char forever[] = HEADER ENTRY(forever, "//fake counter\n//fake param\n//fake forever\n");
	CUmodule module;
	CUfunction f;

	GOOD(cuCtxSetCurrent(arg));
	GOOD(cuModuleLoadData(&module, forever));
	GOOD(cuModuleGetFunction(&f, module, "forever"));
	launch(f, begun, NULL);
	return NULL;
}

/* Destroys a context whose kernel never ends. */
void endless(void)
{
	CUcontext context;
	pthread_t thread;

	GOOD(cuCtxCreate_v2(&context, 0, 0));
	begun = new_word();
	pthread_create(&thread, NULL, never_returns, context);
	while (*to_host(begun) != 64)
		usleep(1000);
	GOOD(cuCtxDestroy_v2(context));
	usleep(500000); /* waits longer than the polling interval of the agent's threads */
	begin(1);
	launch_in_turn(1, NULL);
	told("forever", 1, 64);
	told("scale", 1, 64);
}

static void *unload(void *library)
{
	GOOD(cuLibraryUnload(library));
	return NULL;
}

/*
 * Unloads a library while another thread destroys the context that holds the twin of the library's kernel. No context
 * owns a library.
 */
void parted(void)
{
	CUcontext context;
	CUdeviceptr word;
	CUlibrary library;
	CUkernel kernel;
	pthread_t thread;

	GOOD(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	GOOD(cuCtxCreate_v2(&context, 0, 0));
	word = new_word();
	launch((CUfunction)kernel, word, NULL);
	printf("word %u\n", *to_host(word));
	pthread_create(&thread, NULL, unload, library);
	usleep(50000);
	GOOD(cuCtxDestroy_v2(context));
	pthread_join(thread, NULL);
	told("scale", 1, 64);
}

/* Launches through old driver functions, for which the agent has no twins: it only counts these launches. */
void older(void)
{
	static const char kernels[] = HEADER ENTRY(other, "//fake param\n//fake counter\n")
		ENTRY(both, "//fake param\n//fake counter\n");
	struct owner on[2] = { make_owner(0), make_owner(1) };
	struct cuda_launch launches[2];
	void *params[2][1];
	CUmodule module;
	CUfunction f;

	for (int i = 0; i < 2; i++) {
		GOOD(cuCtxSetCurrent(on[i].context));
		GOOD(cuModuleLoadData(&module, kernels));
		GOOD(cuModuleGetFunction(&f, module, "both"));
		params[i][0] = &on[i].word;
		launches[i] = (struct cuda_launch){ f, 1 + i, 1, 1, 64, 1, 1, 0, on[i].stream, params[i] };
	}
	GOOD(cuModuleGetFunction(&f, module, "other"));
	GOOD(cuLaunch(f));
	GOOD(cuLaunchGrid(f, 2, 3));
	GOOD(cuLaunchCooperativeKernelMultiDevice(launches, 2, 0));
	for (int i = 0; i < 2; i++) {
		GOOD(cuCtxSetCurrent(on[i].context));
		printf("word %u\n", *to_host(on[i].word));
	}
	told("other", 2, 0);
	told("both", 2, 0);
}

static void *reset(void *arg)
{
	GOOD(cuDevicePrimaryCtxReset_v2(0));
	return NULL;
}

/* Two threads reset one context at the same time. */
void twice(void)
{
	pthread_t thread;

	begin(0);
	launch_in_turn(0, NULL);
	pthread_create(&thread, NULL, reset, NULL);
	usleep(50000);
	reset(NULL);
	pthread_join(thread, NULL);
	begin(0);
	launch_in_turn(1, NULL);
	told("scale", 2, 2 * 64);
}

/* Before the first launches of a module and of a library, unloads the files that contained their text. */
void closed(void)
{
	void *holder = dlopen("libclosed.so", RTLD_NOW | RTLD_LOCAL);
	CUdeviceptr word;
	CUlibrary library;
	CUmodule module;
	CUfunction f;

	begin(0);
	word = new_word();
	GOOD(cuModuleLoadData(&module, dlsym(holder, "closed_text")));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	GOOD(cuLibraryLoadData(&library, dlsym(holder, "closed_text"), NULL, NULL, 0, NULL, NULL, 0));
	dlclose(holder);
	launch(f, word, NULL);
	GOOD(cuLibraryGetModule(&module, library));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	told("scale", 2, 0);
}

/*
 * Destroys a context that holds the twin of a library's kernel. Then the driver reuses the twin's handle for a new
 * function.
 */
void reborn(void)
{
	static const char text[] = HEADER ENTRY(other, "//fake param\n");
	struct cuda_kernel_node node = { .gx = 1, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1 }, got;
	CUgraphNode made;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUgraph graph;

	begin(1);
	GOOD(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	launch((CUfunction)kernel, new_word(), NULL);
	GOOD(cuDevicePrimaryCtxReset_v2(1));
	begin(1);
	for (int i = 0; i < 4; i++) {
		GOOD(cuModuleLoadData(&module, text));
		GOOD(cuModuleGetFunction(&node.f, module, "other"));
		GOOD(cuGraphCreate(&graph, 0));
		GOOD(cuGraphAddKernelNode_v2(&made, graph, NULL, 0, &node));
		GOOD(cuGraphKernelNodeGetParams_v2(made, &got));
		printf("asked: %s\n", got.f == node.f ? "the function" : "another");
	}
}

/* An attribute that is set on a library's kernel also holds for the CUfunction of that kernel, and the reverse. */
void clustered(void)
{
	static const char text[] = HEADER ENTRY(early, "//fake wants-14\n//fake param\n//fake counter\n")
		ENTRY(late, "//fake wants-14\n//fake param\n//fake counter\n");
	CUdeviceptr word;
	CUlibrary library;
	CUkernel kernel;
	CUfunction f;

	begin(0);
	word = new_word();
	GOOD(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetKernel(&kernel, library, "early"));
	GOOD(cuKernelSetAttribute(14, 1, kernel, 0));
	GOOD(cuKernelGetFunction(&f, kernel));
	launch(f, word, NULL);
	GOOD(cuLibraryGetKernel(&kernel, library, "late"));
	GOOD(cuKernelGetFunction(&f, kernel));
	GOOD(cuFuncSetAttribute(f, 14, 1));
	launch((CUfunction)kernel, word, NULL);
	printf("word %u\n", *to_host(word));
	told("early", 1, 64);
	told("late", 1, 64);
}

/*
 * The twin needs more shared memory than the original. For the first launch all blocks of the twin fit the device at
 * once. Then the application reduces the shared memory of each SM, so that only the original's blocks fit.
 */
void carved(void)
{
	static const char text[] = HEADER ENTRY(counted, "//fake param\n//fake twin-shared 16\n");
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;
	void *params[] = { &word };

	begin(0);
	word = new_word();
	GOOD(cuModuleLoadData(&module, text));
	GOOD(cuModuleGetFunction(&f, module, "counted"));
	GOOD(cuLaunchKernel(f, 128, 1, 1, 64, 1, 1, 1024, NULL, params, NULL));
	GOOD(cuFuncSetAttribute(f, 9, 32));
	GOOD(cuLaunchKernel(f, 128, 1, 1, 64, 1, 1, 1024, NULL, params, NULL));
	printf("word %u\n", *to_host(word));
	told("counted", 2, 128 * 64);
}

/* Before the first launch, overwrites the buffer from which the application loaded a module with another image. */
void overwritten(void)
{
	static char buffer[4096];
	CUdeviceptr word;
	CUmodule first, second;
	CUfunction f;

	begin(0);
	word = new_word();
	snprintf(buffer, sizeof(buffer), "%s", plain);
	GOOD(cuModuleLoadData(&first, buffer));
	snprintf(buffer, sizeof(buffer), "%s", thrice);
	GOOD(cuModuleLoadData(&second, buffer));
	GOOD(cuModuleGetFunction(&f, first, "scale"));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	GOOD(cuModuleGetFunction(&f, second, "scale"));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	told("scale", 2, 2 * 64);
}
