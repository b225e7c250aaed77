/* SPDX-License-Identifier: Apache-2.0 */
/* Each program prints "digest X threads N": a hash of its results, and the number of threads of its kernels. */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void check(cudaError_t error)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "%s\n", cudaGetErrorString(error));
		exit(1);
	}
}

template <typename T> struct device_array {
	T *data;
	size_t n;

	explicit device_array(size_t size) : n(size)
	{
		check(cudaMalloc(&data, n * sizeof(T)));
		check(cudaMemset(data, 0, n * sizeof(T)));
	}
	~device_array() { cudaFree(data); }
	uint64_t digest(uint64_t hash = 14695981039346656037u) const
	{
		std::vector<T> host(n);

		check(cudaDeviceSynchronize());
		check(cudaMemcpy(host.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
		for (size_t i = 0; i < n * sizeof(T); i++)
			hash = (hash ^ reinterpret_cast<unsigned char *>(host.data())[i]) * 1099511628211u;
		return hash;
	}
};

static inline int report(uint64_t digest, unsigned long long threads)
{
	printf("digest %016llx threads %llu\n", (unsigned long long)digest, threads);
	return 0;
}
