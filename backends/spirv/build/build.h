/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-build: compiles and links the pieces of a twin with the vendor's own OpenCL runtime, which returns the device
 * binary.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_BUILD_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_BUILD_H

#include "core/target.h"

/*
 * The build operation of core/worker/serve.h. It compiles all pieces. It links them with the compile options that the
 * device also accepts for a link. The result *out has one piece, the program's binary. If the compiler rejects a
 * wrapper, only that twin is left out and listed in out->refused. The context of each device is created once and
 * reused. `log` receives the vendor's log of the last failure.
 */
int gpubpf_cl_build(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		    struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
