/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct fake_cl fake_cl;

static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

/* The first CPU that takes IL. No layer comes between: what runs there are this driver's own launches. */
static void init(void)
{
	cl_platform_id platforms[16];
	cl_uint n = 0;
	char il[256];

	unsetenv("OPENCL_LAYERS");
	fake_cl.idle = getenv("GPUBPF_FAKE_ZE_LAUNCHES");
	if (clGetPlatformIDs(16, platforms, &n))
		return;
	for (cl_uint i = 0; i < n && i < 16 && !fake_cl.queue; i++) {
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &fake_cl.device, NULL) ||
		    clGetDeviceInfo(fake_cl.device, CL_DEVICE_IL_VERSION, sizeof(il), il, NULL) || !strstr(il, "SPIR-V"))
			continue;
		fake_cl.context = clCreateContext(NULL, 1, &fake_cl.device, NULL, NULL, NULL);
		fake_cl.queue = fake_cl.context ? clCreateCommandQueue(fake_cl.context, fake_cl.device, 0, NULL) : NULL;
	}
}

bool fake_cl_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
	return fake_cl.queue;
}

/* Values have no sizes here; the runtime knows that of each. */
static cl_int specialize(cl_program program, const ze_module_constants_t *c)
{
	static const size_t sizes[] = { 4, 8, 2, 1 };
	cl_int err = CL_SUCCESS;

	for (uint32_t i = 0; c && i < c->numConstants && !err; i++) {
		err = CL_INVALID_VALUE;
		for (size_t k = 0; err && k < 4; k++)
			err = clSetProgramSpecializationConstant(program, c->pConstantIds[i], sizes[k],
								 c->pConstantValues[i]);
	}
	return err;
}

cl_int fake_compile(struct part *part, const ze_module_constants_t *constants)
{
	cl_int err;

	part->compiled = clCreateProgramWithIL(fake_cl.context, part->il, part->size, &err);
	if (!err)
		err = specialize(part->compiled, constants);
	if (!err)
		err = clCompileProgram(part->compiled, 1, &fake_cl.device, "", 0, NULL, NULL, NULL, NULL);
	return err;
}

/* What the compiler's library for GPUs has, the CPU's has by another name. */
static cl_program compile_clock(void)
{
	static const char *source = "#pragma OPENCL EXTENSION cl_khr_kernel_clock : enable\n"
				    "ulong " FAKE_CLOCK "(void) { return clock_read_device(); }\n";
	cl_program program = clCreateProgramWithSource(fake_cl.context, 1, &source, NULL, NULL);

	clCompileProgram(program, 1, &fake_cl.device, "-cl-std=CL3.0", 0, NULL, NULL, NULL, NULL);
	return program;
}

cl_int fake_link(struct part *const *parts, uint32_t n, cl_program *program)
{
	cl_program *all = calloc(n + 1, sizeof(*all)), clock = NULL;
	cl_int err;

	for (uint32_t i = 0; i < n; i++) {
		all[i] = parts[i]->compiled;
		if (!clock && fake_il_reads_clock(parts[i]))
			clock = compile_clock();
	}
	all[n] = clock;
	*program = clLinkProgram(fake_cl.context, 1, &fake_cl.device, "", n + !!clock, all, NULL, NULL, &err);
	if (clock)
		clReleaseProgram(clock);
	free(all);
	if (err && *program) {
		char log[2000] = "";

		clGetProgramBuildInfo(*program, fake_cl.device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		fprintf(stderr, "fake driver: linking: %s\n", log);
		clReleaseProgram(*program);
		*program = NULL;
	}
	return err;
}

size_t fake_value_size(const struct _ze_kernel_handle_t *k, uint32_t index)
{
	static const unsigned char zeros[sizeof(k->args->bytes)];

	for (size_t size = 1; size <= sizeof(zeros); size++)
		if (!clSetKernelArg(k->kernel, index, size, zeros))
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
		return clSetKernelArg(k->kernel, i, a->size, a->null && !fake_value_size(k, i) ? NULL : a->bytes);
	if (!a->null)
		memcpy(&pointer, a->bytes, sizeof(pointer));
	return clSetKernelArgSVMPointer(k->kernel, i, pointer);
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
	pthread_mutex_lock(&running);
	for (uint32_t i = 0; i < k->nargs && !err; i++)
		err = set_arg(k, i);
	if (!err && global[0] && global[1] && global[2])
		err = clEnqueueNDRangeKernel(fake_cl.queue, k->kernel, 3, offset, global, local, 0, NULL, NULL);
	if (!err)
		err = clFinish(fake_cl.queue);
	pthread_mutex_unlock(&running);
	return err;
}
