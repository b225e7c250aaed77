/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a case on the selected OpenCL device: fills buffers with known content, runs one kernel after the other, and
 * collects everything that the kernels wrote.
 */
#ifndef GPUBPF_TESTS_WRAP_DEVICE_H
#define GPUBPF_TESTS_WRAP_DEVICE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "core/wire/caps.h"
#include "case.h"

#define ARENA_SIZE (1 << 20)

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	struct gpubpf_device_caps caps;
};

/* the bytes that the kernels of a case wrote */
struct outcome {
	unsigned char *data;
	size_t size;
};

/* Returns 0, or an OpenCL error with the name of the failed call in *what. */
int device_open(struct device *dev, const char **what);
/*
 * Builds the case like an application: with clBuildProgram(), or with clCompileProgram() and clLinkProgram() if it has
 * a header.
 */
int device_build(struct device *dev, const struct case_file *c, cl_program *program, const char **what);
int device_build_il(struct device *dev, const void *module, size_t size, cl_program *program, const char **what);
int device_load(struct device *dev, const void *binary, size_t size, cl_program *program, const char **what);
/*
 * Performs all runs of a case. If arena is NULL it runs the original kernels, otherwise their twins, with launch
 * numbers from 0 on.
 */
int device_run(struct device *dev, const struct case_file *c, cl_program program, cl_mem arena,
	       struct outcome *out, const char **what);

#endif
