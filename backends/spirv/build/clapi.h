/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL functions that the builder calls, resolved from the system's libOpenCL. */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_CLAPI_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_CLAPI_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#define GPUBPF_CL_CALLS(CALL)          \
	CALL(clGetPlatformIDs)         \
	CALL(clGetPlatformInfo)        \
	CALL(clGetDeviceIDs)           \
	CALL(clGetDeviceInfo)          \
	CALL(clCreateContext)          \
	CALL(clReleaseContext)         \
	CALL(clCreateProgramWithSource) \
	CALL(clCreateProgramWithBinary) \
	CALL(clCompileProgram)         \
	CALL(clLinkProgram)            \
	CALL(clGetProgramInfo)         \
	CALL(clGetProgramBuildInfo)    \
	CALL(clReleaseProgram)

struct gpubpf_clapi {
#define CALL(name) __typeof__(&name) name;
	GPUBPF_CL_CALLS(CALL)
#undef CALL
	/* NULL before OpenCL 2.1: the library cannot load SPIR-V (IL) */
	__typeof__(&clCreateProgramWithIL) clCreateProgramWithIL;
};

/* Returns the function table, or NULL if libOpenCL cannot be loaded; *why is then the message of dlerror(). */
const struct gpubpf_clapi *gpubpf_clapi(const char **why);

#endif
