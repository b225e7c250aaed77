/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the launch path's operations for OpenCL: get the images of programs, load and unload twins. */
#include "opencl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
	cl_program program;
	struct ocl_context *context;
	struct gpubpf_hook_device *device;
	int held;
};

static int image(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image)
{
	struct ocl_program *p = adapter_program;
	struct ocl_code *code = ocl_program_code(p, gpubpf_hook_device_open_params(device)->handle);
	int err;

	if (!code) {
		image->reason = "the source of the program is unknown";
		return 0;
	}
	err = ocl_code_image(code, image);
	ocl_code_put(code);
	return err;
}

static struct gpubpf_name_list *kernels(void *adapter_program)
{
	char *text = ocl_program_names(adapter_program);
	struct gpubpf_name_list *names = text ? gpubpf_names_split(text, ';') : NULL; /* OpenCL's separator */

	free(text);
	return names;
}

static int refuse(struct gpubpf_reason *why, const char *what, cl_int err)
{
	snprintf(why->text, sizeof(why->text), "%s: OpenCL error %d", what, err);
	return -EINVAL;
}

static int build(struct module *m, cl_device_id device, const char *options, struct gpubpf_reason *why)
{
	cl_int err = ocl->clBuildProgram(m->program, 1, &device, options, NULL, NULL);

	return err ? refuse(why, "the device refused the twin's binary", err) : 0;
}

static void unload(void *module)
{
	struct module *m = module;

	ocl->clReleaseProgram(m->program);
	atomic_fetch_sub(&m->context->held, m->held);
	free(m);
}

static int load(struct gpubpf_hook_device *device, void *adapter_program, const struct gpubpf_hook_twin_image *image,
		void **module, struct gpubpf_reason *why)
{
	const struct gpubpf_device_open *how = gpubpf_hook_device_open_params(device);
	/* The context's record stays valid, because the device keeps the context alive. */
	struct ocl_context *context = gpubpf_records_find(&ocl_contexts, how->context);
	cl_device_id handle = how->handle;
	const unsigned char *binary = image->data;
	struct module *m;
	cl_uint before;
	cl_int err;

	if (image->kind != GPUBPF_IMAGE_OPENCL_BINARY) {
		snprintf(why->text, sizeof(why->text), "the session sent a twin that is not an OpenCL binary");
		return -EINVAL;
	}
	m = context ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return -ENOMEM;
	m->context = context;
	m->device = device;
	before = ocl_context_references(how->context);
	m->program = ocl->clCreateProgramWithBinary(how->context, 1, &handle, &image->size, &binary, NULL, &err);
	if (!m->program) {
		free(m);
		return refuse(why, "the device refused the twin's binary", err);
	}
	m->held = ocl_context_count_held(context, before);
	if (build(m, handle, image->options, why) < 0) {
		unload(m);
		return -EINVAL;
	}
	*module = m;
	return 0;
}

static void kernel_put(void *twin)
{
	struct ocl_twin *t = twin;

	if (t->handle)
		ocl->clReleaseKernel(t->handle);
	free(t->svm);
	free(t->applied);
	free(t);
}

static cl_uint extra_args(uint32_t flags)
{
	return !!(flags & GPUBPF_TWIN_ARG_ARENA) + !!(flags & GPUBPF_TWIN_ARG_LAUNCH) + !!(flags & GPUBPF_TWIN_ARG_PID);
}

/*
 * Refuse the twin unless the runtime reports the number of the original's arguments plus the number of extra arguments.
 */
static int check_args(struct ocl_twin *t, uint32_t params, uint32_t flags, struct gpubpf_reason *why)
{
	cl_uint has = 0, want = t->kernel->nargs + extra_args(flags);

	ocl->clGetKernelInfo(t->handle, CL_KERNEL_NUM_ARGS, sizeof(has), &has, NULL);
	if (params == t->kernel->nargs && has == want)
		return 0;
	snprintf(why->text, sizeof(why->text), "its twin has %u arguments instead of %u, of which %u are the kernel's",
		 has, want, params);
	return -EINVAL;
}

/* Find the SVM allocations of maps outside the arena. The twin accesses them without receiving them as arguments. */
static int find_svm(struct ocl_twin *t, struct gpubpf_hook_device *device)
{
	uint32_t n = gpubpf_hook_device_memory(device, GPUBPF_PLACE_SVM, NULL, 0);

	t->svm = n ? calloc(n, sizeof(*t->svm)) : NULL;
	if (n && !t->svm)
		return -ENOMEM;
	t->nsvm = gpubpf_hook_device_memory(device, GPUBPF_PLACE_SVM, t->svm, n);
	/* if there is SVM, no version is equal to this, so the first launch sets the SVM list */
	t->info_applied = t->nsvm ? UINT32_MAX : 0;
	return 0;
}

static int kernel(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		  struct gpubpf_reason *why)
{
	struct module *m = module;
	struct ocl_kernel *k = adapter_kernel;
	struct ocl_twin *t = calloc(1, sizeof(*t));
	cl_int err;

	if (!t || !k->args || !(t->applied = calloc(k->nargs + 1, sizeof(*t->applied)))) {
		free(t);
		return -ENOMEM;
	}
	t->kernel = k;
	t->handle = ocl->clCreateKernel(m->program, what->name, &err);
	if (!t->handle) {
		kernel_put(t);
		return refuse(why, "the twin's binary lacks the kernel", err);
	}
	if (check_args(t, what->params, what->flags, why) < 0 || find_svm(t, m->device) < 0) {
		kernel_put(t);
		return -EINVAL;
	}
	*twin = t;
	return 0;
}

const struct gpubpf_hook_ops ocl_hook_ops = {
	.backend = "opencl",
	.device = &ocl_device_ops,
	.kernels = kernels,
	.times_launches = ocl_times_launches,
	.image = image,
	.image_put = ocl_code_image_put,
	.twin_load = load,
	.twin_kernel = kernel,
	.argument = ocl_argument,
	.twin_kernel_put = kernel_put,
	.twin_unload = unload,
};
