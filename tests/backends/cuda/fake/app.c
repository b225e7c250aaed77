/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app HOW SCENARIO: an application that uses the CUDA driver API. HOW selects how it finds the driver's functions
 * (link, dlsym, proc1, proc2, ptsz). It prints the results of its kernels. For each kernel it also prints its launches
 * and threads: "kernel NAME launches L items I". I is 0 if the kernel can have no twin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

/* ---- the driver's functions, as the application found them ---- */

struct used_driver cu;

void good(CUresult error, const char *what)
{
	if (!error)
		return;
	printf("%s: error %d\n", what, error);
	exit(1);
}

/* Looks up a name without its version suffix, as cuGetProcAddress requires. */
static void *look_up_proc(const char *symbol, bool second, uint64_t flags)
{
	char name[96];
	void *found = NULL;
	size_t n = strlen(symbol);

	snprintf(name, sizeof(name), "%s", symbol);
	if (!strcmp(symbol + n - 3, "_v2"))
		name[n - 3] = 0;
	if (second) {
		typeof(cuGetProcAddress_v2) *get = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");

		GOOD(get(name, &found, 13000, flags, NULL));
	} else {
		GOOD(cuGetProcAddress(name, &found, 11030, flags));
	}
	return found;
}

static void find_driver(const char *how)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

#define LINK(symbol) cu.symbol = symbol;
#define DLSYM(symbol) cu.symbol = dlsym(lib, #symbol);
#define PROC1(symbol) cu.symbol = look_up_proc(#symbol, false, 0);
#define PROC2(symbol) cu.symbol = look_up_proc(#symbol, true, 0);
#define PTSZ(symbol) cu.symbol = look_up_proc(#symbol, true, 2);
	if (!strcmp(how, "link")) {
		USED(LINK)
	} else if (!strcmp(how, "dlsym")) {
		USED(DLSYM)
	} else if (!strcmp(how, "proc1")) {
		USED(PROC1)
	} else if (!strcmp(how, "proc2")) {
		USED(PROC2)
	} else {
		USED(PTSZ)
	}
}

/* ---- kernels ---- */

static const char text[] = HEADER ".visible .global .align 4 .u32 total;\n" ENTRY(
	scale,
	"\t.reg .b32 %r;\n//fake param\n//fake add total\n//fake counter\n\tld.global.u32 %r, [total];\n") ENTRY(other,
														 "//fake param\n//fake counter\n")
	ENTRY(faulty, "//fake fault\n") ENTRY(heavy, "//fake param\n//fake twin-regs 255\n") ENTRY(
		stubborn,
		"//fake param\n//fake twin-regs 255\n//fake twin-wide\n") ENTRY(thin,
										"//fake param\n//fake twin-regs 48\n//fake twin-least 40\n")
		ENTRY(spilt, "//fake param\n//fake twin-regs 72\n//fake twin-least 72\n//fake twin-spills 8\n") ENTRY(
			spoilt, "//fake param\n//fake twin-regs 72\n//fake twin-least 72\n//fake twin-spills 16\n")
			ENTRY(shaped, "//fake param\n//fake twin-regs 38\n//fake twin-flat 40\n") ENTRY(
				wider, "//fake param\n//fake twin-flat 41\n") ENTRY(counted,
										    "//fake param\n//fake twin-shared 16\n")
				ENTRY(bad, "//fake param\n//fake twin-broken\n") ".func _Z6helperj(.param .b32 x)\n{\n//fake calls 3\n\tret;\n}\n" ENTRY(
					caller,
					"//fake param\n\t{ .param .b32 p; st.param.b32 [p], 1; call.uni _Z6helperj, (p); }\n") ".func _Z5againj(.param .b32 x)\n{\n//fake calls 1\n\t{ .param .b32 p; st.param.b32 [p], 1; call.uni _Z5againj, (p); }\n"
															       "\tret;\n}\n" ENTRY(
																       framed,
																       "//fake param\n//fake counter\n//fake twin-frame 64\n\t{ .param .b32 p; st.param.b32 [p], 1; call.uni "
																       "_Z5againj, (p); }\n")
																       ENTRY(deep,
																	     "//fake param\n//fake counter\n\t{ .param .b32 p; st.param.b32 [p], 1; call.uni _Z5againj, (p); }\n");

