/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtimes ROUNDS [fork] WHAT...: launches kernels of several runtimes in one process, in turn. With "fork" a child of
 * the process does so. With ROUNDS "-" each line of standard input has a number of rounds, and the output has a line
 * when they have ended. Each WHAT names a runtime:
 *
 * `graph`: a CUDA kernel that is launched directly, and through a graph captured in the first round.
 * `cuda`: CUDA.
 * `hip:FILE`: the code object in FILE (add_hip.cl) on the simulated AMD GPU of $GPUBPF_AMD_SIM.
 * `level_zero:FILE`: the SPIR-V module in FILE (add_level_zero.cl).
 * `OTHER`: a part of the name of an OpenCL platform or device.
 *
 * At the end it prints the kernels' results. For each kernel it prints a line like the OpenCL applications
 * (tests/backends/spirv/opencl/apps/app.h), after the runtime's name. The PTX works with NVIDIA's driver, and with the
 * driver of tests/backends/cuda/fake, which reads its comments.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<level_zero/ze_api.h>)
#include <level_zero/ze_api.h>
#define HAVE_LEVEL_ZERO
#endif

#define RUNTIMES 8
#define THREADS 256 /* per launch */

#define CHECK(call)                                                              \
	do {                                                                     \
		int err_ = (call);                                               \
		if (err_) {                                                      \
			fprintf(stderr, "%s: error %d\n", #call, err_);          \
			exit(1);                                                 \
		}                                                                \
	} while (0)

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry add_cuda(.param .u64 to)\n{\n"
	"//fake param\n//fake counter\n"
	"\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n"
	"\tld.param.u64 %rd1, [to];\n\tcvta.to.global.u64 %rd2, %rd1;\n"
	"\tatom.global.add.u32 %r1, [%rd2], 1;\n\tret;\n}\n";
static const char source[] = "__kernel void add_opencl(__global uint *to) { atomic_inc(to); }\n";

/* functions of the CUDA driver API, declared here from its documentation */
static struct {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*synchronize)(void);
	int (*load)(void **module, const void *image);
	int (*get)(void **function, void *module, const char *name);
	int (*alloc)(uint64_t *address, size_t size);
	int (*write)(uint64_t to, const void *from, size_t size);
	int (*read)(void *to, uint64_t from, size_t size);
	int (*stream)(void **stream, unsigned flags);
	int (*capture)(void *stream, int mode);
	int (*captured)(void *stream, void **graph);
	int (*instantiate)(void **ready, void *graph, uint64_t flags);
	int (*graph)(void *ready, void *stream);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		      unsigned shared, void *stream, void **params, void **extra);
} cu;

/* HIP functions whose parameters differ from CUDA's */
static struct {
	int (*synchronize)(void);
	int (*read)(void *to, const void *from, size_t size);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		      unsigned shared, void *stream, void **params, void **extra);
} hip;

#ifdef HAVE_LEVEL_ZERO
/* Level Zero functions, without the prefix "ze" of their names */
#define ZE_FUNCTIONS(F) \
	F(Init) F(DriverGet) F(DeviceGet) F(ContextCreate) F(MemAllocDevice) F(ModuleCreate) F(KernelCreate) \
	F(KernelSetGroupSize) F(KernelSetArgumentValue) F(CommandListCreateImmediate) F(CommandListAppendLaunchKernel) \
	F(CommandListAppendMemoryCopy)

static struct {
#define MEMBER(name) __typeof__(&ze##name) name;
	ZE_FUNCTIONS(MEMBER)
#undef MEMBER
	ze_command_list_handle_t list;     /* immediate and synchronous */
} ze;
#endif

struct runtime {
	enum { OPENCL, CUDA, HIP, LEVEL_ZERO } api;
	bool graph;
	uint32_t launches;
	void *stream, *ready;
	void *function;
	uint64_t word;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem to;
};

static const char *const names[] = { [OPENCL] = "opencl", [CUDA] = "cuda", [HIP] = "hip", [LEVEL_ZERO] = "level_zero" };

