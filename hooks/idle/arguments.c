/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the arguments of OpenCL kernels, since a runtime does not return them. OpenCL forbids that two threads set
 * arguments of one kernel at the same time, so a record needs no lock. The records are in a hash table whose lists only
 * grow. A record of a released kernel has the handle NULL and is used again.
 *
 * Without a record, a kernel's arguments are unknown until the application sets them again. So a record is removed
 * before its handle can name another kernel.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define BUCKET_BITS 10
#define MIN_ROOM 8
#define CL_KERNEL_NUM_ARGS 0x1191
#define CL_KERNEL_REFERENCE_COUNT 0x1192
#define RESERVED ((void *)1) /* handle of a record that a thread is about to fill */

static struct gpubpf_idle_kernel **table; /* 1 << BUCKET_BITS lists; NULL before the first argument */
/* The application has looked up an extension function that sets arguments, and this library does not see its calls. */
static bool is_blind;

static struct gpubpf_idle_kernel **bucket_of(struct gpubpf_idle_kernel **from, const void *handle)
{
	return &from[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> (64 - BUCKET_BITS)];
}

static struct gpubpf_idle_kernel *find(const void *handle)
{
	struct gpubpf_idle_kernel **lists = __atomic_load_n(&table, __ATOMIC_ACQUIRE), *k;

	k = lists ? __atomic_load_n(bucket_of(lists, handle), __ATOMIC_ACQUIRE) : NULL;
	while (k && __atomic_load_n(&k->handle, __ATOMIC_ACQUIRE) != handle)
		k = k->next;
	return k;
}

static uint32_t query(void *kernel, unsigned what, uint32_t otherwise)
{
	static int (*get)(void *kernel, unsigned name, size_t size, void *value, size_t *size_ret);
	uint32_t value;

	if (!get)
		get = (__typeof__(get))idle_find(IDLE_OPENCL, "clGetKernelInfo", NULL);
	return get && !get(kernel, what, sizeof(value), &value, NULL) ? value : otherwise;
}

static struct gpubpf_idle_kernel **get_lists(void)
{
	struct gpubpf_idle_kernel **made, **have = NULL;

