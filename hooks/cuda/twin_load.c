/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the launch path's operations for CUDA: get the images of functions, load and unload twins. */
#include "twin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the device's compute capability: 90 for "sm_90". */
static uint32_t capability(const struct gpubpf_hook_device *of)
{
	int major = 0, minor = 0, mode;
	CUdevice device;

	if (cuda_enter(&cuda_direct, gpubpf_hook_device_open_params(of)->context, &mode))
		return 0;
	if (!cuda_direct.ctx_device(&device)) {
		cuda_direct.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
		cuda_direct.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	}
	cuda_leave(&cuda_direct, &mode);
	return 10 * major + minor;
}

static int image(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image)
{
	struct cuda_function *f = adapter_program;
	bool code = image->unloadable >> GPUBPF_IMAGE_PTX & 1;

	image->kind = GPUBPF_IMAGE_FATBIN; /* the image may also be ELF or PTX; the session detects that */
	image->from = f->module->from;
	/*
	 * The session receives only the parts of a fat binary that this device can use. So the identity consists of the
	 * image's number, its form (PTX or code), and the compute capability.
	 */
	image->identity = f->module->number << 17 | (uint64_t)code << 16 | capability(device);
	image->is_cached = gpubpf_image_is_cached(image->identity);
	if (!image->is_cached)
		image->data = cuda_module_image(f->module, gpubpf_hook_kernel_name(f->kernel), code, capability(device),
						&image->size, &image->reason);
	return 0;
}

static void image_put(struct gpubpf_hook_image *image)
{
	free((void *)image->data);
}

static void twin_unload(void *module)
{
	struct cuda_twin_module *m = module;
	int mode;

	if (m->module && gpubpf_hook_device_use(m->device)) {
		if (!cuda_enter(&cuda_direct, m->context, &mode)) {
			cuda_direct.module_unload(m->module);
			cuda_leave(&cuda_direct, &mode);
		}
		gpubpf_hook_device_leave(m->device);
	}
	free(m->text);
	free(m);
}

/* Refuse the twin if the image of an older module, which was found by a kernel's name, is another one. */
static int check_older(const struct cuda_twin_module *m, struct gpubpf_reason *why)
{
	const struct cuda_function *f = m->original;

	if (!f->module->is_older || cuda_module_matches(f->module, cuda_function_in_context(f, m->context),
							gpubpf_hook_kernel_name(f->kernel), capability(m->device)))
		return 0;
	snprintf(why->text, sizeof(why->text),
		 "its module was loaded before the attach, and its code differs from the kernel of that name in %.80s; start "
		 "the program with gpubpf run",
		 f->module->from);
	return -EOPNOTSUPP;
}

static int twin_load(struct gpubpf_hook_device *device, void *adapter_program,
		     const struct gpubpf_hook_twin_image *image, void **module, struct gpubpf_reason *why)
{
	struct cuda_twin_module *m = calloc(1, sizeof(*m));
	CUresult error;
	int err, mode;

	if (!m)
		return -ENOMEM;
	m->original = adapter_program;
	m->device = device;
	m->context = gpubpf_hook_device_open_params(device)->context;
	error = cuda_enter(&cuda_direct, m->context, &mode);
	if (error) {
		free(m);
		return cuda_twin_refuse(why, "the context", "", error);
	}
	m->load_ns = gpubpf_now_ns();
	err = check_older(m, why);
	if (!err)
		err = cuda_twin_load_module(m, image, why);
	m->load_ns = gpubpf_now_ns() - m->load_ns;
	cuda_leave(&cuda_direct, &mode);
	if (err < 0) {
		twin_unload(m);
		return err;
	}
	*module = m;
	return 0;
}

static void twin_registers(void *twin, uint32_t *before, uint32_t *after)
{
	const struct cuda_twin_handle *t = twin;

	*before = t->registers[0];
	*after = t->registers[1];
}

static enum gpubpf_compiled_by twin_compiled_by(const void *twin)
{
	const struct cuda_twin_handle *t = twin;

	return t->compiled_by;
}

static bool twin_kept(const void *twin)
{
	const struct cuda_twin_handle *t = twin;

	return atomic_load_explicit(&t->is_in_graph, memory_order_relaxed);
}

const struct gpubpf_hook_ops cuda_hook_ops = {
	.backend = "cuda",
	.device = &gpubpf_device_cuda,
	.image = image,
	.image_put = image_put,
	.twin_load = twin_load,
	.twin_kernel = cuda_twin_create,
	.twin_registers = twin_registers,
	.twin_compiled_by = twin_compiled_by,
	.twin_kept = twin_kept,
	.argument = cuda_argument,
	.twin_kernel_put = cuda_twin_put,
	.twin_unload = twin_unload,
};
