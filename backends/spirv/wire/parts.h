/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image that contains several OpenCL images: GPUBPF_IMAGE_OPENCL_PARTS. An application compiles several programs by
 * clCompileProgram() and joins them by clLinkProgram(). gpubpf-clread makes an image with one part from a source. Each
 * part has its own options and headers; the link options follow the parts. This file uses libc only. The encoding is
 * that of core/wire/wire.h, and the data never leaves the machine.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_PARTS_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_PARTS_H

#include "core/wire/image.h"

struct gpubpf_cl_part {
	enum gpubpf_image_kind kind; /* OPENCL_C, SPIRV or OPENCL_BINARY */
	const void *data;
	size_t size;
	const char *options;                 /* of clCompileProgram */
	const struct gpubpf_header *headers; /* of clCompileProgram */
	uint32_t nheaders;
};

struct gpubpf_cl_parts {
	struct gpubpf_cl_part *part;
	uint32_t nparts;
	const char *link_options; /* options of clLinkProgram(), or "" */
};

/* Encode the parts as an image; out->data is malloc'd. Returns 0 or -ENOMEM. */
int gpubpf_cl_parts_write(const struct gpubpf_cl_parts *parts, struct gpubpf_blob *out);
/*
 * Decode an image. *parts points into `data`, which must outlive it; free it by gpubpf_cl_parts_finish(). Returns 0,
 * -ENOMEM, or -EBADMSG for an invalid image.
 */
int gpubpf_cl_parts_read(const void *data, size_t size, struct gpubpf_cl_parts *parts);
void gpubpf_cl_parts_finish(struct gpubpf_cl_parts *parts);

#endif
