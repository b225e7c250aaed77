/* SPDX-License-Identifier: Apache-2.0 */
/*
 * __constant__ variables that change between launches: the host writes them, a kernel
 * writes them through their address, and a node of a repeatedly launched graph writes them.
 */
#include "../threads.cuh"

enum { N = 4096, BLOCK = 128, ROUNDS = 10 };

__constant__ unsigned factors[64];
__constant__ double weights[4];
__constant__ struct { int most; short step; unsigned char mask; } limits;

__global__ void read_all(unsigned *out, const unsigned *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned x = in[i & (N - 1)], sum = factors[0] * x + factors[7];

	if (i >= n)
		return;
	for (int k = 0; k < limits.most; k += limits.step)
		sum = sum * 31 + factors[k & 63];
	sum ^= factors[x & 63] + factors[(i >> 5) & 63];
	sum += (unsigned)(long long)(weights[1] * x + weights[i & 3]);
	out[i] += x & limits.mask ? sum : ~sum;
}

/* Writes to the __constant__ variable that later launches read. */
__global__ void change(unsigned *of, int n)
{
	if (threadIdx.x < n)
		of[threadIdx.x] = of[threadIdx.x] * 1664525u + 1013904223u;
}

static void set(unsigned seed, cudaStream_t stream)
{
	static unsigned host[ROUNDS + 1][64];
	static double reals[ROUNDS + 1][4];
	unsigned *row = host[seed % (ROUNDS + 1)];
	double *real = reals[seed % (ROUNDS + 1)];
	decltype(limits) now = { (int)(10 + seed), (short)(1 + seed % 3), (unsigned char)(1 << seed % 5) };

	check(cudaStreamSynchronize(stream));
	for (int i = 0; i < 64; i++)
		row[i] = (seed + 1) * 2654435761u ^ i * 40503u;
	for (int i = 0; i < 4; i++)
		real[i] = seed * 1.25 + i;
	check(cudaMemcpyToSymbolAsync(factors, row, sizeof(host[0]), 0, cudaMemcpyHostToDevice, stream));
	check(cudaMemcpyToSymbolAsync(weights, real, sizeof(reals[0]), 0, cudaMemcpyHostToDevice, stream));
	check(cudaMemcpyToSymbol(limits, &now, sizeof(now)));
}

int main()
{
	device_array<unsigned> out(N), in(N), other(64);
	std::vector<unsigned> data(N);
	unsigned long long threads = 0;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	void *where;

	for (unsigned i = 0; i < N; i++)
		data[i] = i * 2246822519u;
	check(cudaMemcpy(in.data, data.data(), N * sizeof(unsigned), cudaMemcpyHostToDevice));
	check(cudaStreamCreate(&stream));
	check(cudaGetSymbolAddress(&where, factors));
	for (int round = 0; round < ROUNDS; round++) {
		set(round, stream);
		read_all<<<N / BLOCK, BLOCK, 0, stream>>>(out.data, in.data, N - 3);
		change<<<1, 64, 0, stream>>>((unsigned *)where, 50 + round);
		read_all<<<N / BLOCK, BLOCK, 0, stream>>>(out.data, in.data, N - 3);
		threads += 2 * N + 64;
	}
	check(cudaMemcpyAsync(other.data, in.data, 64 * sizeof(unsigned), cudaMemcpyDeviceToDevice, stream));
	check(cudaStreamSynchronize(stream));
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	read_all<<<N / BLOCK, BLOCK, 0, stream>>>(out.data, in.data, N - 3);
	check(cudaMemcpyToSymbolAsync(factors, other.data, 64 * sizeof(unsigned), 0, cudaMemcpyDeviceToDevice, stream));
	read_all<<<N / BLOCK, BLOCK, 0, stream>>>(out.data, in.data, N - 3);
	change<<<1, 64, 0, stream>>>((unsigned *)where, 64);
	read_all<<<N / BLOCK, BLOCK, 0, stream>>>(out.data, in.data, N - 3);
	check(cudaStreamEndCapture(stream, &graph));
	check(cudaGraphInstantiate(&exec, graph, 0));
	for (int round = 0; round < ROUNDS; round++) {
		check(cudaGraphLaunch(exec, stream));
		threads += 3 * N + 64;
	}
	check(cudaStreamSynchronize(stream));
	check(cudaGraphExecDestroy(exec));
	check(cudaGraphDestroy(graph));
	return report(out.digest(), threads);
}
