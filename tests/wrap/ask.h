/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_WRAP_ASK_H
#define GPUBPF_TESTS_WRAP_ASK_H

#include "core/worker/job.h"

/* The answer of the device's compiler to the query of an image, as in a session; malloc'd. "!why": the compiler
 * gives none. The compiler is that of `device`; the reader takes it for that of `caps`. */
char *ask_compiler(struct gpubpf_worker *clread, struct gpubpf_worker *build, const struct gpubpf_image *image,
		   const struct gpubpf_device_caps *caps, const struct gpubpf_device_caps *device);

#endif