uint32_t *to_host(CUdeviceptr at)
{
	static uint32_t value;

	GOOD(cuMemcpyDtoH_v2(&value, at, 4));
	return &value;
}

CUdeviceptr new_word(void)
{
	CUdeviceptr at;
	uint32_t zero = 0;

	GOOD(cuMemAlloc_v2(&at, 4096));
	GOOD(cuMemcpyHtoD_v2(at, &zero, 4));
	return at;
}

void run(CUfunction f, CUdeviceptr to, unsigned blocks, CUstream stream)
{
	void *params[] = { &to };

	GOOD(cu.cuLaunchKernel(f, blocks, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

void told(const char *kernel, unsigned launches, unsigned long items)
{
	printf("kernel %s launches %u items %lu\n", kernel, launches, items);
}

CUcontext begin(CUdevice device)
{
	CUcontext context;

	GOOD(cuInit(0));
	GOOD(cu.cuDevicePrimaryCtxRetain(&context, device));
	GOOD(cuCtxSetCurrent(context));
	return context;
}

CUfunction load(CUmodule *module, const char *kernel)
{
	CUfunction f;

	GOOD(cu.cuModuleLoadData(module, text));
	GOOD(cu.cuModuleGetFunction(&f, *module, kernel));
	return f;
}

/* ---- scenarios ---- */

/* Waits at most 60 s until the file exists. If path is NULL, it returns at once. */
void wait_for(const char *path)
{
	for (int i = 0; path && access(path, F_OK) && i < 6000; i++)
		usleep(10000);
}

static void basic(void)
{
	CUdeviceptr word, total;
	CUfunction scale, other;
	CUmodule module;
	size_t size;

	begin(0);
	scale = load(&module, "scale");
	word = new_word();
	for (int i = 0; i < 20; i++)
		run(scale, word, 10, NULL);
	wait_for(getenv("FAKE_CUDA_APP_WAITS"));
	GOOD(cu.cuModuleGetFunction(&other, module, "other"));
	run(other, word, 1, NULL);
	GOOD(cuModuleGetGlobal_v2(&total, &size, module, "total"));
	printf("word %u\n", *to_host(word));
	printf("total %u\n", *to_host(total));
	told("scale", 20, 20 * 640);
	told("other", 1, 64);
}

/* One library is used in two contexts of two devices, through its functions and through its kernels. */
static void library(void)
{
	CUcontext first, second;
	CUdeviceptr word;
	CUlibrary lib;
	CUkernel kernel;
	CUfunction f;
	CUmodule module;

	first = begin(0);
	GOOD(cu.cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cu.cuLibraryGetKernel(&kernel, lib, "scale"));
	word = new_word();
	run((CUfunction)kernel, word, 1, NULL);
	GOOD(cu.cuKernelGetFunction(&f, kernel));
	run(f, word, 2, NULL);
	GOOD(cu.cuLibraryGetModule(&module, lib));
	GOOD(cu.cuModuleGetFunction(&f, module, "other"));
	run(f, word, 4, NULL);
	printf("word %u\n", *to_host(word));
	second = begin(1);
	word = new_word();
	run((CUfunction)kernel, word, 8, NULL);
	printf("word %u\n", *to_host(word));
	GOOD(cuCtxSetCurrent(first));
	word = new_word();
	run((CUfunction)kernel, word, 16, NULL);
	printf("word %u\n", *to_host(word));
	(void)second;
	GOOD(cu.cuLibraryUnload(lib));
	told("scale", 4, 64 * (1 + 2 + 8 + 16));
	told("other", 1, 64 * 4);
}

/*
 * Contexts are destroyed, released and reset, which destroys their functions. The driver reuses the handles of these
 * functions.
 */
static void contexts(void)
{
	CUfunction f;
	CUmodule module;
	CUcontext own;

	for (int i = 0; i < 3; i++) {
		GOOD(cuCtxCreate_v2(&own, 0, 0));
		f = load(&module, i % 2 ? "other" : "scale");
		run(f, new_word(), 1, NULL);
		GOOD(cu.cuCtxDestroy_v2(own));
	}
	for (int i = 0; i < 3; i++) {
		begin(1);
		f = load(&module, "scale");
		run(f, new_word(), 2, NULL);
		GOOD(i % 2 ? cuDevicePrimaryCtxReset(1) : cu.cuDevicePrimaryCtxReset_v2(1));
	}
	begin(0);
	f = load(&module, "other");
	run(f, new_word(), 4, NULL);
	GOOD(cu.cuDevicePrimaryCtxRelease_v2(0));
	told("scale", 5, 2 * 64 + 3 * 128);
	told("other", 2, 64 + 4 * 64);
}

/* Modules are unloaded, and the driver reuses their handles for other kernels. */
static void reload(void)
{
	static const char *const kernels[] = { "scale", "other" };
	CUmodule module;
	CUfunction f;

	begin(0);
	for (int i = 0; i < 40; i++) {
		f = load(&module, kernels[i % 2]);
		run(f, new_word(), 1 + i % 2, NULL);
		GOOD(cu.cuModuleUnload(module));
	}
	told("scale", 20, 20 * 64);
	told("other", 20, 20 * 128);
}

/*
 * Launches one GPU kernel, cooperatively and not. The twin needs more registers than the original. With 64 threads per
 * block the device holds only an eighth as many blocks of the twin at once; with 1,024 threads it holds none. If a
 * cooperative launch has more blocks, and no twin with fewer registers exists, the original must run.
 */
static void launch_at_once(const char *name, unsigned long probed)
{
	CUdeviceptr word;
	CUfunction f;
	CUmodule module;
	void *params[] = { &word };

	begin(0);
	f = load(&module, name);
	word = new_word();
	run(f, word, 128, NULL); /* 4 SMs hold 128 blocks of the original at once, and 16 blocks of the twin */
	run(f, word, 129, NULL); /* this launch is not cooperative: any twin may run */
	run(f, word, 16, NULL);  /* 16 blocks of the twin fit, too */
	GOOD(cu.cuLaunchKernel(f, 1000, 1, 1, 1024, 1, 1, 0, NULL, params, NULL)); /* no block of the twin fits */
	GOOD(cu.cuLaunchCooperativeKernel(f, 128, 1, 1, 64, 1, 1, 0, NULL, params));
	printf("word %u\n", *to_host(word));
	told(name, 5, probed);
}

static void occupancy(void)
{
	launch_at_once("heavy", (128 + 129 + 16 + 128) * 64 + 1000 * 1024);
}

static void stubborn(void)
{
	launch_at_once("stubborn", (129 + 16) * 64);
}

static void thin(void)
{
	CUmodule module;

	begin(0);
	run(load(&module, "thin"), new_word(), 10, NULL);
	told("thin", 1, 640);
	run(load(&module, "spilt"), new_word(), 10, NULL);
	told("spilt", 1, 640);
	run(load(&module, "spoilt"), new_word(), 10, NULL);
	told("spoilt", 1, 640);
}

/* The driver refuses launches; the application must see the driver's error of each. */
static void refused(void)
{
	CUdeviceptr word;
	CUfunction f;
	CUmodule module;
	void *params[] = { &word };

	begin(0);
	f = load(&module, "scale");
	word = new_word();
	printf("block too large: %d\n", cu.cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL));
	printf("shared memory: %d\n", cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 60000, NULL, params, NULL));
	GOOD(cu.cuFuncSetAttribute(f, 8, 65536));
	GOOD(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 60000, NULL, params, NULL));
	printf("word %u\n", *to_host(word));
	told("scale", 1, 64);
}

