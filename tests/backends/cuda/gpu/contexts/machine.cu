/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler emits one machine instruction for each access of global memory, atomic and barrier in the source.
 * Prints "machine" and sums: ACCESSES BYTES ADDRESSES STORED KINDS for probes before accesses, and the same again for
 * probes after accesses; TIMES OPS OPERANDS OLD of atomics; TIMES KINDS NUMBERS of barriers, before and after each.
 */
#include "../threads.cuh"

enum { N = 30011, BLOCK = 128, BLOCKS = (N + BLOCK - 1) / BLOCK, THREADS = BLOCKS * BLOCK, LOAD = 1, STORE, ATOMIC,
       FILLED = 0x01010101, ADDS = 1, COMPARES = 9 };

__global__ void add(const unsigned *a, const unsigned *b, unsigned *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* every third lane executes a store between two stores of all lanes */
__global__ void some(volatile unsigned *a, volatile unsigned *b, volatile unsigned *c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	a[i + 3] = i;
	if (i % 3 == 1)
		b[i] = 5 * i;
	c[i] = i ^ 1;
}

__global__ void walk(const volatile unsigned *in, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned sum = 0;

	for (int k = 0; k < i % 4; k++)
		sum += in[i + k];
	out[i] = sum;
}

__global__ void wide(const uint4 *a, uint4 *b, volatile unsigned char *c, volatile unsigned short *d, volatile uint64_t *e)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 v = a[i + 1];

	b[i] = make_uint4(v.w, v.z, v.y, v.x);
	c[i] = 7 * i;
	d[i] = 77 * i;
	e[i] = (uint64_t)i << 30;
}

__global__ void count(unsigned *counts, unsigned *cells, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&counts[(i * 7) % 97], i);
	out[i] = atomicAdd(&cells[i], 9) + atomicCAS(&cells[i + THREADS], FILLED, i);
}

__global__ void ways(unsigned *out, unsigned n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i & 1) {
		if (i % 5 == 0)
			return;
		for (unsigned k = i % 7; k < n; k += 2)
			out[i] = ((volatile unsigned *)out)[i] + k;
	} else if (i & 2) {
		((volatile unsigned *)out)[i] = i * n;
	}
	__syncwarp(__activemask());
	((volatile unsigned *)out)[i + THREADS] = i;
}

__global__ void turn(unsigned *out)
{
	__shared__ volatile unsigned tile[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;

	tile[t] = i;
	__syncthreads();
	out[i] = tile[BLOCK - 1 - t];
	asm volatile("bar.sync 3;" ::: "memory");
	tile[t] = out[i ^ 1];
	__syncthreads();
	((volatile unsigned *)out)[i + THREADS] = tile[t ^ 3];
}

__device__ void fetch(unsigned *to, const unsigned *from, unsigned bytes)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes));
#else
	*to = bytes ? *(const volatile unsigned *)from : 0;
#endif
}

