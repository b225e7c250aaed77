/* SPDX-License-Identifier: Apache-2.0 */
/* Include this header in only one source file of a test, because tests/tap.h counts per file. */
#ifndef GPUBPF_TESTS_CUDA_SASS_EACH_CUBIN_H
#define GPUBPF_TESTS_CUDA_SASS_EACH_CUBIN_H

#include <stdlib.h>

#include "tests/backends/cuda/case.h"
#include "tests/tap.h"

/*
 * Calls fn with the compiled_cubin() of each architecture in the NULL-terminated list, except if the compilation fails.
 * Returns whether all succeeded.
 */
static bool compiled_each(const char *source, const char *const *arches, const char *options,
			  void (*fn)(const char *arch, const char *data, size_t size))
{
	bool all = true;

	for (; *arches; arches++) {
		size_t size;
		char *data = compiled_cubin(source, *arches, options, &size);

		all &= !!data;
		if (data)
			fn(*arches, data, size);
		else
			skip(*arches, "no nvcc here that compiles for it; GPUBPF_TEST_NVCC names one");
		free(data);
	}
	return all;
}

#endif