/* Requests up to the maximum of dynamic shared memory for a GPU kernel whose twin also needs static shared memory. */
static void roomy(void)
{
	static const int shared[] = { 0, 20000, 48 * 1024, 48 * 1024 - 8, 99 * 1024 - 16, 99 * 1024 - 8, 99 * 1024, 0 };
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;
	void *params[] = { &word };

	begin(0);
	f = load(&module, "counted");
	word = new_word();
	GOOD(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 48 * 1024, NULL, params, NULL));
	GOOD(cu.cuFuncSetAttribute(f, 8, 99 * 1024));
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		GOOD(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, shared[i], NULL, params, NULL));
	printf("word %u\n", *to_host(word));
	told("counted", 7, 7 * 64);
}

static void broken_twin(void)
{
	CUdeviceptr word;
	CUfunction f;
	CUmodule module;

	begin(0);
	f = load(&module, "bad");
	word = new_word();
	for (int i = 0; i < 3; i++)
		run(f, word, 1, NULL);
	printf("word %u\n", *to_host(word));
	told("bad", 3, 0);
}

static void children(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		basic();
		exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
}

/* Launches functions that the application got from cuModuleEnumerateFunctions() instead of by name. */
static void enumerated(void)
{
	CUfunction f[16];
	CUdeviceptr word;
	CUmodule module;
	unsigned n;

	begin(0);
	GOOD(cu.cuModuleLoadData(&module, text));
	GOOD(cuModuleGetFunctionCount(&n, module));
	GOOD(cuModuleEnumerateFunctions(f, n, module));
	word = new_word();
	run(f[0], word, 1, NULL);
	run(f[1], word, 2, NULL);
	printf("functions %u word %u\n", n, *to_host(word));
	told("scale", 1, 64);
	told("other", 1, 128);
}

