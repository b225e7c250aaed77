/* SPDX-License-Identifier: Apache-2.0 */
/* The cubins that an image holds: one by itself, those of a fatbin, those of a program's or a library's .nv_fatbin. */
#ifndef GPUBPF_SASS_IMAGE_H
#define GPUBPF_SASS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_device_caps;
struct gpubpf_diag;

/* Bytes of a cubin, valid during the call; what is not 0 ends the walk and is returned. */
typedef int sass_image_fn(void *arg, const void *cubin, size_t size, struct gpubpf_diag *diag);

/*
 * Call fn for each cubin that is for architecture sm, 0: for any, and is no relocatable one; one at a time is decompressed. 0, also where a
 * container or a program has none; -ENOENT: the image can have none; -EINVAL; each with a reason.
 */
int sass_image_each(const void *image, size_t size, uint32_t sm, sass_image_fn *fn, void *arg,
		    struct gpubpf_diag *diag);

/* The architecture of the machine code that a device of capability sm runs of the image: the newest of its generation. */
uint32_t sass_image_arch(const void *image, size_t size, uint32_t sm);
/* "sm_90" as 90; 0 if the device does not say */
uint32_t sass_capability(const struct gpubpf_device_caps *caps);

#endif
