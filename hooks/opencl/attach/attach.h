/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks the OpenCL runtimes of a running process: replaces entries of the vendors' dispatch tables (vendor.h). */
#ifndef GPUBPF_HOOKS_OPENCL_ATTACH_H
#define GPUBPF_HOOKS_OPENCL_ATTACH_H

struct gpubpf_attacher;

extern const struct gpubpf_attacher ocl_attacher;

#endif