/*
 * Launches three kernels: the first calls a function three times per thread, the second calls none, and the third calls
 * a recursive function.
 */
static void functions(void)
{
	CUfunction caller, other, deep;
	CUdeviceptr word;
	CUmodule module;

	begin(0);
	caller = load(&module, "caller");
	GOOD(cu.cuModuleGetFunction(&other, module, "other"));
	GOOD(cu.cuModuleGetFunction(&deep, module, "deep"));
	word = new_word();
	for (int i = 0; i < 5; i++) {
		run(caller, word, 2, NULL);
		run(other, word, 1, NULL);
	}
	run(deep, word, 1, NULL);
	printf("word %u\n", *to_host(word));
	told("caller", 5, 5 * 128);
	told("other", 5, 5 * 64);
}

/* Launches recursive kernels; the twin of one kernel needs a larger stack frame than its original. */
static void recursing(void)
{
	CUfunction deep, framed;
	CUdeviceptr word;
	CUmodule module;

	begin(0);
	deep = load(&module, "deep");
	GOOD(cu.cuModuleGetFunction(&framed, module, "framed"));
	word = new_word();
	run(deep, word, 2, NULL);
	run(framed, word, 3, NULL);
	printf("word %u\n", *to_host(word));
	told("deep", 1, 128);
	told("framed", 1, 0);
}

/* Prints the nanoseconds per launch. */
static void cost(void)
{
	struct timespec from, to;
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;
	void *params[] = { &word };
	double best = 1e9;

	begin(0);
	f = load(&module, "other");
	word = new_word();
	for (int round = 0; round < 20; round++) {
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < 10000; i++)
			cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / 10000;
		best = ns < best ? ns : best;
	}
	printf("cost %.1f\n", best);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {
		{ "basic", basic },
		{ "library", library },
		{ "contexts", contexts },
		{ "reload", reload },
		{ "captured", captured },
		{ "slowly", slowly },
		{ "slowly-again", slowly_again },
		{ "nodes", nodes },
		{ "shapes", shapes },
		{ "occupancy", occupancy },
		{ "thin", thin },
		{ "stubborn", stubborn },
		{ "squeezed", squeezed },
		{ "roomy", roomy },
		{ "refused", refused },
		{ "broken-twin", broken_twin },
		{ "threads", launch_in_threads },
		{ "unload", unload_in_threads },
		{ "children", children },
		{ "enumerated", enumerated },
		{ "cost", cost },
		{ "fault", fault },
		{ "killed", killed },
		{ "functions", functions },
		{ "flood", flood },
		{ "leaves", leaves },
		{ "linked", linked },
		{ "templated", templated },
		{ "too-long", too_long },
		{ "recursing", recursing },
		{ "libraries", libraries },
		{ "foreign", foreign },
		{ "green", green },
		{ "part", part },
		{ "detached", detached },
		{ "hasty", hasty },
		{ "unbalanced", unbalanced },
		{ "orphaned", orphaned },
		{ "endless", endless },
		{ "older", older },
		{ "twice", twice },
		{ "closed", closed },
		{ "reborn", reborn },
		{ "clustered", clustered },
		{ "carved", carved },
		{ "overwritten", overwritten },
		{ "parted", parted },
		{ "many", many },
		{ "large", large },
	};

	if (argc != 3)
		return 2;
	find_driver(argv[1]);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(scenarios[i].name, argv[2])) {
			scenarios[i].run();
			return 0;
		}
	return 2;
}
