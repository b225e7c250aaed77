/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: code that an application passes to its runtime, or that gpubpf generates from such code. The agent, the
 * session and the workers use this file, which depends only on libc.
 */
#ifndef GPUBPF_CORE_WIRE_IMAGE_H
#define GPUBPF_CORE_WIRE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "caps.h"

/* bytes allocated with malloc(); the caller frees `data` */
struct gpubpf_blob {
	void *data;
	size_t size;
};

#define GPUBPF_IMAGE_DIGEST 32 /* bytes of a SHA-256 */

struct gpubpf_header {
	const char *name;
	const void *data;
	size_t size;
};

struct gpubpf_image {
	const void *data; /* the bytes that the application passed to the runtime */
	size_t size;
	enum gpubpf_image_kind kind;
	const char *options;                 /* build options; "" if there are none */
	const struct gpubpf_header *headers; /* headers passed to clCompileProgram() */
	uint32_t nheaders;
	/* the application's working directory at the build, for relative -I options; "": unknown */
	const char *cwd;
	uint64_t built_ns; /* time of the build in ns (CLOCK_REALTIME); 0: the source includes no files */
	/* short name of the only kernel that the caller needs, so inspect() may omit other kernels; "": all kernels */
	const char *kernel;
	/*
	 * the kinds of block and instruction places that inspect() lists, a set of GPUBPF_SITE_BIT
	 * (core/model/places.h)
	 */
	uint32_t places;
	/* the device compiler's answer to the target's query, or NULL; if the answer is missing, '!' and the reason */
	const char *answer;
	const uint8_t *digest; /* SHA-256 of the data, with which jobs identify an image; NULL: not computed */
};

#endif
