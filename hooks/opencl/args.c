/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel arguments. The layer sets an argument on the original, and records it if the runtime accepts it. Before a
 * launch of a twin, the layer sets on the twin the arguments that changed. OpenCL forbids setting arguments of one
 * kernel in two threads at the same time. Launches may be concurrent, so ocl_kernel.lock serializes launches of twins.
 */
#include "opencl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"
#include "hooks/process/prepared.h"

static const void *bytes_of(const struct ocl_arg *arg)
{
	return arg->size > sizeof(arg->bytes) ? arg->data : arg->bytes;
}

static void clear(struct ocl_arg *arg)
{
	if (arg->how == OCL_ARG_VALUE && arg->size > sizeof(arg->bytes))
		free(arg->data);
	arg->how = OCL_ARG_UNSET;
	arg->version++;
}

static int set_value(struct ocl_arg *arg, size_t size, const void *value)
{
	void *data = NULL;

	if (value && size > sizeof(arg->bytes) && !(data = malloc(size)))
		return -ENOMEM;
	clear(arg);
	arg->size = size;
	arg->how = value ? OCL_ARG_VALUE : OCL_ARG_NULL;
	if (data)
		arg->data = memcpy(data, value, size);
	else if (value)
		memcpy(arg->bytes, value, size);
	return 0;
}

/*
 * A kernel from before the attach may have a list of SVM that it accesses indirectly. The list is unknown, and matters
 * only to kernels with SVM or pointers as arguments.
 */
static bool is_known(const struct ocl_kernel *k, const struct ocl_arg *arg)
{
	return arg->how != OCL_ARG_UNSET && (arg->how < OCL_ARG_SVM || !k->is_learned || k->infos);
}

bool ocl_args_are_known(const struct ocl_kernel *k)
{
	for (cl_uint i = 0; i < k->nargs; i++)
		if (!k->args || !is_known(k, &k->args[i]))
			return false;
	return true;
}

static struct ocl_arg *arg_of(struct ocl_kernel *k, cl_uint index)
{
	return k && k->recorded && k->args && index < k->nargs ? &k->args[index] : NULL;
}

int ocl_argument(const struct gpubpf_hook_launch *l, uint32_t index, uint64_t *value)
{
	struct ocl_arg *arg = l->call ? arg_of((struct ocl_kernel *)l->call, index) : NULL;
	bool is_value = arg && arg->how == OCL_ARG_VALUE;

	if (!arg || arg->how == OCL_ARG_UNSET || (is_value && arg->size > sizeof(*value)))
		return -EOPNOTSUPP;
	*value = is_value || arg->how == OCL_ARG_NULL ? 0 : (uintptr_t)arg->pointer;
	if (is_value)
		memcpy(value, arg->bytes, arg->size);
	return 0;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	cl_int err = ocl->clSetKernelArg(kernel, index, size, value);
	struct ocl_kernel *k = err ? NULL : ocl_kernel_find(kernel);
	struct ocl_arg *arg = arg_of(k, index);

	if (arg && set_value(arg, size, value) < 0)
		k->recorded = false; /* out of memory: the kernel runs unprobed */
	return err;
}

static void set_pointer_arg(struct ocl_arg *arg, const void *pointer, int how)
{
	clear(arg);
	arg->how = how;
	arg->size = sizeof(pointer);
	arg->pointer = pointer;
}

static void set_pointer(cl_kernel kernel, cl_uint index, const void *pointer, int how)
{
	struct ocl_arg *arg = arg_of(ocl_kernel_find(kernel), index);

	if (arg)
		set_pointer_arg(arg, pointer, how);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *pointer)
{
	cl_int err = ocl->clSetKernelArgSVMPointer(kernel, index, pointer);

	if (!err)
		set_pointer(kernel, index, pointer, OCL_ARG_SVM);
	return err;
}

static struct ocl_platform *platform_of(cl_kernel kernel)
{
	struct ocl_kernel *k = ocl_kernel_find(kernel);
	cl_device_id devices[64];
	cl_context context;
	size_t size;

