/* SPDX-License-Identifier: Apache-2.0 */
/* The cubins in an image: a single one, those in a fatbin, or those in the .nv_fatbin of a program or library. */
#ifndef GPUBPF_SASS_IMAGE_H
#define GPUBPF_SASS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/worker/lines.h"
#include "cubin.h"

struct gpubpf_device_caps;
struct gpubpf_diag;
struct gpubpf_image;

/* Called with the bytes of a cubin, which are valid during the call. A non-zero result ends the walk and is
 * returned. */
typedef int sass_image_fn(void *arg, const void *cubin, size_t size, struct gpubpf_diag *diag);

/*
 * Calls fn for each cubin for architecture sm (0: any) that is not relocatable. One at a time is decompressed. Returns
 * 0, also if a container or a program has no cubin. Errors come with a reason: -EINVAL, and -ENOENT if an image of this
 * kind cannot have cubins.
 */
int sass_image_each(const void *image, size_t size, uint32_t sm, sass_image_fn *fn, void *arg,
		    struct gpubpf_diag *diag);

/* an open cubin of an image, and its lines, which are read at the first request */
struct sass_module {
	struct sass_cubin cubin;
	struct gpubpf_lines lines, starts;
	bool has_lines, has_starts;
	void *bytes;                       /* malloc'd if the bytes are not part of the image */
};

/*
 * Like sass_image_each(). Modules of an image with a digest stay open until another image comes. A worker handles one
 * kernel of a module after another and so opens it once.
 */
int sass_module_each(const struct gpubpf_image *image, uint32_t sm,
		     int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag), void *arg,
		     struct gpubpf_diag *diag);

/* starts: also the table that says where lines begin. */
const struct gpubpf_lines *sass_module_lines(struct sass_module *module, bool starts);

/* The architecture of the code that a device of capability sm runs from the image: the newest of its generation. */
uint32_t sass_image_arch(const void *image, size_t size, uint32_t sm);
/* "sm_90" as 90; 0 if the device does not state it */
uint32_t sass_capability(const struct gpubpf_device_caps *caps);

#endif
