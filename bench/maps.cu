/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA program that bench/maps measures. It does not use gpubpf.
 *
 *   maps native [LAUNCHES [LOG2]]   vector_add with 2^LOG2 threads
 *   maps hand [LAUNCHES [LOG2]]     the same with the work of bench/maps.bpf.c written by hand, in the fastest form
 *                                   known: tables with open addressing, one ticket for the lanes of a warp
 *   maps sizes [LAUNCHES [LOG2]]    like native; the last line is "N ns, N ns of processor", as in bench/workload
 *
 * Each prints a line: name, nanoseconds of the best and the median launch by CUDA events, operations per launch.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef unsigned long long u64;
typedef uint32_t u32;

enum { KEYS = 1 << 20, SLOTS = 2 * KEYS, HOT = 256, QUEUE = 1 << 20, WAYS = 8 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "maps: %s\n", cudaGetErrorString(error));
	exit(1);
}

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* ---- hand-written operations ---- */

struct slot {
	u32 key, used; /* key: the key + 1, or 0 for a free slot. used: the slot was recently used (LRU tables only). */
	u64 count;
};

struct cell {
	u64 turn, value;
};

struct tables {
	slot *slots;
	u64 *counts;         /* counts of hot keys: 2 * HOT slots for each multiprocessor */
	u32 *hot;            /* keys of the slots in `counts`: 2 * HOT slots */
	cell *cells;
	u64 *tickets;        /* next push ticket and next pop ticket, in separate cache lines */
	u32 *failed;
};

static __device__ u32 key_of(int i)
{
	return (u32)i * 2654435761u >> 12;
}

static __device__ u32 mixed(u32 key)
{
	key ^= key >> 16;
	key *= 0x85ebca6b;
	key ^= key >> 13;
	key *= 0xc2b2ae35;
	return key ^ key >> 16;
}

static __device__ slot *found(slot *slots, u32 key)
{
	for (u32 at = mixed(key) & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
		u32 there = slots[at].key;

		if (!there)
			there = atomicCAS(&slots[at].key, 0, key + 1);
		if (!there || there == key + 1)
			return slots + at;
	}
}

/*
 * Find or insert the key in an LRU table with eight ways per set. A new key replaces a free way, or a way that is not
 * marked as used. If all ways of the set are marked, all marks are removed first.
 */
static __device__ slot *found_lru(slot *slots, u32 key)
{
	slot *set = slots + (mixed(key) & (KEYS / WAYS - 1)) * WAYS;

	for (;;) {
		u32 victim = WAYS, old = 0;

		for (u32 way = 0; way < WAYS; way++) {
			u32 there = *(volatile u32 *)&set[way].key;

			if (there == key + 1) {
				if (!*(volatile u32 *)&set[way].used)
					set[way].used = 1;
				return set + way;
			}
			if (victim == WAYS && (!there || !*(volatile u32 *)&set[way].used)) {
				victim = way;
				old = there;
			}
		}
		for (u32 way = 0; victim == WAYS && way < WAYS; way++)
			set[way].used = 0;
		if (victim < WAYS && atomicCAS(&set[victim].key, old, key + 1) == old)
			return set + victim;
	}
}

static __device__ u64 *found_hot(const tables &t, u32 key)
{
	u32 sm, at = mixed(key) & (2 * HOT - 1);

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	for (;; at = (at + 1) & (2 * HOT - 1)) {
		u32 there = t.hot[at];

		if (!there)
			there = atomicCAS(t.hot + at, 0, key + 1);
		if (!there || there == key + 1)
			return t.counts + (u64)sm * 2 * HOT + at;
	}
}

/*
 * Returns a ticket for each active lane. A ticket selects a cell of the queue, and wait_for() waits until it is the
 * ticket's turn there.
 */
static __device__ u64 ticket(u64 *next)
{
	u32 lanes = __activemask(), lane, first = __ffs(lanes) - 1;
	u64 base = 0;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	if (lane == first)
		base = atomicAdd(next, (u64)__popc(lanes));
	return __shfl_sync(lanes, base, first) + __popc(lanes & ((1u << lane) - 1));
}

static __device__ void wait_for(const cell *c, u64 turn)
{
	while (*(volatile u64 *)&c->turn != turn)
		;
	__threadfence();
}