	if (k && k->program->context)
		return k->program->context->platform;
	if (ocl->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) ||
	    ocl->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size))
		return NULL;
	return ocl_platform_of(devices[0]);
}

static cl_int set_extension(cl_kernel kernel, cl_uint index, const void *pointer, enum ocl_pointer_call call)
{
	struct ocl_platform *platform = platform_of(kernel);
	cl_int err;

	if (!platform || !platform->set_pointer[call])
		return CL_INVALID_KERNEL;
	err = platform->set_pointer[call](kernel, index, pointer);
	if (!err)
		set_pointer(kernel, index, pointer, OCL_ARG_POINTER + call);
	return err;
}

static cl_int CL_API_CALL set_mem_pointer_intel(cl_kernel kernel, cl_uint index, const void *pointer)
{
	return set_extension(kernel, index, pointer, OCL_MEM_POINTER_INTEL);
}

static cl_int CL_API_CALL set_device_pointer_ext(cl_kernel kernel, cl_uint index, const void *pointer)
{
	return set_extension(kernel, index, pointer, OCL_DEVICE_POINTER_EXT);
}

static cl_int CL_API_CALL set_svm_pointer_arm(cl_kernel kernel, cl_uint index, const void *pointer)
{
	return set_extension(kernel, index, pointer, OCL_SVM_POINTER_ARM);
}

const ocl_set_pointer_fn ocl_pointer_calls[OCL_POINTER_CALLS] = {
	[OCL_MEM_POINTER_INTEL] = set_mem_pointer_intel,
	[OCL_DEVICE_POINTER_EXT] = set_device_pointer_ext,
	[OCL_SVM_POINTER_ARM] = set_svm_pointer_arm,
};

static int set_info(struct ocl_kernel *k, cl_kernel_exec_info name, size_t size, const void *value)
{
	struct ocl_exec_info *info = malloc(sizeof(*info) + size), **at = &k->infos;

	if (!info)
		return -ENOMEM;
	info->name = name;
	info->size = size;
	memcpy(info->value, value, size);
	while (*at && (*at)->name != name)
		at = &(*at)->next;
	info->next = *at ? (*at)->next : NULL;
	free(*at);
	*at = info;
	k->info_version++;
	return 0;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
							const void *value)
{
	cl_int err = ocl->clSetKernelExecInfo(kernel, name, size, value);
	struct ocl_kernel *k = err ? NULL : ocl_kernel_find(kernel);

	if (k && k->recorded && set_info(k, name, size, value) < 0)
		k->recorded = false;
	return err;
}

static int copy_arg(struct ocl_arg *to, const struct ocl_arg *from)
{
	if (from->how == OCL_ARG_VALUE)
		return set_value(to, from->size, bytes_of(from));
	*to = *from;
	to->version = from->how != OCL_ARG_UNSET;
	return 0;
}

/* Copy an argument that the idle library has recorded. */
static int take_arg(struct ocl_arg *arg, const struct gpubpf_idle_arg *from)
{
	switch (from->how) {
	case GPUBPF_IDLE_VALUE:
		return set_value(arg, from->size, from->size > GPUBPF_IDLE_INLINE ? from->data : from->bytes);
	case GPUBPF_IDLE_NULL:
		return set_value(arg, from->size, NULL);
	case GPUBPF_IDLE_SVM:
		set_pointer_arg(arg, from->pointer, OCL_ARG_SVM);
	}
	return 0;
}

void ocl_args_take_recorded(struct ocl_kernel *k, cl_kernel handle)
{
	const struct gpubpf_idle *idle = gpubpf_idle_library();
	const struct gpubpf_idle_kernel *from = idle ? idle->find_kernel(handle) : NULL;
	int err = 0;

	if (!from || from->is_incomplete || from->nargs != k->nargs || !k->args)
		return;
	for (cl_uint i = 0; i < k->nargs && !err; i++)
		err = take_arg(&k->args[i], &from->args[i]);
	for (const struct gpubpf_idle_info *info = from->infos; info && !err; info = info->next)
		err = set_info(k, info->name, info->size, info->value);
	if (err < 0)
		k->recorded = false;
	k->is_learned = false; /* the list of SVM that the kernel accesses is known too */
}

