/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device functions that the compiler does not inline. Diverged lanes, other functions, templates and classes call
 * them. One kernel calls a recursive function, so it can have no probe. Prints "call NAME N SUM RESULTS" for
 * each function: its number of calls, the sum of its first arguments, and the sum of the low halves of its results.
 */
#include "../threads.cuh"

enum { TWIST, MIX, BLEND, STEP, FUNCTIONS };

__device__ unsigned long long told[FUNCTIONS][3];

__device__ void tell(int function, unsigned argument)
{
	atomicAdd(&told[function][0], 1);
	atomicAdd(&told[function][1], argument);
}

__device__ unsigned low(unsigned v)
{
	return v;
}

__device__ unsigned low(float v)
{
	return __float_as_uint(v);
}

__device__ unsigned low(double v)
{
	return (unsigned)__double_as_longlong(v);
}

template <typename T> __device__ T back(int function, T v)
{
	atomicAdd(&told[function][2], low(v));
	return v;
}

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ unsigned twist(unsigned n)
{
	tell(TWIST, n);
	if (n == 3)
		return back(TWIST, 1u); /* some lanes return before the others */
	return back(TWIST, n * 40503u);
}

static __device__ __noinline__ unsigned mix(unsigned a, unsigned b)
{
	tell(MIX, a);
	return back(MIX, (a ^ b) * 2654435761u);
}

template <typename T> __device__ __noinline__ T blend(unsigned of, T a, T b)
{
	tell(BLEND, of);
	return back(BLEND, a * (T)0.25 + b * (T)0.75 + (T)(mix(of, 7) >> 8));
}

struct shape {
	unsigned at;

	__device__ __noinline__ static unsigned step(unsigned by, shape of)
	{
		tell(STEP, by);
		return back(STEP, of.at + by);
	}
};

__device__ __forceinline__ unsigned inlined(unsigned a)
{
	return a * 3;
}

__global__ void calls(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned v = i % 5 == 0 ? twist(i % 7) : inlined(i);

	for (unsigned k = 0; k < i % 3; k++)
		v += mix(i + k, v);
	if (i % 2)
		v += (unsigned)blend<float>(i % 11, 1.5f, 2.5f);
	else
		v += (unsigned)blend<double>(i % 13, 1.5, 2.5);
	out[i] = v + shape::step(i % 4, shape{ i });
}

__global__ void recursive(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] += fibonacci(i % 7);
}

int main()
{
	static const char *const names[] = { "twist", "mix", "blend", "step" };
	unsigned long long host[FUNCTIONS][3];
	const unsigned n = 64 * 128;
	device_array<unsigned> out(n);

	calls<<<64, 128>>>(out.data);
	recursive<<<64, 128>>>(out.data);
	check(cudaMemcpyFromSymbol(host, told, sizeof(host)));
	for (int i = 0; i < FUNCTIONS; i++)
		printf("call %s %llu %llu %llu\n", names[i], host[i][0], host[i][1], host[i][2]);
	return report(out.digest(), n);
}
