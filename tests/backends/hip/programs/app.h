/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the HIP test programs share. Each program is an ordinary application without knowledge of probes. It
 * prints a digest of all results. For each kernel it prints how many threads it launched. A test compares runs with and
 * without probes, and checks the counts exactly:
 *
 *   digest 0123456789abcdef
 *   kernel NAME launches 3 items 3072
 *
 * The grids are small, because the programs also run on a simulator, which may lack hipMemset.
 */
#ifndef GPUBPF_TESTS_HIP_APP_H
#define GPUBPF_TESTS_HIP_APP_H

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace app {

struct launches {
	unsigned long times = 0, items = 0;
};

inline std::map<std::string, launches> kernels;
inline std::mutex lock;
inline uint64_t hash = 0xcbf29ce484222325u;

inline void good(hipError_t error, const char *what)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
	exit(1);
}
#define GOOD(call) app::good(call, #call)

/* Counts a launch of `items` threads in total. The function is thread-safe. */
inline void count(const char *kernel, size_t items, unsigned long times = 1)
{
	std::lock_guard<std::mutex> guard(lock);

	kernels[kernel].times += times;
	kernels[kernel].items += items * times;
}

inline void digest(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3u;
}

template <typename T> struct array {
	T *data = nullptr;
	size_t n;

	explicit array(size_t n, T first = T()) : n(n)
	{
		std::vector<T> all(n, first);

		GOOD(hipMalloc(reinterpret_cast<void **>(&data), n * sizeof(T)));
		GOOD(hipMemcpy(data, all.data(), n * sizeof(T), hipMemcpyHostToDevice));
	}
	explicit array(const std::vector<T> &from) : n(from.size())
	{
		GOOD(hipMalloc(reinterpret_cast<void **>(&data), n * sizeof(T)));
		GOOD(hipMemcpy(data, from.data(), n * sizeof(T), hipMemcpyHostToDevice));
	}
	array(const array &) = delete;
	array &operator=(const array &) = delete;
	~array()
	{
		GOOD(hipFree(data));
	}
	std::vector<T> read() const
	{
		std::vector<T> all(n);

		GOOD(hipMemcpy(all.data(), data, n * sizeof(T), hipMemcpyDeviceToHost));
		return all;
	}
	void digest() const
	{
		app::digest(read().data(), n * sizeof(T));
	}
};

/* Returns n pseudo-random numbers, the same in each run. */
inline std::vector<uint32_t> numbers(size_t n)
{
	std::vector<uint32_t> all(n);
	uint32_t x = 12345;

	for (uint32_t &v : all)
		v = x = x * 1664525 + 1013904223;
	return all;
}

inline int done()
{
	printf("digest %016lx\n", static_cast<unsigned long>(hash));
	for (const auto &[name, l] : kernels)
		printf("kernel %s launches %lu items %lu\n", name.c_str(), l.times, l.items);
	return 0;
}

/* Returns the path of the code object that the test built from NAME.hip, in the folder of the program. */
inline std::string beside(const char *name)
{
	char path[4096] = "";

	if (!realpath("/proc/self/exe", path))
		exit(1);
	std::string self(path);
	return self.substr(0, self.rfind('/') + 1) + name;
}

} // namespace app

#endif
