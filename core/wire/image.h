/* SPDX-License-Identifier: Apache-2.0 */
/* Images: what an application hands to its runtime, and what is made of it. libc only: agent, session and workers. */
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
	const void *data;          /* as the application handed it to the runtime */
	size_t size;
	enum gpubpf_image_kind kind;
	const char *options;       /* build options, "" if none */
	const struct gpubpf_header *headers; /* clCompileProgram */
	uint32_t nheaders;
	const char *cwd;           /* the application's when it built, for relative -I; "" unknown */
	uint64_t built_ns;         /* then, by CLOCK_REALTIME; 0: includes no files */
	const char *kernel;        /* the only one that is asked for, in its short form: inspect() may leave out the others;
				    * "" all */
	uint32_t places;           /* of the places of blocks and of single instructions, the kinds that inspect() is to
				    * list: a set of GPUBPF_TAKES (core/places.h) */
	const char *answer;        /* of the device's compiler to the target's query; NULL: none. One that begins with '!' says why
				    * the compiler gave none */
	const uint8_t *digest;     /* SHA-256 of the data, so that jobs of one image know it again; NULL: not reckoned */
};

#endif