	if (__atomic_load_n(&table, __ATOMIC_ACQUIRE))
		return table;
	made = calloc(1 << BUCKET_BITS, sizeof(*made));
	if (made && !__atomic_compare_exchange_n(&table, &have, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		free(made);
	return table;
}

/* Take a record of a released kernel with room for n arguments. */
static struct gpubpf_idle_kernel *reuse(struct gpubpf_idle_kernel *k, uint32_t n)
{
	for (; k; k = k->next) {
		void *none = NULL;

		if (k->room >= n &&
		    __atomic_compare_exchange_n(&k->handle, &none, RESERVED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return k;
	}
	return NULL;
}

static struct gpubpf_idle_kernel *create(void *handle)
{
	struct gpubpf_idle_kernel **lists = get_lists(), **list = lists ? bucket_of(lists, handle) : NULL, *k;
	uint32_t n = list ? query(handle, CL_KERNEL_NUM_ARGS, 0) : 0, room = MIN_ROOM;

	if (!n || n > 1 << 16)
		return NULL;
	k = reuse(__atomic_load_n(list, __ATOMIC_ACQUIRE), n);
	while (room < n)
		room *= 2;
	if (!k && (k = calloc(1, sizeof(*k) + room * sizeof(k->args[0])))) {
		k->handle = RESERVED;
		k->room = room;
		k->next = __atomic_load_n(list, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(list, &k->next, k, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
	}
	if (!k)
		return NULL;
	k->nargs = n;
	k->is_incomplete = false;
	__atomic_store_n(&k->handle, handle, __ATOMIC_RELEASE);
	return k;
}

static void clear(struct gpubpf_idle_arg *arg)
{
	if (arg->how == GPUBPF_IDLE_VALUE && arg->size > GPUBPF_IDLE_INLINE)
		free(arg->data);
	arg->how = GPUBPF_IDLE_UNSET;
}

/* The handle does not name this kernel any more. */
static void forget(void *handle)
{
	struct gpubpf_idle_kernel *k = handle ? find(handle) : NULL;

	if (!k)
		return;
	for (uint32_t i = 0; i < k->nargs; i++)
		clear(&k->args[i]);
	while (k->infos) {
		struct gpubpf_idle_info *info = k->infos;

		k->infos = info->next;
		free(info);
	}
	__atomic_store_n(&k->handle, NULL, __ATOMIC_RELEASE);
}

const struct gpubpf_idle_kernel *idle_find_kernel(void *handle)
{
	return is_blind ? NULL : find(handle);
}

/* ---- the recorders ---- */

/* Record a value of another size than that of a pointer. */
static void set_value(struct gpubpf_idle_kernel *k, struct gpubpf_idle_arg *arg, size_t size, const void *value)
{
	void *data = size > GPUBPF_IDLE_INLINE ? malloc(size) : arg->bytes;

	clear(arg);
	if (!data || size > UINT32_MAX) {
		k->is_incomplete = true;
		return;
	}
	memcpy(data, value, size);
	if (size > GPUBPF_IDLE_INLINE)
		arg->data = data;
	arg->size = size;
	arg->how = GPUBPF_IDLE_VALUE;
}

/* Returns the record of an argument. Returns NULL if there is none, and none can be created. */
static inline struct gpubpf_idle_arg *arg_of(void *kernel, unsigned index, struct gpubpf_idle_kernel **record)
{
	struct gpubpf_idle_kernel *k = find(kernel);

	*record = k ? k : create(kernel);
	return *record && index < (*record)->nargs ? &(*record)->args[index] : NULL;
}

int idle_clSetKernelArg(void *kernel, unsigned index, size_t size, const void *value)
{
	int error = idle_next.clSetKernelArg(kernel, index, size, value);
	struct gpubpf_idle_kernel *k;
	struct gpubpf_idle_arg *arg;

	if (error || !(arg = arg_of(kernel, index, &k)))
		return error;
	if (value && size == sizeof(void *) && arg->size == size && arg->how == GPUBPF_IDLE_VALUE) {
		memcpy(arg->bytes, value, sizeof(void *));
	} else if (value) {
		set_value(k, arg, size, value);
	} else {
		clear(arg);
		arg->size = size;
		arg->how = size > UINT32_MAX ? GPUBPF_IDLE_UNSET : GPUBPF_IDLE_NULL;
	}
	return 0;
}

int idle_clSetKernelArgSVMPointer(void *kernel, unsigned index, const void *pointer)
{
	int error = idle_next.clSetKernelArgSVMPointer(kernel, index, pointer);
	struct gpubpf_idle_kernel *k;
	struct gpubpf_idle_arg *arg = error ? NULL : arg_of(kernel, index, &k);

	if (!arg)
		return error;
	clear(arg);
	arg->pointer = pointer;
	arg->size = sizeof(pointer);
	arg->how = GPUBPF_IDLE_SVM;
	return 0;
}

static void set_info(struct gpubpf_idle_kernel *k, uint32_t name, size_t size, const void *value)
{
	struct gpubpf_idle_info *info = malloc(sizeof(*info) + size), **at = &k->infos, *old;

	if (!info) {
		k->is_incomplete = true;
		return;
	}
	while (*at && (*at)->name != name)
		at = &(*at)->next;
	old = *at;
	info->name = name;
	info->size = size;
	memcpy(info->value, value, size);
	info->next = old ? old->next : NULL;
	*at = info;
	free(old);
}

int idle_clSetKernelExecInfo(void *kernel, unsigned name, size_t size, const void *value)
{
	int error = idle_next.clSetKernelExecInfo(kernel, name, size, value);
	struct gpubpf_idle_kernel *k = error ? NULL : find(kernel);

	if (!error && !k)
		k = create(kernel);
	if (k)
		set_info(k, name, size, value);
	return error;
}

void *idle_clCreateKernel(void *program, const char *name, int *error)
{
	void *kernel = idle_next.clCreateKernel(program, name, error);

	forget(kernel);
	return kernel;
}

int idle_clCreateKernelsInProgram(void *program, unsigned n, void **kernels, unsigned *made)
{
	unsigned own = 0;
	int error = idle_next.clCreateKernelsInProgram(program, n, kernels, &own);

	for (unsigned i = 0; !error && kernels && i < own && i < n; i++)
		forget(kernels[i]);
	if (!error && made)
		*made = own;
	return error;
}

/* Copy the arguments that the clone has from the kernel. */
static void clone_record(void *clone, const struct gpubpf_idle_kernel *from)
{
	struct gpubpf_idle_kernel *k = from ? create(clone) : NULL;

	for (uint32_t i = 0; k && i < from->nargs && i < k->nargs; i++) {
		const struct gpubpf_idle_arg *arg = &from->args[i];

		if (arg->how == GPUBPF_IDLE_VALUE)
			set_value(k, &k->args[i], arg->size, arg->size > GPUBPF_IDLE_INLINE ? arg->data : arg->bytes);
		else
			k->args[i] = *arg;
	}
	for (const struct gpubpf_idle_info *info = k ? from->infos : NULL; info; info = info->next)
		set_info(k, info->name, info->size, info->value);
	if (k)
		k->is_incomplete |= from->is_incomplete;
}

void *idle_clCloneKernel(void *kernel, int *error)
{
	void *clone = idle_next.clCloneKernel(kernel, error);

	forget(clone);
	if (clone)
		clone_record(clone, find(kernel));
	return clone;
}

int idle_clReleaseKernel(void *kernel)
{
	if (kernel && find(kernel) && query(kernel, CL_KERNEL_REFERENCE_COUNT, 1) <= 1)
		forget(kernel);
	return idle_next.clReleaseKernel(kernel);
}

/* clSetKernelArgMemPointerINTEL, clSetKernelArgDevicePointerEXT, clSetKernelArgSVMPointerARM, ... */
static void note_lookup(const char *name)
{
	if (name && !strncmp(name, "clSetKernel", 11))
		is_blind = true;
}

void *idle_clGetExtensionFunctionAddress(const char *name)
{
	note_lookup(name);
	return idle_next.clGetExtensionFunctionAddress(name);
}

void *idle_clGetExtensionFunctionAddressForPlatform(void *platform, const char *name)
{
	note_lookup(name);
	return idle_next.clGetExtensionFunctionAddressForPlatform(platform, name);
}