/* Each thread pushes before it pops, so the queue is never empty or full. */
static __device__ void put_and_take(const tables &t, u64 value)
{
	u64 at = ticket(t.tickets);
	cell *c = t.cells + at % QUEUE;

	wait_for(c, at / QUEUE * 2);
	*(volatile u64 *)&c->value = value;
	__threadfence();
	*(volatile u64 *)&c->turn = at / QUEUE * 2 + 1;
	at = ticket(t.tickets + 16);
	c = t.cells + at % QUEUE;
	wait_for(c, at / QUEUE * 2 + 1);
	value = *(volatile u64 *)&c->value;
	__threadfence();
	*(volatile u64 *)&c->turn = at / QUEUE * 2 + 2;
	if (value == ~0ull)
		atomicAdd(t.failed, 1);
}

enum work { ADD, LOOKUP, LRU, HOT_ADD, PUT_TAKE };

template<work W> __global__ void by_hand(const float *a, const float *b, float *c, int n, tables t)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
	if (W == ADD)
		atomicAdd(&found(t.slots, key_of(i))->count, 1ull);
	if (W == LOOKUP && *(volatile u64 *)&found(t.slots, key_of(i))->count == ~0ull)
		atomicAdd(t.failed, 1);
	if (W == LRU)
		atomicAdd(&found_lru(t.slots, key_of(i))->count, 1ull);
	if (W == HOT_ADD)
		atomicAdd(found_hot(t, threadIdx.x & (HOT - 1)), 1ull);
	if (W == PUT_TAKE)
		put_and_take(t, i);
}

/* ---- measurement ---- */

/*
 * Measure launches. The first launch is not measured, because gpubpf builds the twin and the kernel fills the tables
 * during this launch.
 */
template<typename F> static double measure(const char *name, int launches, u64 threads, F launch)
{
	std::vector<double> ns;
	cudaEvent_t start, stop;

	check(cudaEventCreate(&start));
	check(cudaEventCreate(&stop));
	for (int i = 0; i <= launches; i++) {
		float ms;

		check(cudaEventRecord(start));
		launch();
		check(cudaEventRecord(stop));
		check(cudaEventSynchronize(stop));
		check(cudaEventElapsedTime(&ms, start, stop));
		if (i)
			ns.push_back(ms * 1e6);
	}
	std::sort(ns.begin(), ns.end());
	if (name)
		printf("%s %.0f %.0f %llu\n", name, ns.front(), ns[ns.size() / 2], threads);
	fflush(stdout);
	return ns[ns.size() / 2];
}

template<typename T> static T *device_array(size_t n)
{
	T *data;

	check(cudaMalloc(&data, n * sizeof(T)));
	check(cudaMemset(data, 0, n * sizeof(T)));
	return data;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "native";
	int launches = argc > 2 ? atoi(argv[2]) : 10, n = 1 << (argc > 3 ? atoi(argv[3]) : 24);
	float *a = device_array<float>(n), *b = device_array<float>(n), *c = device_array<float>(n);
	tables t = {};
	double took;

	took = measure(!strcmp(what, "sizes") ? NULL : "vector_add", launches, n, [&] { vector_add<<<n / 256, 256>>>(a, b, c, n); });
	if (!strcmp(what, "sizes"))
		printf("%.0f ns, %.0f ns of processor\n", took, took);
	if (strcmp(what, "hand"))
		return 0;
	t = { device_array<slot>(SLOTS), device_array<u64>(1024 * 2 * HOT), device_array<u32>(2 * HOT), device_array<cell>(QUEUE),
	      device_array<u64>(32), device_array<u32>(1) };
	measure("add", launches, n, [&] { by_hand<ADD><<<n / 256, 256>>>(a, b, c, n, t); });
	measure("lookup", launches, n, [&] { by_hand<LOOKUP><<<n / 256, 256>>>(a, b, c, n, t); });
	check(cudaMemset(t.slots, 0, SLOTS * sizeof(*t.slots)));
	measure("lru", launches, n, [&] { by_hand<LRU><<<n / 256, 256>>>(a, b, c, n, t); });
	measure("hot", launches, n, [&] { by_hand<HOT_ADD><<<n / 256, 256>>>(a, b, c, n, t); });
	measure("queue", launches, n, [&] { by_hand<PUT_TAKE><<<n / 256, 256>>>(a, b, c, n, t); });
	return 0;
}
