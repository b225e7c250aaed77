/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several OpenCL images as one: GPUBPF_IMAGE_OPENCL_PARTS. What an application compiled one by one with
 * clCompileProgram and then joined with clLinkProgram, and what gpubpf-clread makes of a source (then
 * with one part): each part with its own options and headers, then the options of the link. libc only;
 * the encoding is that of core/wire/wire.h and never leaves the machine.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_PARTS_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_PARTS_H

#include "core/wire/image.h"

struct gpubpf_cl_part {
	enum gpubpf_image_kind kind;         /* OPENCL_C, SPIRV or OPENCL_BINARY */
	const void *data;
	size_t size;
	const char *options;                 /* of clCompileProgram */
	const struct gpubpf_header *headers; /* of clCompileProgram */
	uint32_t nheaders;
};

struct gpubpf_cl_parts {
	struct gpubpf_cl_part *part;
	uint32_t nparts;
	const char *link_options;            /* of clLinkProgram, "" if none */
};

/* Write them as an image; *out is malloc'd. 0 or -ENOMEM. */
int gpubpf_cl_parts_write(const struct gpubpf_cl_parts *parts, struct gpubpf_blob *out);
/* Read an image; hostile bytes give -EBADMSG. *parts points into data, which must outlive it, and is
 * freed by finish(). 0, -EBADMSG or -ENOMEM. */
int gpubpf_cl_parts_read(const void *data, size_t size, struct gpubpf_cl_parts *parts);
void gpubpf_cl_parts_finish(struct gpubpf_cl_parts *parts);

#endif
