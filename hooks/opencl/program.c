/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"
#include "hooks/client/cache.h"

#define MODULE_CALL(type, name, call, code) \
	GPUBPF_HOST_CALL(type, call, code, .event = GPUBPF_HOST_MODULE, .function = name)

GPUBPF_RECORDS(ocl_programs)

static void read_devices(struct ocl_program *p)
{
	cl_uint n = 0;

	if (ocl->clGetProgramInfo(p->object.handle, CL_PROGRAM_NUM_DEVICES, sizeof(n), &n, NULL) || !n)
		return;
	p->devices = calloc(n, sizeof(*p->devices));
	if (p->devices &&
	    !ocl->clGetProgramInfo(p->object.handle, CL_PROGRAM_DEVICES, n * sizeof(*p->devices), p->devices, NULL))
		p->ndevices = n;
}

static void destroy(struct ocl_program *p);

static void forget(struct ocl_program *p)
{
	ocl_kernels_forget(p);
	destroy(p);
}

static struct ocl_program *create(cl_program handle, cl_context context, struct ocl_code *code, uint32_t references)
{
	struct ocl_program *p = calloc(1, sizeof(*p));

	if (!p) {
		ocl_code_put(code);
		return NULL;
	}
	p->object.handle = handle;
	p->code = code;
	p->context_handle = context;
	p->context = ocl_context_hold(context);
	pthread_mutex_init(&p->lock, NULL);
	read_devices(p);
	if (p->context && p->ndevices == 1)
		p->only = ocl_context_device(p->context, p->devices[0]);
	gpubpf_records_add_shared(&ocl_programs, handle, &p->object, references);
	return p;
}

struct ocl_program *ocl_program_new(cl_program handle, cl_context context, struct ocl_code *code)
{
	struct ocl_program *old = gpubpf_hook_attached() ? gpubpf_records_take(&ocl_programs, handle) : NULL;

	if (old)
		forget(old);
	return create(handle, context, code, 1);
}

static struct ocl_program *learn(cl_program handle, struct ocl_code *code)
{
	cl_uint references = 1;
	cl_context context;

	if (ocl->clGetProgramInfo(handle, CL_PROGRAM_CONTEXT, sizeof(context), &context, NULL)) {
		ocl_code_put(code);
		return NULL;
	}
	ocl->clGetProgramInfo(handle, CL_PROGRAM_REFERENCE_COUNT, sizeof(references), &references, NULL);
	return create(handle, context, code, references);
}

struct ocl_program *ocl_program_find(cl_program handle)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct ocl_program *p = gpubpf_records_find(&ocl_programs, handle);
	struct ocl_code *code;

	if (p || !gpubpf_hook_attached())
		return p;
	pthread_mutex_lock(&lock);
	p = gpubpf_records_find(&ocl_programs, handle);
	code = p ? NULL : ocl_code_learn(handle);
	if (code)
		p = learn(handle, code);
	pthread_mutex_unlock(&lock);
	return p;
}

void ocl_builds_drop(struct ocl_build *b)
{
	while (b) {
		struct ocl_build *next = b->next;

		ocl_code_put(b->code);
		free(b->devices);
		free(b);
		b = next;
	}
}

