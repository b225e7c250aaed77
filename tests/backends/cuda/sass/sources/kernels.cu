/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that end in different ways, for tests of exit probes. Each takes (int *out, const int *in, int n, int m),
 * runs with any number of 256-thread blocks, and writes only its thread's words, or sums that do not depend on order.
 */
#define ME (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL straight(int *out, const int *in, int n, int m)
{
	out[ME] = in[ME & 1023] * n + m;
}

/* consecutive predicated exits */
KERNEL early(int *out, const int *in, int n, int m)
{
	int v = in[ME & 1023];

	if (v % 7 == n)
		return;
	out[ME] = v;
	if ((v & 3) == m && v > 100)
		return;
	out[ME] = v * 3;
}

/* some lanes exit in a loop, while the other lanes continue with values in uniform registers */
KERNEL loop(int *out, const int *in, int n, int m)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		int v = in[(ME * 5 + i * m) & 1023];

		sum = sum * 31 + v;
		if ((v & 63) == (int)(ME & 63)) {
			out[ME] = sum;
			return;
		}
	}
	out[ME] = -sum;
}

/* loads with unused results and no scoreboard */
KERNEL unwanted(int *out, const int *in, int n, int m)
{
	__shared__ volatile int shared[256];
	const volatile int *again = in;
	int v = in[ME & 1023] + again[n & 1023];

	(void)again[v & 1023];
	shared[threadIdx.x] = v;
	(void)shared[threadIdx.x * 32 & 255];
	out[ME] = v * m;
	(void)again[(v >> 4) & 1023];
}

/* some lanes exit; the remaining lanes reconverge */
KERNEL warps(int *out, const int *in, int n, int m)
{
	int lane = threadIdx.x & 31, v = in[ME & 1023];

	if (lane < (v & 7) + n) {
		for (int i = 0; i < lane + m; i++)
			v = v * 1103515245 + 12345;
		if (v & 32) {
			out[ME] = v;
			return;
		}
	}
	__syncwarp(__activemask());
	v += __popc(__activemask()) > 0;
	v += __shfl_xor_sync(__activemask(), v, 0);
	out[ME] = v;
}

/* whole warps exit before a barrier of the block, single threads exit after it */
KERNEL block(int *out, const int *in, int n, int m)
{
	__shared__ int shared[256];
	int sum = 0;

	shared[threadIdx.x] = in[ME & 1023];
	__syncthreads();
	if ((int)threadIdx.x >= 32 * n)
		return;
	for (int i = 0; i < m; i++)
		sum += __vsadu4(shared[(threadIdx.x + i) & 255], i) * i; /* a byte-wise sum */
	__syncwarp();
	atomicAdd(&out[threadIdx.x & 255], sum);
	if (sum & 1)
		return;
	out[1024 + ME] = sum;
}

/* called by `calls`: a recursive function, and a function that ends the thread */
static __device__ __noinline__ int tree(int x)
{
	return x < 2 ? x : tree(x - 1) + tree(x - 2);
}

static __device__ __noinline__ void leave(int *at, int v)
{
	if (v & 1) {
		*at = v;
		asm volatile("exit;");
	}
	*at = -v;
}

KERNEL calls(int *out, const int *in, int n, int m)
{
	out[ME] = tree((in[ME & 1023] & 7) + n);
	leave(&out[ME], out[ME] + m);
	out[ME] += 5;
}

/* functions with their own sections in separately linked parts: called by name, and through pointers */
extern __device__ int counted;
__device__ int counted;

static __device__ __noinline__ int add(int x)
{
	return x + atomicAdd(&counted, 1);
}

static __device__ __noinline__ int subtract(int x)
{
	return add(-x);
}

KERNEL named(int *out, const int *in, int n, int m)
{
	out[ME] = add(subtract(in[ME & 1023] + n) + m);
}

static __device__ __noinline__ int square(int x)
{
	return x * x;
}

static __device__ __noinline__ int negate(int x)
{
	return -x;
}

__device__ int (*pointers[2])(int) = { square, negate };

KERNEL pointed(int *out, const int *in, int n, int m)
{
	out[ME] = pointers[in[ME & 1023] & 1](n) + pointers[m & 1](in[0]);
}

/* volatile loads whose results are unused, and stores just before the end */
KERNEL volatile_tail(int *out, const int *in, int n, int m)
{
	(void)*(volatile int *)(out + ME);
}

KERNEL wide(int4 *out, const int *in, int n, int m)
{
	int4 v[8];

#pragma unroll
	for (int i = 0; i < 8; i++)
		v[i] = make_int4(ME * i + n, ME ^ i, m - i, ~(ME + i));
	asm volatile("" ::: "memory");
#pragma unroll
	for (int i = 0; i < 8; i++)
		out[ME * 8 + i] = v[i];
}

/* uses so many registers that a probe must share registers of the kernel */
KERNEL __launch_bounds__(256, 2) many(float *out, const int *in, int n, int m)
{
	float v[96];

#pragma unroll
	for (int i = 0; i < 96; i++)
		v[i] = in[(ME + i * m) & 1023];
	for (int k = 0; k < n; k++)
#pragma unroll
		for (int i = 0; i < 96; i++)
			v[i] = v[i] * v[(i + 7) % 96] * 1e-4f + v[(i + 13) % 96];
	float sum = 0;
#pragma unroll
	for (int i = 0; i < 96; i++)
		sum += v[i];
	if (sum < 0)
		return;
	out[ME] = sum;
}

#define DEEPER(k, inside) \
	for (int i##k = in[(sum + k) & 1023] & 1; i##k; i##k--) { \
		sum += in[(i##k + sum) & n]; \
		inside \
		sum = sum * 5 ^ in[(sum * k) & 1023]; \
	}
#define DEEPER_4(k, inside) DEEPER(k##0, DEEPER(k##1, DEEPER(k##2, DEEPER(k##3, inside))))

/* divergence so deep that the kernel uses nearly all convergence barriers */
KERNEL nested(int *out, const int *in, int n, int m)
{
	int sum = ME;

	DEEPER_4(1, DEEPER_4(2, DEEPER_4(3, DEEPER(40, DEEPER(41, )))))
	out[ME] = sum + m;
}

/* the code of the kernel itself has no EXIT */
KERNEL stops(int *out, const int *in, int n, int m)
{
	out[ME] = n;
	asm volatile("trap;");
	__builtin_unreachable();
}

__device__ int total, table[64];

/* uses variables of the module; the twin gets their addresses */
KERNEL variables(int *out, const int *in, int n, int m)
{
	atomicAdd(&total, 1);
	table[ME & 63] = n;
	out[ME] = table[(ME + 1) & 63] >= 0;
}

KERNEL vector_add(const float *a, const float *b, float *c, int n)
{
	int i = ME;

	if (i < n)
		c[i] = a[i] + b[i];
}

#include <mma.h>

/* Uses tensor cores; the image has an attribute that says so. */
extern "C" __global__ void tensor(const half *a, const half *b, float *c, int n)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> left;
	fragment<matrix_b, 16, 16, 16, half, col_major> right;
	fragment<accumulator, 16, 16, 16, float> sum;

	fill_fragment(sum, 0.0f);
	load_matrix_sync(left, a, 16);
	load_matrix_sync(right, b, 16);
	mma_sync(sum, left, right, sum);
	store_matrix_sync(c + n, sum, 16, mem_row_major);
}
