/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the OpenCL device. The code uses only libc and the CL headers, because the agent includes all
 * of it.
 *
 *   device.c         the operations of core/device.h
 *   address.c        addresses of buffers
 *   api.c            the runtime's functions
 *   caps.c           tests that determine the caps
 *   memory.c         memory of maps
 *   module.c         programs
 *   program_cache.c  the cached binary of the test program
 */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_OPENCL_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>

#include "core/device.h"

#define OCL_FUNCTIONS(F) \
	F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) \
	F(clReleaseContext) F(clRetainContext) F(clCreateCommandQueue) F(clReleaseCommandQueue) F(clCreateBuffer) \
	F(clReleaseMemObject) F(clEnqueueMapBuffer) F(clEnqueueUnmapMemObject) F(clEnqueueReadBuffer) F(clEnqueueWriteBuffer) F(clCreateProgramWithSource) \
	F(clCreateProgramWithBinary) F(clBuildProgram) F(clCompileProgram) F(clLinkProgram) \
	F(clGetProgramBuildInfo) F(clGetProgramInfo) F(clReleaseProgram) F(clCreateKernel) F(clReleaseKernel) F(clSetKernelArg) F(clFlush) F(clGetEventInfo) F(clReleaseEvent) \
	F(clGetKernelInfo) F(clEnqueueNDRangeKernel) F(clFinish)

/* function pointers of an OpenCL runtime: the loader, or the layer below gpubpf's layer in the application */
struct ocl_api {
#define OCL_MEMBER(name) __typeof__(&name) name;
	OCL_FUNCTIONS(OCL_MEMBER)
#undef OCL_MEMBER
	__typeof__(&clCreateProgramWithIL) clCreateProgramWithIL; /* NULL before OpenCL 2.1 */
	/* these clSVM* functions and clSetKernelExecInfo are NULL before OpenCL 2.0 */
	__typeof__(&clSVMAlloc) clSVMAlloc;
	__typeof__(&clSVMFree) clSVMFree;
	__typeof__(&clSetKernelExecInfo) clSetKernelExecInfo;
};

#define OCL_MAX_SVM 256

struct gpubpf_device {
	struct ocl_api api;
	struct gpubpf_device_caps caps;
	cl_context context;
	cl_device_id id;
	cl_command_queue queue;
	cl_mem arena;
	size_t arena_size;
	const char *clock_source; /* OpenCL C source of gpubpf_clock_read() */
	const char *cache;        /* cache folder from struct gpubpf_device_open; NULL after opening */
	cl_program test;          /* test program of caps.c; also has the kernels that read the clock and addresses */
	cl_kernel clock_kernel;
	cl_mem clock_word;
	cl_kernel address_kernel; /* stores the address of a buffer in address_word */
	cl_mem address_word;
	cl_event address_event;   /* event of the running address query, or NULL */
	cl_ulong *address_result; /* malloc'd; valid while the device may write it */
	void *svm[OCL_MAX_SVM];   /* [nsvm]: SVM of maps; set as execution info of each kernel that gpubpf launches */
	uint32_t nsvm;
};

/*
 * Fill the table from the OpenCL loader, or from a layer's dispatch table (const cl_icd_dispatch *) if `dispatch` is
 * set.
 */
int ocl_api_load(struct ocl_api *api, const void *dispatch, struct gpubpf_reason *why);

/* memory.c: memory_get and memory_put of struct gpubpf_device_ops, and the caps on which they depend. */
void ocl_memory_caps(struct gpubpf_device *device);
void ocl_memory_test(struct gpubpf_device *device); /* sets caps by running kernels; call it last */
int ocl_memory_get(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
		   struct gpubpf_device_memory *memory, struct gpubpf_reason *why);
void ocl_memory_put(struct gpubpf_device *device, const struct gpubpf_device_memory *memory);
/* Set the SVM of all maps as execution info of the kernel. Call this before each launch that gpubpf makes. */
cl_int ocl_set_svm_pointers(struct gpubpf_device *device, cl_kernel kernel);
/* address.c: buffer_address of struct gpubpf_device_ops */
int ocl_buffer_address(struct gpubpf_device *device, void *buffer, uint64_t *address);
/*
 * Create the objects for address queries. They are created when the device opens: applications can observe the
 * context's reference count, so it must not change later.
 */
void ocl_create_address_query(struct gpubpf_device *device);
/* Free a finished address query. Returns false if a query still runs; no other query may start then. */
bool ocl_end_address_query(struct gpubpf_device *device);

/*
 * program_cache.c: caches binaries of CPU devices in the user's cache folder; GPU runtimes cache their binaries
 * themselves. The key holds the texts, the options, the runtime and the processor. The function ocl_cache_load()
 * returns NULL if no binary is cached or the runtime cannot load it.
 */
struct ocl_source {
	const char *const *texts;
	cl_uint ntexts;
	const char *options;
};
cl_program ocl_cache_load(struct gpubpf_device *device, const struct ocl_source *source);
void ocl_cache_store(struct gpubpf_device *device, const struct ocl_source *source, cl_program program);
void ocl_cache_remove(struct gpubpf_device *device, const struct ocl_source *source);

/* Fill device->caps from queries and tests. A capability that cannot be tested is not set. */
void ocl_caps_fill(struct gpubpf_device *device);

/*
 * Compile the pieces separately and link them; only the last piece may be SPIR-V (IL). On failure, returns NULL and
 * stores the log in *why.
 */
struct ocl_piece {
	const void *data;
	size_t size;
	bool il;
	const char *options;
};
/* Create the program without compiling it. */
cl_program ocl_create(struct gpubpf_device *device, const struct ocl_piece *piece, struct gpubpf_reason *why);
cl_program ocl_link(struct gpubpf_device *device, const struct ocl_piece *pieces, uint32_t n, struct gpubpf_reason *why);
cl_program ocl_build(struct gpubpf_device *device, cl_program program, const char *options, struct gpubpf_reason *why);
int ocl_error(struct gpubpf_reason *why, const char *what, cl_int code);

#endif
