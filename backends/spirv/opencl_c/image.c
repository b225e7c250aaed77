/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <errno.h>
#include <string.h>

#include "backends/spirv/common/options.h"
#include "backends/spirv/opencl_c/read/dialect.h"
#include "core/model/diag.h"

void wrap_image_finish(struct wrap_image *p)
{
	if (p->owned)
		gpubpf_cl_parts_finish(&p->parts);
	gpubpf_pool_finish(&p->pool);
}

static int open_parts(struct wrap_image *p, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	const char *options = image->options ? image->options : "";
	int err;

	if (image->kind == GPUBPF_IMAGE_OPENCL_C) {
		p->single = (struct gpubpf_cl_part){ GPUBPF_IMAGE_OPENCL_C, image->data,    image->size, options,
						     image->headers,        image->nheaders };
		p->parts = (struct gpubpf_cl_parts){ &p->single, 1, options };
		return 0;
	}
	if (image->kind != GPUBPF_IMAGE_OPENCL_PARTS)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image has no OpenCL C source");
	err = gpubpf_cl_parts_read(image->data, image->size, &p->parts);
	p->owned = err == 0;
	if (err == -EBADMSG)
		gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC,
				"the agent's copy of a linked OpenCL program is damaged");
	return err;
}

/*
 * Returns the device compiler's answer for OpenCL C source number n of the image. Each answer is one line. An answer
 * that begins with '!' applies to all sources.
 */
static const char *answer_of(const char *answer, uint32_t n)
{
	while (answer[0] != '!' && n--)
		answer += strcspn(answer, "\n") + (strchr(answer, '\n') != NULL);
	return answer;
}

/* Derive from the answer how the device's compiler reads the part. If there is no answer, clang's defaults apply. */
static int find_dialect(struct wrap_image *p, uint32_t i, const char *answer, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag)
{
	uint32_t before = 0;
	int err;

	for (uint32_t k = 0; k < i; k++)
		before += p->parts.part[k].kind == GPUBPF_IMAGE_OPENCL_C;
	if (p->known_dialects)
		p->source[i].dialect = p->known_dialects[i];
	if (p->known_dialects || !answer)
		return 0;
	p->dialect[i] = gpubpf_pool_alloc(&p->pool, 1, sizeof(*p->dialect[i]));
	if (!p->dialect[i])
		return -ENOMEM;
	err = gpubpf_cl_dialect(&p->source[i], answer_of(answer, before), caps, &p->pool, p->dialect[i], diag);
	p->source[i].dialect = p->dialect[i];
	return err;
}

/* Read part i of the image. The source ends at its first NUL byte, as in OpenCL compilers. */
static int read_part(struct wrap_image *p, uint32_t i, const struct gpubpf_image *image, uint32_t places,
		     const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	const struct gpubpf_cl_part *part = &p->parts.part[i];
	const char *text = gpubpf_pool_strndup(&p->pool, part->data, strnlen(part->data, part->size));
	const char *options = gpubpf_cl_search_options(part->options, image->cwd, caps, &p->pool);
	int err;

	if (!text || !options)
		return -ENOMEM;
	p->source[i] = (struct gpubpf_cl_source){ text,
						  strlen(text),
						  options,
						  image->cwd,
						  part->headers,
						  part->nheaders,
						  places & (gpubpf_places_of(GPUBPF_WHERE_INSN) |
							    gpubpf_places_of(GPUBPF_WHERE_FUNCTION)),
						  NULL,
						  image->built_ns };
	err = find_dialect(p, i, image->answer, caps, diag);
	if (!err)
		err = gpubpf_cl_read(&p->source[i], caps, &p->pool, &p->unit[i], diag);
	if (!err && p->dialect[i])
		p->unit[i].differs = p->dialect[i]->differs;
	return err;
}

