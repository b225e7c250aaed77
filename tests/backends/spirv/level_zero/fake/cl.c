/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct fake_cl fake_cl;
const cl_icd_dispatch *cl;

/*
 * Opens the OpenCL runtime's library directly, without a loader, so that OpenCL's layers do not see this driver's
 * launches.
 */
static const cl_icd_dispatch *open_runtime(cl_platform_id *platform)
{
	const char *path = getenv("GPUBPF_TEST_INTEL");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	cl_api_clGetPlatformIDs get = lib ? (cl_api_clGetPlatformIDs)dlsym(lib, "clGetPlatformIDs") : NULL;

	return get && !get(1, platform, NULL) ? *(const cl_icd_dispatch **)*platform : NULL;
}

static void init(void)
{
	cl_platform_id platform;

	fake_cl.idle = getenv("GPUBPF_FAKE_ZE_LAUNCHES");
	cl = open_runtime(&platform);
	if (!cl || cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &fake_cl.device, NULL))
		return;
	fake_cl.context = cl->clCreateContext(NULL, 1, &fake_cl.device, NULL, NULL, NULL);
	fake_cl.queue = fake_cl.context ? cl->clCreateCommandQueue(fake_cl.context, fake_cl.device, 0, NULL) : NULL;
}

bool fake_cl_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
	return fake_cl.queue;
}

/* Sets specialization constants. Level Zero passes no sizes here, so each size that the runtime may accept is tried. */
static cl_int specialize(cl_program program, const ze_module_constants_t *c)
{
	static const size_t sizes[] = { 4, 8, 2, 1 };
	cl_int err = CL_SUCCESS;

	for (uint32_t i = 0; c && i < c->numConstants && !err; i++) {
		err = CL_INVALID_VALUE;
		for (size_t k = 0; err && k < 4; k++)
			err = cl->clSetProgramSpecializationConstant(program, c->pConstantIds[i], sizes[k],
								 c->pConstantValues[i]);
	}
	return err;
}

cl_int fake_compile(struct part *part, const ze_module_constants_t *constants)
{
	cl_int err;

	part->compiled = cl->clCreateProgramWithIL(fake_cl.context, part->il, part->size, &err);
	if (!err)
		err = specialize(part->compiled, constants);
	if (!err)
		err = cl->clCompileProgram(part->compiled, 1, &fake_cl.device, "", 0, NULL, NULL, NULL, NULL);
	return err;
}

/* Compiles a definition of FAKE_CLOCK, which the GPU compiler's library defines, for the CPU compiler. */
static cl_program compile_clock(void)
{
	static const char *source = "#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable\n"
				    "ulong " FAKE_CLOCK "(void) { return clock_read_device(); }\n";
	cl_program program = cl->clCreateProgramWithSource(fake_cl.context, 1, &source, NULL, NULL);

	cl->clCompileProgram(program, 1, &fake_cl.device, "-cl-std=CL3.0", 0, NULL, NULL, NULL, NULL);
	return program;
}

/* Collects the link options that occur in the flags of any part. */
static void link_options(struct part *const *parts, uint32_t n, char options[256])
{
	static const char *const words[] = { "-cl-denorms-are-zero", "-cl-no-signed-zeros", "-cl-finite-math-only",
					     "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math" };
	int at = 0;

	options[0] = 0;
	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		bool has = false;

		for (uint32_t i = 0; i < n; i++)
			has |= strstr(parts[i]->flags, words[w]) != NULL;
		if (has)
			at += snprintf(options + at, 256 - at, "%s ", words[w]);
	}
}

cl_int fake_link(struct part *const *parts, uint32_t n, cl_program *program)
{
	cl_program *all = calloc(n + 1, sizeof(*all)), clock = NULL;
	char options[256];
	cl_int err;

	for (uint32_t i = 0; i < n; i++) {
		all[i] = parts[i]->compiled;
		if (!clock && fake_il_reads_clock(parts[i]))
			clock = compile_clock();
	}
	all[n] = clock;
	link_options(parts, n, options);
	*program = cl->clLinkProgram(fake_cl.context, 1, &fake_cl.device, options, n + !!clock, all, NULL, NULL, &err);
	if (clock)
		cl->clReleaseProgram(clock);
	free(all);
	if (err && *program) {
		char log[2000] = "";

		cl->clGetProgramBuildInfo(*program, fake_cl.device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		fprintf(stderr, "fake driver: linking: %s\n", log);
		cl->clReleaseProgram(*program);
		*program = NULL;
	}
	return err;
}

size_t fake_value_size(const struct _ze_kernel_handle_t *k, uint32_t index)
{
	static const unsigned char zeros[sizeof(k->args->bytes)];

	for (size_t size = 1; size <= sizeof(zeros); size++)
		if (!cl->clSetKernelArg(k->kernel, index, size, zeros))
			return size;
	return 0;
}

static cl_int set_arg(const struct _ze_kernel_handle_t *k, uint32_t i)
{
	const struct arg *a = &k->args[i];
	const void *pointer = NULL;

	if (!a->set)
		return CL_INVALID_KERNEL_ARGS;
	if (!k->pointer[i])
		return cl->clSetKernelArg(k->kernel, i, a->size, a->null && !fake_value_size(k, i) ? NULL : a->bytes);
	if (!a->null)
		memcpy(&pointer, a->bytes, sizeof(pointer));
	return cl->clSetKernelArgSVMPointer(k->kernel, i, pointer);
}

cl_int fake_run(const struct _ze_kernel_handle_t *k, const ze_group_count_t *count)
{
	const uint32_t counts[] = { count->groupCountX, count->groupCountY, count->groupCountZ };
	size_t offset[3], global[3], local[3];
	cl_int err = CL_SUCCESS;

	for (int i = 0; i < 3; i++) {
		offset[i] = k->offset[i];
		local[i] = k->group[i];
		global[i] = local[i] * counts[i];
	}
	fake_memory_enter(k);
	for (uint32_t i = 0; i < k->nargs && !err; i++)
		err = set_arg(k, i);
	if (!err && global[0] && global[1] && global[2])
		err = cl->clEnqueueNDRangeKernel(fake_cl.queue, k->kernel, 3, offset, global, local, 0, NULL, NULL);
	if (!err)
		err = cl->clFinish(fake_cl.queue);
	fake_memory_leave();
	return err;
}
