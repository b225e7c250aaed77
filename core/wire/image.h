/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: code that an application passes to its runtime, and code that is generated from it. libc only: used by agent,
 * session and workers.
 */
#ifndef GPUBPF_CORE_WIRE_IMAGE_H
#define GPUBPF_CORE_WIRE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "caps.h"

/* bytes that the callee allocated with malloc; the caller frees data */
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
	const void *data; /* as the application passed it to the runtime */
	size_t size;
	enum gpubpf_image_kind kind;
	const char *options;                 /* build options, "" if none */
	const struct gpubpf_header *headers; /* headers passed to clCompileProgram() */
	uint32_t nheaders;
	const char *cwd;       /* the application's working folder at the build, for relative -I; "": unknown */
	uint64_t built_ns;     /* time of the build in ns, by CLOCK_REALTIME; 0: the source includes no files */
	const char *kernel;    /* short name of the only requested kernel: inspect() may omit the others; "": all
				    * are requested */
	uint32_t places;       /* requested kinds of block and instruction places, which inspect() lists: a set of
				    * GPUBPF_SITE_BIT (core/model/places.h) */
	const char *answer;    /* the device compiler's answer to the target's query; NULL: none. An answer that
				    * begins with '!' is the reason for a missing answer */
	const uint8_t *digest; /* SHA-256 of the data, by which jobs recognize an image; NULL: not computed */
};

#endif
