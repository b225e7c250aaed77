/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_TESTS_WRAP_ASK_H
#define GPUBPF_TESTS_WRAP_ASK_H

#include "core/worker/job.h"

/* Asks the device's compiler the query of an image, like a session; the caller frees the answer. "!why": the
 * compiler gives no answer. The compiler is that of `device`; the reader takes it for that of `caps`. */
char *ask_compiler(struct gpubpf_worker *clread, struct gpubpf_worker *build, const struct gpubpf_image *image,
		   const struct gpubpf_device_caps *caps, const struct gpubpf_device_caps *device);

#endif