static void *find(void *driver, const char *name)
{
	void *found = driver ? dlsym(driver, name) : NULL;

	if (!found) {
		fprintf(stderr, "no driver with %s\n", name);
		exit(77);
	}
	return found;
}

static void open_cuda(struct runtime *r)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context, *module;
	const uint32_t zero = 0;

	cu.init = find(driver, "cuInit");
	cu.retain = find(driver, "cuDevicePrimaryCtxRetain");
	cu.set_current = find(driver, "cuCtxSetCurrent");
	cu.synchronize = find(driver, "cuCtxSynchronize");
	cu.load = find(driver, "cuModuleLoadData");
	cu.get = find(driver, "cuModuleGetFunction");
	cu.alloc = find(driver, "cuMemAlloc_v2");
	cu.write = find(driver, "cuMemcpyHtoD_v2");
	cu.read = find(driver, "cuMemcpyDtoH_v2");
	cu.launch = find(driver, "cuLaunchKernel");
	cu.stream = find(driver, "cuStreamCreate");
	cu.capture = find(driver, "cuStreamBeginCapture_v2");
	cu.captured = find(driver, "cuStreamEndCapture");
	cu.instantiate = find(driver, "cuGraphInstantiateWithFlags");
	cu.graph = find(driver, "cuGraphLaunch");
	r->api = CUDA;
	CHECK(cu.init(0));
	CHECK(cu.retain(&context, 0));
	CHECK(cu.set_current(context));
	CHECK(cu.load(&module, ptx));
	CHECK(cu.get(&r->function, module, "add_cuda"));
	CHECK(cu.alloc(&r->word, 4));
	CHECK(cu.write(r->word, &zero, 4));
}

static void open_hip(struct runtime *r, const char *path)
{
	void *driver = dlopen("libamdhip64.so.5", RTLD_NOW), *module;
	int (*init)(unsigned flags) = find(driver, "hipInit");
	int (*load)(void **module, const char *path) = find(driver, "hipModuleLoad");
	int (*get)(void **function, void *module, const char *name) = find(driver, "hipModuleGetFunction");
	int (*alloc)(void **at, size_t size) = find(driver, "hipMalloc");
	int (*write)(void *to, const void *from, size_t size) = find(driver, "hipMemcpyHtoD");
	const uint32_t zero = 0;
	void *word;

	hip.synchronize = find(driver, "hipDeviceSynchronize");
	hip.read = find(driver, "hipMemcpyDtoH");
	hip.launch = find(driver, "hipModuleLaunchKernel");
	r->api = HIP;
	CHECK(init(0));
	CHECK(load(&module, path));
	CHECK(get(&r->function, module, "add_hip"));
	CHECK(alloc(&word, sizeof(zero)));
	CHECK(write(word, &zero, sizeof(zero)));
	r->word = (uintptr_t)word;
}

#ifdef HAVE_LEVEL_ZERO
static void load_level_zero(struct runtime *r, ze_context_handle_t context, ze_device_handle_t device, const char *path)
{
	static uint8_t il[65536];
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV, .pInputModule = il };
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "add_level_zero" };
	FILE *file = fopen(path, "rb");
	ze_module_handle_t module;

	desc.inputSize = file ? fread(il, 1, sizeof(il), file) : 0;
	CHECK(ze.ModuleCreate(context, device, &desc, &module, NULL));
	CHECK(ze.KernelCreate(module, &kernel, (ze_kernel_handle_t *)&r->function));
	CHECK(ze.KernelSetGroupSize(r->function, 64, 1, 1));
	CHECK(ze.KernelSetArgumentValue(r->function, 0, sizeof(r->word), &r->word));
	fclose(file);
}

static void open_level_zero(struct runtime *r, const char *path)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW);
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS };
	ze_device_mem_alloc_desc_t memory = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	uint32_t one = 1, zero = 0;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	void *word;

#define FIND(name) ze.name = find(loader, "ze" #name);
	ZE_FUNCTIONS(FIND)
