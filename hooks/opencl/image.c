/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of OpenCL programs: source, SPIR-V or binary, with the options of the build. If a program is older than the
 * attach, the agent queries its source or SPIR-V and its options from the runtime. The runtime does not report the
 * headers and inputs of clCompileProgram() and clLinkProgram(), or the values of specialization constants. Kernels of
 * programs that need these run unprobed.
 */
#include "opencl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/spirv/wire/parts.h"
#include "core/wire/checks.h"

struct ocl_code *ocl_code_new(enum gpubpf_image_kind kind, const void *data, size_t size, const char *options)
{
	struct ocl_code *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->kind = kind;
	c->size = size;
	c->data = malloc(size + 1);
	c->options = strdup(options ? options : "");
	if (!c->data || !c->options) {
		ocl_code_put(c);
		return NULL;
	}
	if (size)
		memcpy(c->data, data, size);
	return c;
}

void ocl_code_note_build(struct ocl_code *code)
{
	char cwd[OCL_CWD_MAX];
	struct timespec now;

	if (code->kind == GPUBPF_IMAGE_SPIRV)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	code->built_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (getcwd(cwd, sizeof(cwd)))
		code->cwd = strdup(cwd);
}

struct ocl_code *ocl_code_ref(struct ocl_code *code)
{
	if (code)
		atomic_fetch_add(&code->refs, 1);
	return code;
}

void ocl_code_put(struct ocl_code *code)
{
	if (!code || !gpubpf_ref_was_last(atomic_fetch_sub(&code->refs, 1)))
		return;
	for (uint32_t i = 0; i < code->nheaders; i++) {
		free((void *)code->headers[i].name);
		free((void *)code->headers[i].data);
	}
	for (uint32_t i = 0; i < code->nparts; i++)
		ocl_code_put(code->parts[i]);
	free(code->headers);
	free(code->parts);
	free(code->options);
	free(code->cwd);
	free(code->data);
	free(code);
}

/*
 * Write the parts of a linked program to out[], in order. Parts that are themselves linked programs are expanded in
 * place. Adds the number of parts to *n. If `out` is NULL, only counts them. Returns 0, or -EOPNOTSUPP with *reason.
 */
static int flatten(const struct ocl_code *code, struct gpubpf_cl_part *out, uint32_t *n, const char **reason)
{
	if (code->reason) {
		*reason = code->reason;
		return -EOPNOTSUPP;
	}
	if (code->kind == GPUBPF_IMAGE_OPENCL_BINARY) {
		*reason = "linked with an object that the application loaded as a binary";
		return -EOPNOTSUPP;
	}
	for (uint32_t i = 0; i < code->nparts; i++) {
		int err = flatten(code->parts[i], out, n, reason);

		if (err < 0)
			return err;
	}
	if (code->parts)
		return 0;
	if (out)
		out[*n] = (struct gpubpf_cl_part){
			.kind = code->kind,
			.data = code->data,
			.size = code->size,
			.options = code->options,
			.nheaders = code->nheaders,
			.headers = (const struct gpubpf_header *)code->headers,
		};
	++*n;
	return 0;
}

_Static_assert(sizeof(struct gpubpf_hook_header) == sizeof(struct gpubpf_header), "struct gpubpf_hook_header and "
										  "struct gpubpf_header have the same "
										  "members");

/*
 * Set the image's folder, and its build time to the earliest build time of its parts. If the parts were compiled in
 * different folders, *several receives true; then relative include paths do not work.
 */
static void note_build(const struct ocl_code *code, struct gpubpf_hook_image *image, bool *several)
{
	for (uint32_t i = 0; i < code->nparts; i++)
		note_build(code->parts[i], image, several);
	if (!code->built_ns || code->parts)
		return;
	if (!image->built_ns || code->built_ns < image->built_ns)
		image->built_ns = code->built_ns;
	if (image->cwd && code->cwd && strcmp(image->cwd, code->cwd))
		*several = true;
	image->cwd = code->cwd ? code->cwd : image->cwd;
}

static int parts_image(const struct ocl_code *code, struct gpubpf_hook_image *image)
{
	struct gpubpf_cl_parts parts = { .link_options = code->parts ? code->options : "" };
	struct gpubpf_blob blob;
	uint32_t n = 0;
	int err = flatten(code, NULL, &n, &image->reason);

	if (err < 0)
		return image->reason ? 0 : err;
	parts.part = calloc(n + 1, sizeof(*parts.part));
	if (!parts.part)
		return -ENOMEM;
	flatten(code, parts.part, &parts.nparts, &image->reason);
	err = gpubpf_cl_parts_write(&parts, &blob);
	free(parts.part);
	if (err < 0)
		return err;
	image->kind = GPUBPF_IMAGE_OPENCL_PARTS;
	image->data = blob.data;
	image->size = blob.size;
	image->options = strdup("");
	return image->options ? 0 : -ENOMEM;
}