/* every third thread copies 0 bytes, which reads nothing */
__global__ void copy(const unsigned *in, volatile unsigned *out)
{
	__shared__ unsigned tile[2 * BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;

	fetch(&tile[t], &in[i + 5], 4);
	fetch(&tile[t + BLOCK], &in[i], i % 3 ? 4 : 0);
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
	out[i] = tile[t] + tile[t + BLOCK];
}

/* the result of a vote of the block is stored while another load is in flight */
__global__ void found(const volatile unsigned *in, volatile unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, some = __syncthreads_or(in[i] % 5000 == 4);
	unsigned next = in[i + 1];

	out[i] = some ? next : i;
}

static struct {
	unsigned long long accesses, bytes, addresses, stored, kinds;
} expected;

static void at(int kind, const volatile void *address, unsigned bytes, uint64_t value = 0, uint64_t high = 0)
{
	expected.accesses++;
	expected.bytes += bytes;
	expected.addresses += (uint64_t)address;
	expected.stored += value + 3 * high;
	expected.kinds += kind;
}

static unsigned walked(unsigned i)
{
	unsigned sum = 0;

	for (unsigned k = 0; k < i % 4; k++)
		sum += 2 * (i + k);
	return sum;
}

/* Does any thread j of i's block read a value with in[j] % 5000 == 4? in[j] is 2 * j. */
static bool is_found(unsigned i)
{
	unsigned first = (i - i % BLOCK + 2497) / 2500 * 2500 + 2;

	return first / BLOCK == i / BLOCK;
}

static void expect_ways(unsigned i, const unsigned *out, unsigned n)
{
	unsigned value = 0;

	if (i & 1) {
		if (i % 5 == 0)
			return;
		for (unsigned k = i % 7; k < n; k += 2) {
			value += k;
			at(LOAD, &out[i], 4);
			at(STORE, &out[i], 4, value);
		}
	} else if (i & 2) {
		at(STORE, &out[i], 4, i * n);
	}
	at(STORE, &out[i + THREADS], 4, i);
}

int main()
{
	device_array<unsigned> a(THREADS + 16), b(THREADS + 16), c(THREADS + 16), d(2 * THREADS), counts(97), cells(2 * THREADS);
	device_array<uint4> x(THREADS + 16), y(THREADS);
	device_array<unsigned char> bytes(THREADS);
	device_array<unsigned short> halves(THREADS);
	device_array<uint64_t> words(THREADS);
	std::vector<unsigned> twice(THREADS + 16);
	unsigned long long atomics[4] = {};
	uint64_t digest;

	for (unsigned i = 0; i < twice.size(); i++)
		twice[i] = i;
	check(cudaMemcpy(a.data, twice.data(), 4 * twice.size(), cudaMemcpyHostToDevice));
	check(cudaMemcpy(b.data, twice.data(), 4 * twice.size(), cudaMemcpyHostToDevice));
	add<<<BLOCKS, BLOCK>>>(a.data, b.data, c.data, N);
	digest = c.digest();
	for (unsigned i = 0; i < twice.size(); i++)
		twice[i] = 2 * i;
	check(cudaMemcpy(c.data, twice.data(), 4 * twice.size(), cudaMemcpyHostToDevice));
	walk<<<BLOCKS, BLOCK>>>(c.data, d.data);
	digest = d.digest(digest);
	some<<<BLOCKS, BLOCK>>>(a.data, b.data, c.data);
	digest = a.digest(b.digest(c.digest(digest)));
	check(cudaMemset(x.data, 0x5a, x.n * sizeof(uint4)));
	wide<<<BLOCKS, BLOCK>>>(x.data, y.data, bytes.data, halves.data, words.data);
	digest = y.digest(bytes.digest(halves.digest(words.digest(digest))));
	check(cudaMemset(cells.data, 1, 4 * cells.n));
	count<<<BLOCKS, BLOCK>>>(counts.data, cells.data, c.data);
	digest = counts.digest(cells.digest(c.digest(digest)));
	check(cudaMemset(d.data, 0, 4 * d.n));
	ways<<<BLOCKS, BLOCK>>>(d.data, 11);
	digest = d.digest(digest);
	turn<<<BLOCKS, BLOCK>>>(cells.data);
	digest = cells.digest(digest);
	check(cudaMemcpy(a.data, twice.data(), 4 * twice.size(), cudaMemcpyHostToDevice)); /* 2 * i */
	copy<<<BLOCKS, BLOCK>>>(a.data, b.data);
	digest = b.digest(digest);
	found<<<BLOCKS, BLOCK>>>(a.data, d.data);
	digest = d.digest(digest);
	for (unsigned i = 0; i < THREADS; i++) {
		const uint64_t pair = 0x5a5a5a5a5a5a5a5aull;

		if (i < N) {
			at(LOAD, &a.data[i], 4);
			at(LOAD, &b.data[i], 4);
			at(STORE, &c.data[i], 4, 2 * i);
		}
		for (unsigned k = 0; k < i % 4; k++)
			at(LOAD, &c.data[i + k], 4);
		at(STORE, &d.data[i], 4, walked(i));
		at(STORE, &a.data[i + 3], 4, i);
		if (i % 3 == 1)
			at(STORE, &b.data[i], 4, 5 * i);
		at(STORE, &c.data[i], 4, i ^ 1);
		at(LOAD, &x.data[i + 1], 16);
		at(STORE, &y.data[i], 16, pair, pair);
		at(STORE, &bytes.data[i], 1, 7 * i & 0xff);
		at(STORE, &halves.data[i], 2, 77 * i & 0xffff);
		at(STORE, &words.data[i], 8, (uint64_t)i << 30);
		at(ATOMIC, &counts.data[i * 7 % 97], 4, i);
		at(ATOMIC, &cells.data[i], 4, 9);
		at(ATOMIC, &cells.data[i + THREADS], 4, i);
		at(STORE, &c.data[i], 4, 2 * FILLED);
		at(STORE, &cells.data[i], 4, i ^ (BLOCK - 1));
		at(LOAD, &cells.data[i ^ 1], 4);
		at(STORE, &cells.data[i + THREADS], 4, i ^ (BLOCK - 1) ^ 1 ^ 3);
		at(LOAD, &a.data[i + 5], 4);
		if (i % 3)
			at(LOAD, &a.data[i], 4);
		at(STORE, &b.data[i], 4, 2 * (i + 5) + (i % 3 ? 2 * i : 0));
		at(LOAD, &a.data[i], 4);
		at(LOAD, &a.data[i + 1], 4);
		at(STORE, &d.data[i], 4, is_found(i) ? 2 * (i + 1) : i);
		atomics[0] += 3;
		atomics[1] += 2 * ADDS + COMPARES;
		atomics[2] += i + 9 + FILLED;
		atomics[3] += 2 * FILLED;
		expect_ways(i, d.data, 11);
	}
	for (int twice = 0; twice < 2; twice++)
		printf("%s%llu %llu %llu %llu %llu", twice ? " " : "machine ", expected.accesses, expected.bytes, expected.addresses, expected.stored, expected.kinds);
	printf(" %llu %llu %llu %llu", atomics[0], atomics[1], atomics[2], atomics[3]);
	for (int twice = 0; twice < 2; twice++)
		printf(" %d %d %d", 4 * THREADS, 4 * THREADS, 3 * THREADS);
	printf("\n");
	return report(digest, 9 * THREADS);
}
