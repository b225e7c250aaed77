/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL calls that the builder makes, resolved from the machine's libOpenCL. */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_CLAPI_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_CLAPI_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#define GPUBPF_CL_CALLS(CALL)          \
	CALL(clGetPlatformIDs)         \
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
	/* OpenCL 2.1; NULL: the library cannot load IL */
	__typeof__(&clCreateProgramWithIL) clCreateProgramWithIL;
};

/* NULL if the machine has no OpenCL loader; *why is then the dynamic linker's message. */
const struct gpubpf_clapi *gpubpf_clapi(const char **why);

#endif
