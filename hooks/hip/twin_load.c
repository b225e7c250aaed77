/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the launch path's operations for HIP: get the images of kernels; bind, load and unload twins. */
#include "hip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/wire/bind.h"

struct module {
	hipModule_t module;
	int device;
	struct hip_function *original;
	uint32_t words; /* mask of enum hip_bind_args of the twin's kernel */
	size_t words_at;
	size_t size;
	char image[]; /* stays allocated while the module is loaded, since the runtime may reference it */
};

/* A twin's record, found by its hipFunction_t. */
struct record {
	struct gpubpf_handle base;
	void *original;
	atomic_bool is_in_graph; /* a graph contains the twin */
};

static struct gpubpf_handles twins = GPUBPF_HANDLES_INIT;

static int device_of(const struct gpubpf_hook_device *device)
{
	return gpubpf_hook_device_open_params(device)->index;
}

/*
 * Fill *image with the code object that the runtime selected, if that code object is in the application's image.
 * Otherwise fill *image with the whole image.
 */
static int image(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image)
{
	struct hip_function *f = adapter_program;
	const struct hip_loaded *l;
	struct hip_visit visit;

	hip_enter(&hip_direct, device_of(device), &visit);
	l = hip_loaded_find(f, device_of(device));
	hip_leave(&hip_direct, device_of(device), &visit);
	image->kind = l && l->size ? GPUBPF_IMAGE_AMDGPU : f->module->kind;
	image->size = l && l->size ? l->size : 0;
	image->data = hip_module_image(f->module, l && l->size ? l->offset : 0, &image->size, &image->reason);
	return 0;
}

static void image_put(struct gpubpf_hook_image *image)
{
	free((void *)image->data);
}

static int refuse(struct gpubpf_reason *why, const char *what, hipError_t error)
{
	snprintf(why->text, sizeof(why->text), "%s: %s", what, hip_error(&hip_direct, error));
	return -EINVAL;
}

/* Write values into the twin that only this process knows, such as device addresses. */
static int write_binds(struct module *m, struct gpubpf_hook_device *device, const struct hip_binds *binds,
		       struct gpubpf_reason *why)
{
	const struct hip_loaded *l = hip_loaded_find(m->original, m->device);

	if (hip_binds_need_image(binds) && (!l || !l->code_object)) {
		snprintf(why->text, sizeof(why->text), "it uses variables: %s", l ? l->why : "out of memory");
		return -EOPNOTSUPP;
	}
	hip_binds_write(binds, m->image, gpubpf_hook_device_arena(device), l ? l->base : 0);
	for (uint32_t i = 0; i < binds->count; i++) {
		struct hip_bind b = hip_binds_get(binds, i);

		if (b.what == HIP_BIND_ARGS) {
			m->words = b.part;
			m->words_at = b.offset;
		}
	}
	return 0;
}

static void twin_unload(void *module)
{
	struct module *m = module;
	struct hip_visit visit;

	if (m->module && !hip_enter(&hip_direct, m->device, &visit)) {
		hip_direct.module_unload(m->module);
		hip_leave(&hip_direct, m->device, &visit);
	}
	hip_loaded_unignore(m->image);
	free(m);
}

static int load(struct module *m, struct gpubpf_hook_device *device, const struct hip_binds *binds,
		struct gpubpf_reason *why)
{
	struct hip_visit visit;
	hipError_t error = hip_enter(&hip_direct, m->device, &visit);
	int err = error ? refuse(why, "the device", error) : write_binds(m, device, binds, why);

	if (!err && (error = hip_direct.module_load(&m->module, m->image)))
		err = refuse(why, "the runtime refused the twin", error);
	hip_leave(&hip_direct, m->device, &visit);
	return err;
}