int wrap_image_read(struct wrap_image *p, const struct gpubpf_image *image, uint32_t places,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	int err = open_parts(p, image, diag);

	if (err < 0)
		return err;
	p->source = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->source));
	p->unit = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->unit));
	p->dialect = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->dialect));
	if (!p->source || !p->unit || !p->dialect)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.nparts && err == 0; i++) {
		if (p->parts.part[i].kind == GPUBPF_IMAGE_OPENCL_C)
			err = read_part(p, i, image, places, caps, diag);
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++)
			p->has_globals |= p->unit[i].kernel[k].info.flags & GPUBPF_KINFO_GLOBALS;
	}
	return err;
}

const char *wrap_reason(const struct wrap_image *p, const struct gpubpf_cl_kernel *kernel,
			const struct gpubpf_device_caps *caps)
{
	const struct gpubpf_kernel_info *info = &kernel->info;

	for (uint32_t i = 0; i < p->parts.nparts; i++)
		if (p->unit[i].differs)
			return p->unit[i].differs;
	if (info->reason[0])
		return info->reason;
	if (p->has_globals)
		return "its OpenCL program has writable program-scope variables, which a twin would not share";
	if (!(caps->bits & GPUBPF_CAP_LINK))
		return "the device's OpenCL driver cannot link programs (clCompileProgram, clLinkProgram)";
	return kernel->no_wrapper ? kernel->no_wrapper : "";
}

bool wrap_has_loose_math(const struct wrap_image *p)
{
	for (uint32_t i = 0; i < p->parts.nparts; i++)
		if (gpubpf_cl_has_loose_math(p->parts.part[i].options))
			return true;
	return gpubpf_cl_has_loose_math(p->parts.link_options);
}

/*
 * Add the query for one part, which contains the preprocessor directives of its source
 * (backends/spirv/opencl_c/read/query.h).
 */
static int add_query(struct wrap_image *p, const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		     const struct gpubpf_cl_part *from, struct gpubpf_cl_parts *to)
{
	const char *options = gpubpf_cl_search_options(from->options, image->cwd, caps, &p->pool);
	struct gpubpf_cl_source source = { from->data,    strnlen(from->data, from->size),
					   options,       image->cwd,
					   from->headers, from->nheaders };
	struct cl_query q;
	int err = options ? gpubpf_cl_query(&source, &p->pool, &q) : -ENOMEM;

	if (!err)
		to->part[to->nparts++] = (struct gpubpf_cl_part){
			GPUBPF_IMAGE_OPENCL_C, q.text, strlen(q.text), q.options, q.header, q.nheaders
		};
	return err;
}

int wrap_query(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out,
	       struct gpubpf_diag *diag)
{
	struct wrap_image p = { 0 };
	struct gpubpf_cl_parts queries = { .link_options = "" };
	int err = open_parts(&p, image, diag);

	if (!err && !(queries.part = gpubpf_pool_alloc(&p.pool, p.parts.nparts, sizeof(*queries.part))))
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < p.parts.nparts; i++)
		if (p.parts.part[i].kind == GPUBPF_IMAGE_OPENCL_C)
			err = add_query(&p, image, caps, &p.parts.part[i], &queries);
	if (!err && queries.nparts)
		err = gpubpf_cl_parts_write(&queries, &out->piece[0].blob);
	if (!err && queries.nparts) {
		out->piece[0].kind = GPUBPF_IMAGE_OPENCL_QUERY;
		out->npieces = 1;
	}
	wrap_image_finish(&p);
	return err;
}

static const struct gpubpf_cl_kernel *find_kernel(const struct gpubpf_cl_unit *unit, const char *name)
{
	for (uint32_t k = 0; k < unit->nkernels; k++)
		if (!strcmp(unit->kernel[k].info.name, name))
			return &unit->kernel[k];
	return NULL;
}

const char *wrap_find_error(const struct gpubpf_cl_unit *unit, const struct gpubpf_cl_kernel *twin)
{
	const size_t prefix = strlen(GPUBPF_TWIN_PREFIX);
	const struct gpubpf_cl_kernel *of;

	if (strncmp(twin->name, GPUBPF_TWIN_PREFIX, prefix))
		return NULL;
	if (twin->info.reason[0])
		return twin->info.reason;
	of = find_kernel(unit, twin->name + prefix);
	return of && !of->error ? twin->error : NULL;
}
