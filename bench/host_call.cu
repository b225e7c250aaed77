/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_call [THREADS BLOCKS]...: a mailbox written by hand, for comparison with bench/host_call.c. It does not use gpubpf.
 * Each warp owns a slot in pinned host memory, so it claims nothing, and it waits without a limit. The rows are those of
 * bench/host_call.c.
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

typedef unsigned long long u64;

enum { CALLS = 90, REPEAT = 10, LANES = 32 };

struct pair {
	u64 a, b;
};

struct slot {
	pair in[LANES], out[LANES];
};

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "host_call: %s\n", cudaGetErrorString(error));
	exit(1);
}

static __device__ u64 load(const volatile u64 *p)
{
	return *p;
}

__global__ void call(slot *slots, volatile u64 *requests, volatile u64 *answers, u64 first, int n, u64 *failed)
{
	u64 thread = blockIdx.x * (u64)blockDim.x + threadIdx.x;
	unsigned lanes = __activemask(), lane = threadIdx.x % LANES, leader = __ffs(lanes) - 1;
	u64 warp = blockIdx.x * (u64)((blockDim.x + LANES - 1) / LANES) + threadIdx.x / LANES;
	volatile pair *in = &slots[warp].in[lane], *out = &slots[warp].out[lane];
	u64 b = 1, sum;

	for (int i = 0; i < n; i++) {
		in->a = thread;
		in->b = b;
		__syncwarp(lanes);
		if (lane == leader) {
			__threadfence_system();
			requests[warp] = (first + i) << 32 | lanes;
			while (load(&answers[warp]) != first + i)
				;
			__threadfence_system();
		}
		__syncwarp(lanes);
		sum = out->a;
		if (sum != thread + b)
			atomicAdd(failed, 1ull);
		b = sum;
		__syncwarp(lanes);
	}
}

struct host {
	slot *slots;
	u64 *requests, *answers;
	std::atomic<int> warps{ 0 };
	std::atomic<bool> stops{ false };
};

static void serve(host *h)
{
	while (!h->stops)
		for (int w = 0; w < h->warps; w++) {
			u64 request = __atomic_load_n(&h->requests[w], __ATOMIC_ACQUIRE);

			if (request >> 32 == h->answers[w])
				continue;
			for (int lane = 0; lane < LANES; lane++)
				if (request >> lane & 1)
					h->slots[w].out[lane] = { h->slots[w].in[lane].a + h->slots[w].in[lane].b, 0 };
			__atomic_store_n(&h->answers[w], request >> 32, __ATOMIC_RELEASE);
		}
}

static double run(host *h, int threads, int blocks, int n, u64 *first, u64 *failed)
{
	double best = 1e30;

	h->warps = blocks * ((threads + LANES - 1) / LANES);
	for (int i = 0; i < REPEAT; i++) {
		auto begin = std::chrono::steady_clock::now();

		call<<<blocks, threads>>>(h->slots, h->requests, h->answers, *first, n, failed);
		check(cudaDeviceSynchronize());
		double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
		best = ns < best ? ns : best;
		*first += n;
	}
	return best;
}

int main(int argc, char **argv)
{
	enum { WARPS = 65536 };
	host h;
	u64 *failed, first = 1;

	check(cudaMallocHost(&h.slots, WARPS * sizeof(slot)));
	check(cudaMallocHost(&h.requests, WARPS * sizeof(u64)));
	check(cudaMallocHost(&h.answers, WARPS * sizeof(u64)));
	check(cudaMallocManaged(&failed, sizeof(*failed)));
	*failed = 0;
	std::thread server(serve, &h);
	for (int i = -2; i <= 0 || i < argc; i += 2) {
		int threads = i == -2 ? 1 : i == 0 ? 32 : atoi(argv[i - 1]), blocks = i <= 0 ? 1 : atoi(argv[i]);
		double none = run(&h, threads, blocks, 0, &first, failed), all = run(&h, threads, blocks, CALLS, &first, failed);

		/* a slot that this row did not use begins the next row with its last number, so all start from zero */
		for (int w = 0; w < WARPS; w++)
			h.requests[w] = h.answers[w] = 0;
		printf("%d\t%d\t%.3f us per call\t%.0f calls per second\n", blocks, threads, (all - none) / CALLS / 1e3,
		       1e9 * CALLS * threads * blocks / (all - none));
	}
	h.stops = true;
	server.join();
	printf("%llu calls failed\n", *failed);
	return *failed != 0;
}