static int twin_load(struct gpubpf_hook_device *device, void *adapter_program,
		     const struct gpubpf_hook_twin_image *image, void **module, struct gpubpf_reason *why)
{
	struct hip_binds binds;
	struct module *m;
	int err;

	if (image->kind != GPUBPF_IMAGE_AMDGPU || hip_binds_open(image->data, image->size, &binds) < 0) {
		snprintf(why->text, sizeof(why->text), "the session sent a twin that is not an AMD code object");
		return -EPROTO;
	}
	m = calloc(1, sizeof(*m) + binds.file_size);
	if (!m)
		return -ENOMEM;
	memcpy(m->image, image->data, binds.file_size);
	m->size = binds.file_size;
	m->device = device_of(device);
	m->original = adapter_program;
	hip_loaded_ignore(m->image, m->size);
	err = load(m, device, &binds, why);
	if (err < 0) {
		twin_unload(m);
		return err;
	}
	*module = m;
	return 0;
}

static void record_twin(struct hip_twin *t)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->base.handle = t->f;
	r->original = t->original->base.handle;
	gpubpf_handles_add(&twins, &r->base);
}

void *hip_twin_original(void *f)
{
	struct record *r = (struct record *)gpubpf_handles_find(&twins, f);

	return r ? r->original : f;
}

void hip_twin_note_in_graph(void *f)
{
	struct record *r = (struct record *)gpubpf_handles_find(&twins, f);

	if (r)
		atomic_store_explicit(&r->is_in_graph, true, memory_order_relaxed);
}

static bool twin_kept(const void *twin)
{
	const struct hip_twin *t = twin;
	struct record *r = (struct record *)gpubpf_handles_find(&twins, t->f);

	return r && atomic_load_explicit(&r->is_in_graph, memory_order_relaxed);
}

static int registers_of(const void *f, bool registered)
{
	struct hip_function_attributes all;
	int n = 0;

	if (!registered)
		return hip_direct.function_attribute(&n, HIP_FUNC_ATTRIBUTE_NUM_REGS, (hipFunction_t)f) ? -1 : n;
	return !hip_next.attributes || hip_next.attributes(&all, f) ? -1 : all.regs;
}

static void read_registers(struct hip_twin *t)
{
	t->regs = registers_of(t->f, false);
	t->original_regs = registers_of(t->original->base.handle, t->original->module->registered);
}

static void twin_registers(void *twin, uint32_t *before, uint32_t *after)
{
	struct hip_twin *t = twin;

	*before = t->original_regs > 0 ? t->original_regs : 0;
	*after = t->regs > 0 ? t->regs : 0;
}

static int twin_kernel(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		       struct gpubpf_reason *why)
{
	struct module *m = module;
	struct hip_twin *t = calloc(1, sizeof(*t));
	struct hip_properties properties = { 0 };
	struct hip_visit visit;
	hipError_t error;

	if (!t)
		return -ENOMEM;
	t->original = m->original;
	t->params = what->params;
	t->words = m->words;
	t->words_at = m->words_at;
	error = hip_enter(&hip_direct, m->device, &visit);
	if (!error)
		error = hip_direct.module_function(&t->f, m->module, what->name);
	if (!error)
		error = hip_direct.properties(&properties, m->device);
	if (!error)
		read_registers(t);
	hip_leave(&hip_direct, m->device, &visit);
	if (error) {
		free(t);
		return refuse(why, "cannot find the twin's kernel", error);
	}
	t->fit.units = properties.units;
	t->lanes = properties.warp_size;
	t->unit_threads = properties.max_threads_per_unit;
	record_twin(t);
	*twin = t;
	return 0;
}

static void twin_kernel_put(void *twin)
{
	struct hip_twin *t = twin;
	struct gpubpf_handle *record = gpubpf_handles_find(&twins, t->f);

	if (record)
		atomic_store(&record->handle, NULL);
	free(t);
}

const struct gpubpf_hook_ops hip_hook_ops = {
	.backend = "hip",
	.device = &gpubpf_device_hip,
	.image = image,
	.image_put = image_put,
	.twin_load = twin_load,
	.twin_kernel = twin_kernel,
	.twin_kept = twin_kept,
	.twin_kernel_put = twin_kernel_put,
	.twin_registers = twin_registers,
	.twin_unload = twin_unload,
};