static int single_image(const struct ocl_code *code, struct gpubpf_hook_image *image)
{
	void *data = malloc(code->size + 1);

	image->kind = code->kind;
	image->options = strdup(code->options);
	image->data = data;
	image->size = code->size;
	if (!data || !image->options)
		return -ENOMEM;
	memcpy(data, code->data, code->size);
	return 0;
}

int ocl_code_image(const struct ocl_code *code, struct gpubpf_hook_image *image)
{
	struct ocl_code *source;
	bool several = false;
	int err;

	image->reason = code->reason;
	if (code->reason)
		return 0;
	if (code->kind == GPUBPF_IMAGE_OPENCL_BINARY) {
		source = ocl_binary_code(code->key);
		if (!source) {
			image->reason = ocl_binary_reason();
			return 0;
		}
		err = ocl_code_image(source, image);
		ocl_code_put(source);
		return err;
	}
	err = code->nparts || code->nheaders ? parts_image(code, image) : single_image(code, image);
	note_build(code, image, &several);
	image->cwd = image->cwd && !several ? strdup(image->cwd) : NULL;
	return err;
}

void ocl_code_image_put(struct gpubpf_hook_image *image)
{
	free((void *)image->data);
	free((void *)image->options);
	free((void *)image->cwd);
}

/*
 * Query a property of variable size. Returns its bytes and a NUL, which the caller frees, or NULL if the program does
 * not have the property.
 */
static char *query_program(cl_program handle, cl_program_info name, size_t *size)
{
	char *value;

	*size = 0;
	if (ocl->clGetProgramInfo(handle, name, 0, NULL, size) || !*size || !(value = calloc(1, *size + 1)))
		return NULL;
	if (!ocl->clGetProgramInfo(handle, name, *size, value, NULL))
		return value;
	free(value);
	return NULL;
}

/* Returns the options of the build for the program's first device, or NULL if unknown. The caller frees them. */
static char *query_options(cl_program handle)
{
	cl_device_id devices[64];
	char *options = NULL;
	size_t size = 0;

	if (!ocl->clGetProgramInfo(handle, CL_PROGRAM_DEVICES, sizeof(devices), devices, &size) &&
	    size >= sizeof(*devices) &&
	    !ocl->clGetProgramBuildInfo(handle, devices[0], CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size) &&
	    (options = calloc(1, size + 1)))
		ocl->clGetProgramBuildInfo(handle, devices[0], CL_PROGRAM_BUILD_OPTIONS, size, options, NULL);
	return options;
}

/* Returns the time at which this process started, in ns since 1970. The program was built later. */
static uint64_t process_start(void)
{
	struct stat st;

	return stat("/proc/self", &st) ? 0 : st.st_ctim.tv_sec * 1000000000ull + st.st_ctim.tv_nsec;
}

/* Returns true if the SPIR-V module has specialization constants (OpSpecConstantTrue to OpSpecConstantOp). */
static bool has_spec_constants(const void *il, size_t size)
{
	const uint32_t *word = il;

	for (size_t at = 5, n = size / 4; at < n && word[at] >> 16; at += word[at] >> 16)
		if ((word[at] & 0xffff) >= 48 && (word[at] & 0xffff) <= 52)
			return true;
	return false;
}

static struct ocl_code *learn_source(const char *source, const char *options)
{
	struct ocl_code *code = ocl_code_new(GPUBPF_IMAGE_OPENCL_C, source, strlen(source), options);

	if (code) {
		ocl_code_note_build(code);
		code->built_ns = process_start(); /* refuses headers that changed since, maybe after the build */
	}
	return code;
}

static struct ocl_code *learn_il(cl_program handle, const char *options)
{
	size_t size;
	char *il = query_program(handle, CL_PROGRAM_IL, &size);
	struct ocl_code *code = ocl_code_new(il ? GPUBPF_IMAGE_SPIRV : GPUBPF_IMAGE_NONE, il, size, options);

	if (code && !il)
		code->reason = "its OpenCL program was created from a binary or linked before the attach";
	else if (code && has_spec_constants(il, size))
		code->reason = "its specialization constants may have been set before the attach";
	free(il);
	return code;
}

struct ocl_code *ocl_code_learn(cl_program handle)
{
	size_t size;
	char *options = query_options(handle), *source = query_program(handle, CL_PROGRAM_SOURCE, &size);
	struct ocl_code *code = source && source[0] ? learn_source(source, options) : learn_il(handle, options);

	free(source);
	free(options);
	return code;
}