int ocl_args_copy(struct ocl_kernel *to, struct ocl_kernel *from)
{
	int err = 0;

	for (cl_uint i = 0; to->args && from->args && !err && i < to->nargs && i < from->nargs; i++)
		err = copy_arg(&to->args[i], &from->args[i]);
	for (struct ocl_exec_info *info = from->infos; info && !err; info = info->next)
		err = set_info(to, info->name, info->size, info->value);
	return err;
}

void ocl_args_free(struct ocl_kernel *k)
{
	struct ocl_exec_info *info, *next;

	for (cl_uint i = 0; k->args && i < k->nargs; i++)
		clear(&k->args[i]);
	free(k->args);
	for (info = k->infos; info; info = next) {
		next = info->next;
		free(info);
	}
}

static cl_int apply_arg(struct ocl_twin *twin, cl_uint i, const struct ocl_arg *arg)
{
	switch (arg->how) {
	case OCL_ARG_UNSET:
		return CL_INVALID_KERNEL_ARGS;
	case OCL_ARG_VALUE:
		return ocl->clSetKernelArg(twin->handle, i, arg->size, bytes_of(arg));
	case OCL_ARG_NULL:
		return ocl->clSetKernelArg(twin->handle, i, arg->size, NULL);
	case OCL_ARG_SVM:
		return ocl->clSetKernelArgSVMPointer(twin->handle, i, arg->pointer);
	default:
		return platform_of(twin->kernel->object.handle)
			->set_pointer[arg->how - OCL_ARG_POINTER](twin->handle, i, arg->pointer);
	}
}

/*
 * Set the list of SVM allocations that the twin accesses indirectly. The list consists of the application's list for
 * the original (`theirs`, maybe empty) and of the agent's allocations. Both are set in one call, since a second call
 * would replace the list.
 */
static cl_int apply_svm(struct ocl_twin *twin, const void *theirs, size_t size)
{
	size_t own = twin->nsvm * sizeof(*twin->svm);
	char *all = malloc(size + own + 1);
	cl_int err;

	if (!all)
		return CL_OUT_OF_HOST_MEMORY;
	if (size)
		memcpy(all, theirs, size);
	if (own)
		memcpy(all + size, twin->svm, own);
	err = ocl->clSetKernelExecInfo(twin->handle, CL_KERNEL_EXEC_INFO_SVM_PTRS, size + own, all);
	free(all);
	return err;
}

static cl_int apply_infos(struct ocl_twin *twin)
{
	bool svm_applied = !twin->nsvm;
	cl_int err = CL_SUCCESS;

	for (struct ocl_exec_info *info = twin->kernel->infos; info && !err; info = info->next) {
		bool svm = info->name == CL_KERNEL_EXEC_INFO_SVM_PTRS;

		err = svm ? apply_svm(twin, info->value, info->size) :
			    ocl->clSetKernelExecInfo(twin->handle, info->name, info->size, info->value);
		svm_applied |= svm;
	}
	if (!err && !svm_applied)
		err = apply_svm(twin, NULL, 0);
	if (!err)
		twin->info_applied = twin->kernel->info_version;
	return err;
}

cl_int ocl_args_apply(struct ocl_twin *twin)
{
	struct ocl_kernel *k = twin->kernel;

	gpubpf_assert_held(&twin->kernel->lock);
	for (cl_uint i = 0; i < k->nargs; i++) {
		cl_int err;

		if (k->args[i].version == twin->applied[i] && twin->applied[i])
			continue;
		err = apply_arg(twin, i, &k->args[i]);
		if (err)
			return err;
		twin->applied[i] = k->args[i].version;
	}
	return twin->info_applied == k->info_version ? CL_SUCCESS : apply_infos(twin);
}