static void destroy(struct ocl_program *p)
{
	gpubpf_hook_program_destroy(p->hook);
	ocl_builds_drop(p->builds);
	ocl_code_put(p->code);
	if (p->context)
		ocl_context_put(p->context_handle);
	free(p->devices);
	free(p->names);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void ocl_program_release(cl_program handle)
{
	struct ocl_program *p = gpubpf_records_release(&ocl_programs, handle);

	if (p)
		destroy(p);
}

static bool is_of_context(struct gpubpf_record *record, const void *context)
{
	return !context || ((struct ocl_program *)record)->context == context;
}

void ocl_programs_forget(const struct ocl_context *context)
{
	struct ocl_program *p;

	while ((p = gpubpf_records_take_if(&ocl_programs, is_of_context, context)))
		forget(p);
}

static bool same_devices(const struct ocl_build *b, cl_uint n, const cl_device_id *devices)
{
	return b->ndevices == n && (!n || !memcmp(b->devices, devices, n * sizeof(*devices)));
}

/*
 * Remove the recorded builds that a new build replaces. A build for all devices replaces all builds. A build for some
 * devices replaces a build for the same devices.
 */
static void replace_builds(struct ocl_program *p, cl_uint n, const cl_device_id *devices)
{
	struct ocl_build **at = &p->builds;

	gpubpf_assert_held(&p->lock);
	while (*at) {
		struct ocl_build *b = *at;

		if (n && !same_devices(b, n, devices)) {
			at = &b->next;
			continue;
		}
		*at = b->next;
		b->next = NULL;
		ocl_builds_drop(b);
	}
}

static struct ocl_build *new_build(cl_uint n, const cl_device_id *devices, struct ocl_code *code)
{
	struct ocl_build *b = calloc(1, sizeof(*b));

	if (b && n)
		b->devices = malloc(n * sizeof(*devices));
	if (!b || !code || (n && !b->devices)) {
		free(b);
		ocl_code_put(code);
		return NULL;
	}
	if (n)
		memcpy(b->devices, devices, n * sizeof(*devices));
	b->ndevices = n;
	b->code = code;
	return b;
}

void ocl_program_note_build(struct ocl_program *p, cl_uint n, const cl_device_id *devices, struct ocl_code *code)
{
	struct ocl_build *b = new_build(n, devices, code);
	struct gpubpf_hook_program *before;

	if (!b)
		return;
	pthread_mutex_lock(&p->lock);
	replace_builds(p, n, devices);
	b->next = p->builds;
	p->builds = b;
	before = p->hook; /* the twins of this launch-path program belong to the previous build */
	p->hook = NULL;
	pthread_mutex_unlock(&p->lock);
	gpubpf_hook_program_destroy(before);
}

struct ocl_build *ocl_program_builds(struct ocl_program *p)
{
	struct ocl_build *copy = NULL, **end = &copy;

	pthread_mutex_lock(&p->lock);
	for (const struct ocl_build *b = p->builds; b; b = b->next) {
		*end = new_build(b->ndevices, b->devices, ocl_code_ref(b->code));
		if (*end)
			end = &(*end)->next;
	}
	pthread_mutex_unlock(&p->lock);
	return copy;
}

void ocl_program_restore_builds(struct ocl_program *p, struct ocl_build *builds)
{
	struct gpubpf_hook_program *hook;
	struct ocl_build *refused;

	pthread_mutex_lock(&p->lock);
	refused = p->builds;
	p->builds = builds;
	hook = p->hook;
	p->hook = NULL;
	pthread_mutex_unlock(&p->lock);
	ocl_builds_drop(refused);
	gpubpf_hook_program_destroy(hook);
}

static bool has_device(const struct ocl_build *b, cl_device_id device)
{
	for (cl_uint i = 0; i < b->ndevices; i++)
		if (b->devices[i] == device)
			return true;
	return !b->ndevices;
}

struct ocl_code *ocl_program_code(struct ocl_program *p, cl_device_id device)
{
	struct ocl_code *code = NULL;

	pthread_mutex_lock(&p->lock);
	for (struct ocl_build *b = p->builds; b && !code; b = b->next)
		if (has_device(b, device))
			code = ocl_code_ref(b->code);
	if (!p->builds)
		code = ocl_code_ref(p->code);
	pthread_mutex_unlock(&p->lock);
	return code;
}

static char *kernel_names(cl_program program)
{
	size_t size;
	char *names;

	if (ocl->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) || !size)
		return NULL;
	names = calloc(1, size + 1);
	if (names && ocl->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names, NULL)) {
		free(names);
		return NULL;
	}
	return names;
}

struct gpubpf_hook_program *ocl_program_hook(struct ocl_program *p)
{
	pthread_mutex_lock(&p->lock);
	if (!p->hook && !gpubpf_hook_program_create(&ocl_hook_ops, p, &p->hook)) {
		free(p->names);
		p->names = kernel_names(p->object.handle);
	}
	pthread_mutex_unlock(&p->lock);
	return p->hook;
}

char *ocl_program_names(struct ocl_program *p)
{
	char *names;

	pthread_mutex_lock(&p->lock);
	names = p->names ? strdup(p->names) : NULL;
	pthread_mutex_unlock(&p->lock);
	return names;
}

struct gpubpf_hook_device *ocl_program_device(struct ocl_program *p, cl_command_queue queue)
{
	cl_device_id device;

	if (p->only)
		return p->only;
	if (!p->context || ocl->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL))
		return NULL;
	return ocl_context_device(p->context, device);
}

/*
 * Returns the code of a program that is created from source. All strings are concatenated (OpenCL 5.8.1: length 0 means
 * up to the NUL).
 */
