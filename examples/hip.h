/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For HIP workloads; does not use gpubpf. Like inside.h, it runs kernel(from, to) on buffers of `words` 32-bit numbers.
 * The first buffer contains 0, 1, 2, ... The program prints a checksum of the kernel's output. Any error ends the
 * program.
 */
#ifndef EXAMPLES_HIP_H
#define EXAMPLES_HIP_H

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void check(hipError_t error, const char *what)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "%s failed: %s\n", what, hipGetErrorString(error));
	exit(error == hipErrorNoDevice ? 77 : 1);
}
#define CHECK(call) check(call, #call)

/* Returns a new device buffer that contains these numbers. */
static inline unsigned *buffer(const std::vector<unsigned> &numbers)
{
	unsigned *data;

	CHECK(hipMalloc(reinterpret_cast<void **>(&data), numbers.size() * sizeof(*data)));
	CHECK(hipMemcpy(data, numbers.data(), numbers.size() * sizeof(*data), hipMemcpyHostToDevice));
	return data;
}

/* Returns a copy of the numbers in a device buffer. */
static inline std::vector<unsigned> read(const unsigned *data, size_t words)
{
	std::vector<unsigned> numbers(words);

	CHECK(hipMemcpy(numbers.data(), data, words * sizeof(*data), hipMemcpyDeviceToHost));
	return numbers;
}

template <typename F> static int inside_run(F kernel, const char *name, size_t words, unsigned threads, unsigned block)
{
	std::vector<unsigned> numbers(words), zeros(words);
	unsigned *from, *to, sum = 0;

	for (size_t i = 0; i < words; i++)
		numbers[i] = i;
	from = buffer(numbers);
	to = buffer(zeros);
	kernel<<<threads / block, block>>>(from, to);
	for (unsigned number : read(to, words))
		sum = sum * 31 + number;
	printf("%s: %u\n", name, sum);
	CHECK(hipFree(from));
	CHECK(hipFree(to));
	return 0;
}

#endif
