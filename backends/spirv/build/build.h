/* SPDX-License-Identifier: Apache-2.0 */
/* What gpubpf-build does: pieces of a twin -> the vendor's binary, through the vendor's own OpenCL. */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_BUILD_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_BUILD_H

#include "core/target.h"

/*
 * The build operation of core/worker/serve.h. Every piece is compiled, all are linked with the options
 * that the device lets a link repeat, and the program's binary is the one piece of *out. A wrapper
 * that the compiler does not take costs itself alone: out->refused. The context of each device is made
 * once and kept. `log` gets the vendor's log of what failed.
 */
int gpubpf_cl_build(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		    struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
