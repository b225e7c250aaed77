/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the cubins of an image. An image is a single cubin, a fatbin, or a host executable or library with
 * fatbins in its section .nv_fatbin. */
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

/* Receives the bytes of a cubin, which are valid during the call. A nonzero result ends the walk and is returned. */
typedef int sass_image_fn(void *arg, const void *cubin, size_t size, struct gpubpf_diag *diag);

/*
 * Calls fn for each cubin for architecture sm that is not relocatable; if sm is 0, for any architecture. Decompresses
 * one cubin at a time. Returns 0, also if a fatbin or host file has no cubin. Returns -EINVAL, or -ENOENT if an image
 * of this kind cannot contain cubins; both with the reason in *diag.
 */
int sass_image_each(const void *image, size_t size, uint32_t sm, sass_image_fn *fn, void *arg, struct gpubpf_diag *diag);

/* an open cubin of an image, and its line tables; sass_module_lines() reads these when it is first called */
struct sass_module {
	struct sass_cubin cubin;
	struct gpubpf_lines lines, starts;
	bool has_lines, has_starts;
	void *bytes; /* malloc'd if the bytes are not part of the image */
};

/*
 * Like sass_image_each(), but passes an open cubin to fn. If the image has a digest, its modules stay open until a call
 * with another image. So a worker that handles the kernels of a module one after another opens the module once.
 */
int sass_module_each(const struct gpubpf_image *image, uint32_t sm,
		     int (*fn)(void *arg, struct sass_module *module, struct gpubpf_diag *diag), void *arg,
		     struct gpubpf_diag *diag);

/* Returns the line table of the module. If `starts` is true, returns the table that also says where lines begin. */
const struct gpubpf_lines *sass_module_lines(struct sass_module *module, bool starts);

/* Returns the architecture of the code in the image that a device of capability sm runs. This is the newest
 * architecture of the device's generation that is not newer than sm. Returns sm itself if the image has no such
 * architecture. */
uint32_t sass_image_arch(const void *image, size_t size, uint32_t sm);
/* Returns the capability of the device as a number: 90 for "sm_90"; 0 if the caps do not state it. */
uint32_t sass_capability(const struct gpubpf_device_caps *caps);

#endif