static struct ocl_code *source_code(cl_uint count, const char **strings, const size_t *lengths)
{
	struct ocl_code *code;
	size_t size = 0, at = 0;
	char *text;

	for (cl_uint i = 0; i < count; i++)
		size += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
	text = malloc(size + 1);
	if (!text)
		return NULL;
	for (cl_uint i = 0; i < count; i++) {
		size_t n = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);

		memcpy(text + at, strings[i], n);
		at += n;
	}
	code = ocl_code_new(GPUBPF_IMAGE_OPENCL_C, text, size, "");
	free(text);
	return code;
}

CL_API_ENTRY cl_program CL_API_CALL ocl_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
								  const size_t *lengths, cl_int *error)
{
	cl_program p = MODULE_CALL(cl_program, "clCreateProgramWithSource",
				   ocl->clCreateProgramWithSource(context, count, strings, lengths, error),
				   error ? *error : CL_SUCCESS);

	if (p)
		ocl_program_new(p, context, source_code(count, strings, lengths));
	return p;
}

CL_API_ENTRY cl_program CL_API_CALL ocl_clCreateProgramWithIL(cl_context context, const void *il, size_t size, cl_int *error)
{
	cl_program p = MODULE_CALL(cl_program, "clCreateProgramWithIL",
				   ocl->clCreateProgramWithIL(context, il, size, error), error ? *error : CL_SUCCESS);

	if (p)
		ocl_program_new(p, context, ocl_code_new(GPUBPF_IMAGE_SPIRV, il, size, ""));
	return p;
}

/*
 * The layer's clCreateProgramWithILKHR for all platforms. It calls the function of the context's platform, because a
 * function that a platform returned is valid only for contexts of that platform.
 */
cl_program CL_API_CALL ocl_create_il_khr(cl_context context, const void *il, size_t size, cl_int *error)
{
	struct ocl_context *c = ocl_context_hold(context);
	struct ocl_platform *platform = c ? c->platform : NULL;
	cl_program p = NULL;

	if (platform && platform->create_il)
		p = platform->create_il(context, il, size, error);
	else if (error)
		*error = CL_INVALID_OPERATION;
	if (p)
		ocl_program_new(p, context, ocl_code_new(GPUBPF_IMAGE_SPIRV, il, size, ""));
	if (c)
		ocl_context_put(context);
	return p;
}

CL_API_ENTRY cl_program CL_API_CALL ocl_clCreateProgramWithBinary(cl_context context, cl_uint n,
								  const cl_device_id *devices, const size_t *sizes,
								  const unsigned char **binaries, cl_int *status,
								  cl_int *error)
{
	cl_program handle = MODULE_CALL(cl_program, "clCreateProgramWithBinary",
					ocl->clCreateProgramWithBinary(context, n, devices, sizes, binaries, status, error),
					error ? *error : CL_SUCCESS);
	struct ocl_program *p = handle ? ocl_program_new(handle, context, NULL) : NULL;

	for (cl_uint i = 0; p && i < n; i++) {
		struct ocl_code *code = ocl_code_new(GPUBPF_IMAGE_OPENCL_BINARY, NULL, 0, "");

		if (code && binaries[i])
			gpubpf_cache_key(binaries[i], sizes[i], code->key);
		ocl_program_note_build(p, 1, &devices[i], code);
	}
	return handle;
}

CL_API_ENTRY cl_program CL_API_CALL ocl_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint n,
									  const cl_device_id *devices,
									  const char *names, cl_int *error)
{
	cl_program p = MODULE_CALL(cl_program, "clCreateProgramWithBuiltInKernels",
				   ocl->clCreateProgramWithBuiltInKernels(context, n, devices, names, error),
				   error ? *error : CL_SUCCESS);
	struct ocl_code *code;

	if (p) {
		code = ocl_code_new(GPUBPF_IMAGE_NONE, NULL, 0, "");
		if (code)
			code->reason = "a kernel built into the device";
		ocl_program_new(p, context, code);
	}
	return p;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clRetainProgram(cl_program program)
{
	cl_int err = ocl->clRetainProgram(program);

	if (!err)
		gpubpf_records_retain(&ocl_programs, program);
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseProgram(cl_program program)
{
	ocl_program_release(program);
	return MODULE_CALL(cl_int, "clReleaseProgram", ocl->clReleaseProgram(program), result);
}
