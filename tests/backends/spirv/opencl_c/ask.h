/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_WRAP_ASK_H
#define GPUBPF_TESTS_WRAP_ASK_H

#include "core/worker/job.h"

/*
 * Sends the image's query to the compiler of `device`, as a session does. Returns the answer, which the caller frees.
 * An answer "!why" means that the compiler gives none. The reader assumes a device with `caps`, which may differ from
 * `device`.
 */
char *ask_compiler(struct gpubpf_worker *clread, struct gpubpf_worker *build, const struct gpubpf_image *image,
		   const struct gpubpf_device_caps *caps, const struct gpubpf_device_caps *device);

#endif