#undef FIND
	r->api = LEVEL_ZERO;
	if (ze.Init(0)) {
		fprintf(stderr, "no Level Zero driver with a device\n");
		exit(77);
	}
	CHECK(ze.DriverGet(&one, &driver));
	CHECK(ze.DeviceGet(driver, &one, &device));
	CHECK(ze.ContextCreate(driver, &desc, &context));
	CHECK(ze.CommandListCreateImmediate(context, device, &queue, &ze.list));
	CHECK(ze.MemAllocDevice(context, &memory, sizeof(zero), sizeof(zero), device, &word));
	CHECK(ze.CommandListAppendMemoryCopy(ze.list, word, &zero, sizeof(zero), NULL, 0, NULL));
	r->word = (uintptr_t)word;
	load_level_zero(r, context, device, path);
}

static void launch_level_zero(struct runtime *r)
{
	CHECK(ze.CommandListAppendLaunchKernel(ze.list, r->function, &(ze_group_count_t){ THREADS / 64, 1, 1 }, NULL, 0, NULL));
}

static uint32_t read_level_zero(const struct runtime *r)
{
	uint32_t sum = 0;

	CHECK(ze.CommandListAppendMemoryCopy(ze.list, &sum, (void *)(uintptr_t)r->word, sizeof(sum), NULL, 0, NULL));
	return sum;
}
#else
static void open_level_zero(struct runtime *r, const char *path)
{
	fprintf(stderr, "built without Level Zero's headers\n");
	exit(77);
}

static void launch_level_zero(struct runtime *r)
{
}

static uint32_t read_level_zero(const struct runtime *r)
{
	return 0;
}
#endif

static cl_device_id find_device(const char *part)
{
	cl_platform_id platforms[16];
	cl_uint n = 0, devices;

	if (clGetPlatformIDs(16, platforms, &n))
		n = 0;
	for (cl_uint i = 0; i < n && i < 16; i++) {
		cl_device_id all[16];
		char platform[256] = "", name[256] = "";

		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, all, &devices))
			continue;
		clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(platform), platform, NULL);
		for (cl_uint k = 0; k < devices && k < 16; k++) {
			clGetDeviceInfo(all[k], CL_DEVICE_NAME, sizeof(name), name, NULL);
			if (strstr(platform, part) || strstr(name, part))
				return all[k];
		}
	}
	fprintf(stderr, "no OpenCL device %s\n", part);
	exit(77);
}

static void open_opencl(struct runtime *r, const char *part)
{
	cl_device_id device = find_device(part);
	const char *text = source;
	cl_context context;
	cl_program program;
	uint32_t zero = 0;
	cl_int err;

	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	CHECK(err);
	r->queue = clCreateCommandQueue(context, device, 0, &err);
	CHECK(err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	CHECK(err);
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
	r->kernel = clCreateKernel(program, "add_opencl", &err);
	CHECK(err);
	r->to = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4, &zero, &err);
	CHECK(err);
	CHECK(clSetKernelArg(r->kernel, 0, sizeof(r->to), &r->to));
}

