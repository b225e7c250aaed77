/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

#include "core/wire/name.h"

GPUBPF_RECORDS(ocl_kernels)

/* Returns the kernel's name, malloc'd. Returns NULL if the name is unknown or longer than the session's limit. */
static char *read_name(cl_kernel handle)
{
	size_t size = 0;
	char *name;

	if (ocl->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) || !size ||
	    size > GPUBPF_WHOLE_NAME_SIZE || !(name = calloc(1, size + 1)))
		return NULL;
	if (!ocl->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, size, name, NULL))
		return name;
	free(name);
	return NULL;
}

static bool create_hook(struct ocl_kernel *k, cl_kernel handle, struct gpubpf_hook_program *program)
{
	char *name = read_name(handle);
	bool made = name && !gpubpf_hook_kernel_create(program, k, name, &k->hook);

	free(name);
	return made;
}

static void destroy_kernel(struct ocl_kernel *k)
{
	gpubpf_hook_kernel_destroy(k->hook);
	ocl_args_free(k);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static void destroy(struct ocl_kernel *k)
{
	cl_program program = k->program->object.handle;

	destroy_kernel(k);
	ocl_program_release(program);
}

static bool is_of_program(struct gpubpf_record *record, const void *program)
{
	return ((struct ocl_kernel *)record)->program == program;
}

void ocl_kernels_forget(const struct ocl_program *program)
{
	struct ocl_kernel *k;

	while ((k = gpubpf_records_take_if(&ocl_kernels, is_of_program, program)))
		destroy_kernel(k);
}

/*
 * Create the record of a new kernel. Returns NULL if out of memory, or if the kernel's program has no record. Then the
 * kernel runs unprobed.
 */
static struct ocl_kernel *create(cl_kernel handle, cl_program program, uint32_t references, bool is_older)
{
	struct ocl_program *p = gpubpf_records_find(&ocl_programs, program);
	struct gpubpf_hook_program *hook = p ? ocl_program_hook(p) : NULL;
	struct ocl_kernel *k = hook ? calloc(1, sizeof(*k)) : NULL;

	if (!k)
		return NULL;
	k->program = p;
	pthread_mutex_init(&k->lock, NULL);
	gpubpf_records_retain(&ocl_programs, program);
	if (!create_hook(k, handle, hook)) {
		destroy(k);
		return NULL;
	}
	/* Record arguments from now on, since they cannot be queried later, when a BPF program is attached. */
	k->recorded = true;
	if (!ocl->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof(k->nargs), &k->nargs, NULL))
		k->args = calloc(k->nargs + 1, sizeof(*k->args));
	k->is_learned = is_older;
	if (is_older)
		ocl_args_take_recorded(k, handle); /* before another thread can find the record */
	gpubpf_records_add_shared(&ocl_kernels, handle, &k->object, references);
	if (p->only) /* if the program has several devices, only a launch determines the device */
		gpubpf_hook_kernel_prefetch(k->hook, p->only);
	return k;
}

static struct ocl_kernel *create_new(cl_kernel handle, cl_program program)
{
	struct ocl_kernel *old = gpubpf_hook_attached() ? gpubpf_records_take(&ocl_kernels, handle) : NULL;

	if (old)
		destroy(old);
	if (gpubpf_hook_attached())
		ocl_program_find(program);
	return create(handle, program, 1, false);
}

/* Create the record of a kernel that is older than the attach. Its arguments are unknown until they are set again. */
static struct ocl_kernel *learn(cl_kernel handle)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct ocl_kernel *k = NULL;
	cl_uint references = 1;
	cl_program program;

	pthread_mutex_lock(&lock);
	k = gpubpf_records_find(&ocl_kernels, handle);
	if (!k && !ocl->clGetKernelInfo(handle, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL) &&
	    ocl_program_find(program)) {
		ocl->clGetKernelInfo(handle, CL_KERNEL_REFERENCE_COUNT, sizeof(references), &references, NULL);
		k = create(handle, program, references, true);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

struct ocl_kernel *ocl_kernel_find(cl_kernel handle)
{
	struct ocl_kernel *k = gpubpf_records_find(&ocl_kernels, handle);

	return k || !gpubpf_hook_attached() ? k : learn(handle);
}

CL_API_ENTRY cl_kernel CL_API_CALL ocl_clCreateKernel(cl_program program, const char *name, cl_int *error)
{
	cl_kernel k = ocl->clCreateKernel(program, name, error);

	if (k)
		create_new(k, program);
	return k;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clCreateKernelsInProgram(cl_program program, cl_uint n, cl_kernel *kernels,
							     cl_uint *n_ret)
{
	cl_uint made = 0;
	cl_int err = ocl->clCreateKernelsInProgram(program, n, kernels, &made);

	if (!err && n_ret)
		*n_ret = made;
	for (cl_uint i = 0; !err && kernels && i < made && i < n; i++)
		create_new(kernels[i], program);
	return err;
}

CL_API_ENTRY cl_kernel CL_API_CALL ocl_clCloneKernel(cl_kernel kernel, cl_int *error)
{
	cl_kernel clone = ocl->clCloneKernel(kernel, error);
	struct ocl_kernel *from = clone ? ocl_kernel_find(kernel) : NULL;
	struct ocl_kernel *to = from ? create_new(clone, from->program->object.handle) : NULL;

	if (to && ocl_args_copy(to, from) < 0)
		to->recorded = false;
	return clone;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clRetainKernel(cl_kernel kernel)
{
	cl_int err = ocl->clRetainKernel(kernel);

	if (!err)
		gpubpf_records_retain(&ocl_kernels, kernel);
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseKernel(cl_kernel kernel)
{
	struct ocl_kernel *k = gpubpf_records_release(&ocl_kernels, kernel);

	if (k)
		destroy(k);
	return ocl->clReleaseKernel(kernel);
}
