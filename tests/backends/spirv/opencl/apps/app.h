/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the OpenCL test programs share. Each program is an ordinary application without knowledge of probes.
 * It prints a digest of all results. For each kernel it prints how many work-items it launched. A test compares runs
 * with and without probes, and checks the counts exactly:
 *
 *   digest 0123456789abcdef
 *   kernel NAME launches 3 items 3072
 *
 * The device is the first one whose name or platform contains $GPUBPF_TEST_DEVICE. The exit status is 77 if the device
 * lacks a feature that the program needs; a line on standard error names the feature.
 */
#ifndef GPUBPF_TESTS_OPENCL_APP_H
#define GPUBPF_TESTS_OPENCL_APP_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APP_KERNELS 256

extern cl_platform_id app_platform;
extern cl_device_id app_device;
extern cl_context app_context;
extern cl_command_queue app_queue; /* in order */

#define CHECK(call)                                                                          \
	do {                                                                                 \
		cl_int err_ = (call);                                                        \
		if (err_)                                                                    \
			app_fail(__FILE__, __LINE__, #call, err_);                           \
	} while (0)
#define CHECK_ERR(what) CHECK(err); (void)(what)

void app_fail(const char *file, int line, const char *what, int err) __attribute__((noreturn));
void app_lacks(const char *what) __attribute__((noreturn));
void app_open(void);
int app_close(void); /* prints digest and kernels; returns the exit status for main() */

cl_program app_program(const char *source, const char *options);
/* reads a SPIR-V module; ends the program if the device does not support SPIR-V */
const void *app_il(const char *path, size_t *size);
cl_kernel app_kernel(cl_program program, const char *name);
cl_mem app_buffer(size_t size, const void *data); /* data NULL: zeros */
void app_arg_mem(cl_kernel kernel, cl_uint index, cl_mem mem);
void app_arg_u32(cl_kernel kernel, cl_uint index, uint32_t value);
void app_arg_f32(cl_kernel kernel, cl_uint index, float value);

/* Counts a launch of the kernel that did not use app_launch(). The function is thread-safe. */
void app_count(cl_kernel kernel, cl_uint dim, const size_t *global);
void app_launch(cl_kernel kernel, cl_uint dim, const size_t *offset, const size_t *global, const size_t *local);
void app_launch1(cl_kernel kernel, size_t global, size_t local); /* local 0: the runtime chooses */
/* adds data to the digest (FNV-1a), which depends on the order of calls */
void app_digest(const void *data, size_t size);
void app_digest_buffer(cl_mem mem, size_t size);
uint32_t app_random(void); /* returns the next pseudo-random number; the sequence is the same in each run */

#endif
