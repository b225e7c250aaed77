/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* Write the parts of a linked program to out[], in order, with nested links expanded in place; add their number to *n.
 * out NULL: only count. -EOPNOTSUPP with *reason. */
static int flatten(const struct ocl_code *code, struct gpubpf_cl_part *out, uint32_t *n, const char **reason)
{
	if (code->reason) {
		*reason = code->reason;
		return -EOPNOTSUPP;
	}
	if (code->kind == GPUBPF_IMAGE_OPENCL_BINARY) {
		*reason = "linked with an object that was loaded as a binary";
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

_Static_assert(sizeof(struct gpubpf_hook_header) == sizeof(struct gpubpf_header), "the same three members");

/* Set the image's folder and its build time, the earliest of its parts. *several: parts were compiled in different
 * folders, so relative include paths do not work. */
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
