/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the source from which a binary was built. An application that caches kernel binaries later loads a binary
 * without source. When an application gets a binary through this layer, the layer stores the source in the user's cache
 * folder. The key is the binary's hash.
 */
#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"
#include "hooks/process/agent_thread.h"
#include "hooks/client/cache.h"

#define FOLDER "sources"
#define MAGIC 0x3265637275734c43ull /* "CLsurce2" */

static void write_source(const char *key, const struct gpubpf_hook_image *image)
{
	const char *cwd = image->cwd ? image->cwd : "";
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u64(&w, MAGIC);
	gpubpf_put_u32(&w, image->kind);
	gpubpf_put_bytes(&w, image->options, strlen(image->options) + 1);
	gpubpf_put_bytes(&w, image->data, image->size);
	gpubpf_put_bytes(&w, cwd, strlen(cwd) + 1);
	gpubpf_put_u64(&w, image->built_ns);
	if (!w.failed)
		gpubpf_cache_put(FOLDER, key, w.data, w.size);
	gpubpf_writer_finish(&w);
}

struct ocl_code *ocl_binary_parse(const void *bytes, size_t size)
{
	const char *options, *data, *cwd;
	struct gpubpf_reader r;
	size_t noptions, ndata, ncwd;
	struct ocl_code *code;
	uint64_t built_ns;
	uint32_t kind;

	gpubpf_reader_init(&r, bytes, size);
	if (gpubpf_get_u64(&r) != MAGIC)
		return NULL;
	kind = gpubpf_get_u32(&r);
	options = gpubpf_get_bytes(&r, &noptions);
	data = gpubpf_get_bytes(&r, &ndata);
	cwd = gpubpf_get_bytes(&r, &ncwd);
	built_ns = gpubpf_get_u64(&r);
	if (!gpubpf_reader_done(&r) || !noptions || options[noptions - 1] || !ncwd || ncwd > OCL_CWD_MAX || cwd[ncwd - 1] ||
	    (kind != GPUBPF_IMAGE_OPENCL_C && kind != GPUBPF_IMAGE_SPIRV && kind != GPUBPF_IMAGE_OPENCL_PARTS))
		return NULL;
	code = ocl_code_new(kind, data, ndata, options);
	if (code) {
		code->cwd = strdup(cwd);
		code->built_ns = built_ns;
	}
	return code;
}

struct ocl_code *ocl_binary_code(const char *key)
{
	struct ocl_code *code;
	size_t size;
	void *data;

	if (!*key || gpubpf_cache_get(FOLDER, key, GPUBPF_IMAGE_MAX, &data, &size) < 0)
		return NULL;
	code = ocl_binary_parse(data, size);
	free(data);
	return code;
}

static void store_source(struct ocl_program *p, cl_device_id device, const void *binary, size_t size)
{
	struct ocl_code *code = ocl_program_code(p, device);
	struct gpubpf_hook_image image = { 0 };
	char key[65];

	if (code && code->kind != GPUBPF_IMAGE_OPENCL_BINARY && !ocl_code_image(code, &image) && !image.reason) {
		gpubpf_cache_key(binary, size, key);
		write_source(key, &image);
	}
	ocl_code_image_put(&image);
	ocl_code_put(code);
}

struct binary_query {
	struct ocl_program *program;
	unsigned char *const *binaries;
	size_t room;
};

static void store_sources(void *arg)
{
	const struct binary_query *out = arg;
	struct ocl_program *p = out->program;
	size_t sizes[64], got;

	if (ocl->clGetProgramInfo(p->object.handle, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, &got))
		return;
	for (cl_uint i = 0; i < p->ndevices && i < got / sizeof(*sizes) && i < out->room; i++)
		if (out->binaries[i] && sizes[i])
			store_source(p, p->devices[i], out->binaries[i], sizes[i]);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void *value,
						     size_t *size_ret)
{
	cl_int err = ocl->clGetProgramInfo(program, name, size, value, size_ret);
	struct ocl_program *p;

	if (!err && name == CL_PROGRAM_BINARIES && value && (p = gpubpf_records_find(&ocl_programs, program)))
		gpubpf_run_on_agent_thread(store_sources, &(struct binary_query){ p, value, size / sizeof(void *) });
	return err;
}
