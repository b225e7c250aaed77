/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests maps in SVM on an OpenCL device. If the list of SVM pointers for a launch has no free entry, the device refuses
 * the map and does not leak its memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/device/opencl/opencl.h"
#include "tests/tap.h"

static uint32_t allocated;
static size_t listed; /* size in bytes of the pointer list that the runtime got for the last launch */

static void *allocate(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	allocated++;
	return malloc(size);
}

static void release(cl_context context, void *memory)
{
	allocated--;
	free(memory);
}

static cl_int set_info(cl_kernel kernel, cl_kernel_exec_info what, size_t size, const void *value)
{
	listed = what == CL_KERNEL_EXEC_INFO_SVM_PTRS ? size : 0;
	return CL_SUCCESS;
}

int main(void)
{
	static struct gpubpf_device d = {
		.api = { .clSVMAlloc = allocate, .clSVMFree = release, .clSetKernelExecInfo = set_info }
	};
	static struct gpubpf_device_memory m[OCL_MAX_SVM + 1], none;
	struct gpubpf_reason why = { "" };
	uint32_t n = 0;
	int err = 0;

	while (n < OCL_MAX_SVM && !err)
		err = ocl_memory_get(&d, GPUBPF_PLACE_SVM, NULL, 64, &m[n++], &why);
	ok(!err && allocated == OCL_MAX_SVM, "%u maps are placed in SVM (%s)", n, why.text);
	ok(!ocl_set_svm_pointers(&d, NULL) && listed == OCL_MAX_SVM * sizeof(void *), "a launch lists all of them");
	err = ocl_memory_get(&d, GPUBPF_PLACE_SVM, NULL, 64, &m[n], &why);
	ok(err == -ENOSPC && strstr(why.text, "more than 256 maps are placed in SVM"), "one more is refused: %s", why.text);
	ok(allocated == OCL_MAX_SVM && !memcmp(&m[n], &none, sizeof(none)), "the refusal leaves no memory");
	ocl_memory_put(&d, &m[7]);
	ok(!ocl_memory_get(&d, GPUBPF_PLACE_SVM, NULL, 64, &m[7], &why), "after a release there is room again");
	for (uint32_t i = 0; i < n; i++)
		ocl_memory_put(&d, &m[i]);
	ok(!allocated, "all is released");
	return done();
}