static void launch_cuda(struct runtime *r, void *stream)
{
	void *params[] = { &r->word };

	CHECK(cu.launch(r->function, THREADS / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

static void launch_hip(struct runtime *r)
{
	void *params[] = { &r->word };

	CHECK(hip.launch(r->function, THREADS / 64, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
}

static void launch_graph(struct runtime *r)
{
	void *graph;

	if (!r->ready) {
		CHECK(cu.stream(&r->stream, 0));
		CHECK(cu.capture(r->stream, 0));
		launch_cuda(r, r->stream);
		CHECK(cu.captured(r->stream, &graph));
		CHECK(cu.instantiate(&r->ready, graph, 0));
	}
	CHECK(cu.graph(r->ready, r->stream));
	r->launches++;
}

static void launch_opencl(struct runtime *r)
{
	size_t global = THREADS, local = 64;

	CHECK(clEnqueueNDRangeKernel(r->queue, r->kernel, 1, NULL, &global, &local, 0, NULL, NULL));
}

static void launch(struct runtime *r)
{
	switch (r->api) {
	case OPENCL: launch_opencl(r); break;
	case CUDA: launch_cuda(r, NULL); break;
	case HIP: launch_hip(r); break;
	case LEVEL_ZERO: launch_level_zero(r); break;
	}
	r->launches++;
	if (r->graph)
		launch_graph(r);
}

static void wait_for(const struct runtime *r)
{
	switch (r->api) {
	case OPENCL: CHECK(clFinish(r->queue)); break;
	case CUDA: CHECK(cu.synchronize()); break;
	case HIP: CHECK(hip.synchronize()); break;
	case LEVEL_ZERO: break; /* nothing to do: the command list is synchronous, so each launch has waited */
	}
}

static void rounds(struct runtime *runtimes, int n, int times)
{
	for (int round = 0; round < times; round++)
		for (int i = 0; i < n; i++)
			launch(&runtimes[i]);
	for (int i = 0; i < n; i++)
		wait_for(&runtimes[i]);
}

static void obey(struct runtime *runtimes, int n)
{
	char line[64];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		rounds(runtimes, n, atoi(line));
		printf("done\n");
		fflush(stdout);
	}
}

static void print_results(const struct runtime *r)
{
	uint32_t sum = 0;

	wait_for(r);
	switch (r->api) {
	case OPENCL: CHECK(clEnqueueReadBuffer(r->queue, r->to, CL_TRUE, 0, 4, &sum, 0, NULL, NULL)); break;
	case CUDA: CHECK(cu.read(&sum, r->word, 4)); break;
	case HIP: CHECK(hip.read(&sum, (void *)(uintptr_t)r->word, 4)); break;
	case LEVEL_ZERO: sum = read_level_zero(r); break;
	}
	printf("%s %u\n", names[r->api], sum);
	printf("kernel add_%s launches %u items %u\n", names[r->api], r->launches, r->launches * THREADS);
}

/* Execute the program again, under the launcher of the simulated AMD GPU. */
static void enter_simulator(char **argv)
{
	const char *simulator = getenv("GPUBPF_AMD_SIM");
	char *words[16] = { (char *)simulator, "gfx90a" };

	if (getenv("GPUBPF_TEST_SIMULATED"))
		return;
	if (!simulator || !*simulator) {
		fprintf(stderr, "no simulated AMD GPU: GPUBPF_AMD_SIM names no launcher\n");
		exit(77);
	}
	for (int i = 0; i < 13 && argv[i]; i++)
		words[i + 2] = argv[i];
	setenv("GPUBPF_TEST_SIMULATED", "1", 1);
	execv(simulator, words);
	perror(simulator);
	exit(1);
}

/* Continue in a child process. The parent exits with the child's status. */
static void become_child(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		return;
	waitpid(child, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
	static struct runtime runtimes[RUNTIMES];
	int n;

	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], "hip:", 4))
			enter_simulator(argv);
	if (argc > 3 && !strcmp(argv[2], "fork")) {
		become_child();
		argv[2] = argv[1];
		argv++;
		argc--;
	}
	n = argc - 2 < RUNTIMES ? argc - 2 : RUNTIMES;
	if (argc < 3)
		return 2;
	for (int i = 0; i < n; i++) {
		runtimes[i].graph = !strcmp(argv[i + 2], "graph");
		if (runtimes[i].graph || !strcmp(argv[i + 2], "cuda"))
			open_cuda(&runtimes[i]);
		else if (!strncmp(argv[i + 2], "hip:", 4))
			open_hip(&runtimes[i], argv[i + 2] + 4);
		else if (!strncmp(argv[i + 2], "level_zero:", 11))
			open_level_zero(&runtimes[i], argv[i + 2] + 11);
		else
			open_opencl(&runtimes[i], argv[i + 2]);
	}
	if (!strcmp(argv[1], "-"))
		obey(runtimes, n);
	else
		rounds(runtimes, n, atoi(argv[1]));
	for (int i = 0; i < n; i++)
		print_results(&runtimes[i]);
	return 0;
}
