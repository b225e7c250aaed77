/* SPDX-License-Identifier: Apache-2.0 */
/* The cubins that an image holds: one by itself, those of a fatbin, those of a program's or a library's .nv_fatbin. */
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

/* Bytes of a cubin, valid during the call; what is not 0 ends the walk and is returned. */
typedef int sass_image_fn(void *arg, const void *cubin, size_t size, struct gpubpf_diag *diag);

/*
 * Call fn for each cubin that is for architecture sm, 0: for any, and is no relocatable one; one at a time is decompressed. 0, also where a
 * container or a program has none; -ENOENT: the image can have none; -EINVAL; each with a reason.
 */
int sass_image_each(const void *image, size_t size, uint32_t sm, sass_image_fn *fn, void *arg,
		    struct gpubpf_diag *diag);

/* a cubin of an image, opened, and its lines, which are read when they are asked for first */
struct sass_module {
	struct sass_cubin cubin;
	struct gpubpf_lines lines, starts;
	bool has_lines, has_starts;
	void *bytes;                       /* malloc'd, where they are not the image's */
};

/*
 * As sass_image_each(). The modules of an image with a digest stay open until another image is asked for: a worker is asked
 * for a module's kernels one after the other, and opens it once.
 */
int sass_module_each(const struct gpubpf_image *image, uint32_t sm,
		     int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag), void *arg,
		     struct gpubpf_diag *diag);

/* starts: those that tell where lines begin, too. */
const struct gpubpf_lines *sass_module_lines(struct sass_module *module, bool starts);

/* The architecture of the machine code that a device of capability sm runs of the image: the newest of its generation. */
uint32_t sass_image_arch(const void *image, size_t size, uint32_t sm);
/* "sm_90" as 90; 0 if the device does not say */
uint32_t sass_capability(const struct gpubpf_device_caps *caps);

#endif
