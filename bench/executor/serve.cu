/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve [BLOCKS]: a persistent queue written by hand, for comparison with bench/executor/serve.c. It does not use gpubpf. The kernel
 * hashes records as the program `hash` of bench/executor/serve.bpf.c does. Each block has a queue of 64 requests in pinned memory.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef unsigned long long u64;

enum { SLOTS = 64, THREADS = 128, RUNS = 20000, IN_FLIGHT = 32, MOST = 4 << 20, BATCHES = 200 };

struct request {
	u64 number;
	unsigned offset, size;
};

struct queue {
	request requests[SLOTS];
	u64 answers[SLOTS];
};

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "serve: %s\n", cudaGetErrorString(error));
	exit(1);
}

static double now_us()
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__device__ static void hash(u64 *words, unsigned bytes)
{
	for (unsigned i = threadIdx.x; i < bytes / 64; i += blockDim.x) {
		u64 h = 0xcbf29ce484222325ull;

		for (int k = 0; k < 7; k++)
			h = (h ^ words[8 * i + k]) * 0x100000001b3ull;
		words[8 * i + 7] = h;
	}
}

__global__ void once(char *data, unsigned size)
{
	hash((u64 *)data, size);
}

__global__ void serve(queue *queues, char *data, volatile int *stop)
{
	__shared__ request next;
	queue *q = &queues[blockIdx.x];

	for (u64 n = 0;; n++) {
		if (!threadIdx.x) {
			volatile request *from = &q->requests[n % SLOTS];
			unsigned polls = 0;

			next.number = 0;
			while (from->number != n + 1 && !(++polls % 16 == 0 && *stop))
				;
			__threadfence_system();
			if (from->number == n + 1) {
				next.number = n + 1;
				next.offset = from->offset;
				next.size = from->size;
			}
		}
		__syncthreads();
		if (!next.number)
			return;
		hash((u64 *)(data + next.offset), next.size);
		__threadfence_system();
		__syncthreads();
		if (!threadIdx.x)
			*(volatile u64 *)&q->answers[n % SLOTS] = n + 1;
	}
}

struct server {
	queue *queues;
	unsigned blocks, next = 0;
	std::vector<u64> posted;
};

struct ticket {
	unsigned block;
	u64 number;
};

static ticket submit(server &s, unsigned offset, unsigned size)
{
	unsigned block = s.next++ % s.blocks;
	u64 number = ++s.posted[block];
	request *r = &s.queues[block].requests[(number - 1) % SLOTS];

	r->offset = offset;
	r->size = size;
	__atomic_store_n(&r->number, number, __ATOMIC_RELEASE);
	return { block, number };
}

static void wait(server &s, ticket t)
{
	while (__atomic_load_n(&s.queues[t.block].answers[(t.number - 1) % SLOTS], __ATOMIC_ACQUIRE) < t.number)
		;
}

static void measure(server &s)
{
	std::vector<double> times(RUNS);
	ticket tickets[IN_FLIGHT];

	for (double &us : times) {
		double begin = now_us();

		wait(s, submit(s, 0, 0));
		us = now_us() - begin;
	}
	std::sort(times.begin(), times.end());
	printf("run\tqueue by hand\tmedian %.3f us\tshortest %.3f us\t99 %% %.3f us\n", times[RUNS / 2], times[0], times[RUNS / 100 * 99]);
	double begin = now_us();
	for (int n = 0; n < 50 * RUNS; n++) {
		if (n >= IN_FLIGHT)
			wait(s, tickets[n % IN_FLIGHT]);
		tickets[n % IN_FLIGHT] = submit(s, 0, 0);
	}
	for (ticket t : tickets)
		wait(s, t);
	printf("run\tqueue by hand, %d at a time\t%.0f runs/s\n", IN_FLIGHT, 50e6 * RUNS / (now_us() - begin));
}

static double measure_batch(server &s, unsigned size)
{
	unsigned part = (size / s.blocks + 4095) / 4096 * 4096;
	double begin = now_us();

	for (int i = 0; i < BATCHES; i++) {
		std::vector<ticket> tickets;

		for (unsigned at = 0; at < size; at += part)
			tickets.push_back(submit(s, at, std::min(part, size - at)));
		for (ticket t : tickets)
			wait(s, t);
	}
	return (now_us() - begin) / BATCHES;
}

static double measure_launch(unsigned blocks, char *data, unsigned size)
{
	once<<<blocks, THREADS>>>(data, size);
	check(cudaDeviceSynchronize());
	double begin = now_us();
	for (int i = 0; i < 2000; i++) {
		once<<<blocks, THREADS>>>(data, size);
		check(cudaDeviceSynchronize());
	}
	return (now_us() - begin) / 2000;
}

int main(int argc, char **argv)
{
	server s;
	char *data, *on_device;
	int *stop;

	s.blocks = argc > 1 ? atoi(argv[1]) : 1;
	s.posted.resize(s.blocks);
	check(cudaMallocHost(&s.queues, s.blocks * sizeof(queue)));
	check(cudaMallocHost(&data, MOST));
	check(cudaMallocHost(&stop, sizeof(int)));
	check(cudaMalloc(&on_device, MOST));
	memset(s.queues, 0, s.blocks * sizeof(queue));
	memset(data, 1, MOST);
	*stop = 0;
	printf("run\tlaunch and synchronize\t%.3f us\n", measure_launch(1, on_device, 0));
	for (unsigned size = 4096; size <= MOST; size *= 4)
		printf("hash\t%u\tlaunch of one block %.1f us\n", size, measure_launch(1, on_device, size));
	serve<<<s.blocks, THREADS>>>(s.queues, data, stop);
	check(cudaGetLastError());
	measure(s);
	for (unsigned size = 4096; size <= MOST; size *= 4) {
		double us = measure_batch(s, size);

		printf("hash\t%u\tqueue by hand %.1f us, %.2f GB/s\n", size, us, size / us / 1e3);
	}
	*(volatile int *)stop = 1;
	check(cudaDeviceSynchronize());
	return 0;
}
