/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured CUDA program. It does not use gpubpf.
 *
 *   cuda native [LAUNCHES]   the original kernels
 *   cuda hand [LAUNCHES]     kernels with the work of a probe written by hand, in the fastest form known: vector_add
 *                            with many works; reduce with barrier waits; divergent, march and rows with counts of
 *                            branches
 *   cuda event [LAUNCHES [MS]]  only vector_add, one launch every MS ms, so that a reader of events keeps up
 *   cuda stream [LAUNCHES [MS]]  like event, after four launches at intervals of 0.5 s; "period": mean time between
 *                            launches
 *   cuda flood [LAUNCHES]    only vector_add, one launch after the other
 *   cuda many [LAUNCHES]     vector_add with 2^28 threads
 *   cuda copy [TIMES]        1 GiB from the device to pinned memory
 *
 * Each measurement prints a line: its name, the best and the median time of a launch in ns (CUDA events), and the total
 * number of threads. The lines "tiny_call" (the call that launches `tiny`) and "load" (loading four kernels) are
 * measured with the host's clock.
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

typedef unsigned long long u64;

enum { SGEMM = 4096, TILE = 16, TINY = 1 << 12, REDUCE_BLOCKS = 1056, DIVERGENT = 1 << 24, ROWS = 1 << 21, PIECES = 1 << 14 };
static const int VECTOR = 1 << 26, MANY = 1 << 28;

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "cuda: %s\n", cudaGetErrorString(error));
	exit(1);
}

/* ---- the kernels ---- */

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

extern "C" __global__ void tiny(float *c)
{
	c[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

extern "C" __global__ void reduce(const float *a, float *sums, int n)
{
	__shared__ float part[256];
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += a[i];
	part[threadIdx.x] = sum;
	for (int step = 128; step; step /= 2) {
		__syncthreads();
		if (threadIdx.x < step)
			part[threadIdx.x] += part[threadIdx.x + step];
	}
	if (!threadIdx.x)
		sums[blockIdx.x] = part[0];
}

/* Lanes diverge at most branches of the inner loop, because the number of turns differs between lanes. */
extern "C" __global__ void divergent(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i;

#pragma unroll 1
	for (int k = 0; k < 32; k++)
#pragma unroll 1
		for (unsigned n = x >> 16 & 7; n; n--)
			x = x * 1664525 + 1013904223;
	out[i] = x;
}

/*
 * The original kernels take their branches through this struct, which counts nothing. Instrumented kernels use the
 * struct branches_by_hand instead, which counts branches.
 */
struct branches {
	__device__ bool go(bool goes)
	{
		return goes;
	}
};

/* Returns the distance to the nearest sphere or to the floor. Each unit cube of space contains one sphere. */
static __device__ float distance_to(float x, float y, float z)
{
	float u = x - rintf(x), v = y - rintf(y), w = z - rintf(z), floor = y + 1.7f;
	float ball = sqrtf(u * u + v * v + w * w) - .23f - .05f * __sinf(7 * x) * __sinf(5 * z);

	return fminf(ball * .7f, floor);
}

/* Follow a ray until it hits an object or leaves the scene. The rays of a warp take different numbers of steps. */
template<typename B> static __device__ float march_ray(unsigned i, B &at)
{
	float x = (i & 4095) / 4096.f - .5f, y = (i >> 12) / 4096.f - .5f, way = 0, d;

#pragma unroll 1
	for (int step = 0; at.go(step < 96); step++) {
		d = distance_to(.5f + way * x, .5f + way * y, way);
		if (at.go(d < 1e-3f))
			return distance_to(.5f + way * x - .01f, .5f + way * y + .02f, way - .01f) / (1 + way);
		way += d;
		if (at.go(way > 16))
			return 0;
	}
	return -way;
}

extern "C" __global__ void march(float *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	branches none;

	out[i] = march_ray(i, none);
}

/* Multiply a row of a sparse matrix by a vector. The row has 0 to 31 values. */
template<typename B> static __device__ float multiply_row(const float *values, const float *vector, unsigned row, B &at)
{
	unsigned x = row * 2654435761u, length = x >> 27;
	float sum = 0;

#pragma unroll 1
	for (unsigned k = 0; at.go(k < length); k++) {
		x = x * 1664525 + 1013904223;
		sum += values[32 * row + k] * vector[x >> 6];
	}
	return sum;
}

extern "C" __global__ void rows(const float *a, const float *b, float *c)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	branches none;

	c[i] = multiply_row(a, b, i, none);
}

/* ---- hand-written probes ---- */

enum work { COUNTER, HISTOGRAM, VALUE, CLOCK, EVENT, EVENT_WAITING, ACCESSES, SIZES, SECTORS, BLOCKS, MEMORY };

struct memory {
	char *data;  /* counters, values, rings */
	char *heads; /* write positions of the rings, one per multiprocessor, 128 bytes apart */
	u64 ring;    /* size of each ring in bytes, a power of two */
	/*
	 * hash table of granules of 2 MiB: the word at n % PIECES holds n * 2^32 + the number of the allocation that
	 * contains granule n
	 */
	u64 *pieces;
};

static __device__ unsigned special_smid()
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	return id;
}

static __device__ unsigned special_laneid()
{
	unsigned id;

	asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
	return id;
}

static __device__ u64 nanoseconds()
{
	u64 ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

static __device__ void add(char *at, u64 n = 1)
{
	asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" : : "l"(at), "l"(n) : "memory");
}

static __device__ void store16(char *at, u64 a, u64 b)
{
	asm volatile("st.global.v2.b64 [%0], {%1, %2};" : : "l"(at), "l"(a), "l"(b) : "memory");
}

/*
 * Write a 16-byte header per warp to the multiprocessor's ring, followed by a 16-byte record per active thread. If
 * `wait` is set, a fence makes the records visible before the header. Without the fence, a reader that sees the header
 * cannot know whether the records have arrived.
 */
static __device__ void put_event(const struct memory &m, int i, bool wait)
{
	unsigned lanes = __activemask(), lane = special_laneid(), n = __popc(lanes), first = __ffs(lanes) - 1;
	unsigned sm = special_smid(), rank = __popc(lanes & ((1u << lane) - 1));
	u64 position = 0;
	char *at;

	if (lane == first)
		position = atomicAdd((u64 *)(m.heads + 128 * sm), 16ull + 16 * n);
	position = __shfl_sync(lanes, position, first);
	at = m.data + sm * m.ring + (position & (m.ring - 1));
	store16(at + 16 + 16 * rank, i, blockIdx.x);
	if (wait) {
		__syncwarp(lanes);
		__threadfence();
	}
	if (lane == first)
		store16(at, position, n);
}

/* Count the 32-byte sectors of a warp's access. Only the first lane adds. */
static __device__ void put_sectors(const struct memory &m, const float *at)
{
	unsigned lanes = __activemask(), below = (1u << special_laneid()) - 1;
	/* The match is done in halves, because __match_any_sync() of 64 bits takes four times as long as of 32 bits. */
	u64 sector = (u64)at >> 5;
	unsigned same = __match_any_sync(lanes, (unsigned)sector) & __match_any_sync(lanes, (unsigned)(sector >> 32));
	unsigned first = __ballot_sync(lanes, !(same & below));

	if (!(first & below))
		add(m.data + 2048 * special_smid() + 8 * __popc(first));
}

/*
 * Add the bytes of an access to the counters of its allocation. If all active lanes access the same allocation, the
 * first lane adds for all.
 */
static __device__ void put_bytes(const struct memory &m, const float *at, bool written)
{
	u64 piece = (u64)at >> 21, word = m.pieces[piece % PIECES];
	unsigned lanes = __activemask(), first = __ffs(lanes) - 1, number = word;
	char *to = m.data + 65536 * special_smid() + 16 * number + 8 * written;

	if (word >> 32 != piece)
		return;
	if (!__all_sync(lanes, number == __shfl_sync(lanes, number, first)))
		add(to, sizeof(*at));
	else if (special_laneid() == first)
		add(to, sizeof(*at) * __popc(lanes));
}

template<work W> __global__ void vector_add_by_hand(const float *a, const float *b, float *c, int n, memory m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (W == CLOCK && !special_laneid())
		*(u64 *)(m.data + i / 32 * 16) = nanoseconds();
	if (W == BLOCKS && !threadIdx.x)
		*(u64 *)(m.data + 16ull * blockIdx.x) = nanoseconds();
	if (i < n)
		c[i] = a[i] + b[i];
	if (W == BLOCKS) {
		__syncthreads();
		if (!threadIdx.x)
			*(u64 *)(m.data + 16ull * blockIdx.x + 8) = nanoseconds();
	}
	if (W == SECTORS && i < n) {
		put_sectors(m, a + i);
		put_sectors(m, b + i);
		put_sectors(m, c + i);
	}
	if (W == MEMORY && i < n) {
		put_bytes(m, a + i, false);
		put_bytes(m, b + i, false);
		put_bytes(m, c + i, true);
	}
	/* one addition for the three accesses, as their number is a compile-time constant */
	if (W == ACCESSES && i < n)
		add(m.data + 128 * special_smid(), 3);
	if (W == SIZES && i < n) {
		add(m.data + 128 * special_smid(), 8);
		add(m.data + 128 * special_smid() + 8, 4);
	}
	if (W == COUNTER)
		add(m.data + 128 * special_smid());
	if (W == HISTOGRAM)
		add(m.data + 2048 * special_smid() + 8 * (threadIdx.x & 255));
	if (W == VALUE)
		*(u64 *)(m.data + 8ull * i) = nanoseconds();
	if (W == CLOCK && !special_laneid())
		*(u64 *)(m.data + i / 32 * 16 + 8) = nanoseconds();
	if (W == EVENT || W == EVENT_WAITING)
		put_event(m, i, W == EVENT_WAITING);
}

/* The first lane of each warp measures its waits at barriers, and adds their number and time at the exit. */
extern "C" __global__ void reduce_by_hand(const float *a, float *sums, int n, memory m)
{
	__shared__ float part[256];
	u64 waits = 0, waited = 0;
	bool looks = !special_laneid();
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += a[i];
	part[threadIdx.x] = sum;
	for (int step = 128; step; step /= 2) {
		u64 began = looks ? nanoseconds() : 0;

		__syncthreads();
		if (looks) {
			waited += nanoseconds() - began;
			waits++;
		}
		if (threadIdx.x < step)
			part[threadIdx.x] += part[threadIdx.x + step];
	}
	if (!threadIdx.x)
		sums[blockIdx.x] = part[0];
	if (looks) {
		add(m.data + 128 * special_smid(), waits);
		add(m.data + 128 * special_smid() + 8, waited);
	}
}

/* Returns 1 if the active lanes take different directions at the branch, otherwise 0. */
static __device__ unsigned parts(bool goes)
{
	unsigned active = __activemask(), lanes = __ballot_sync(active, goes);

	return lanes && lanes != active;
}

extern "C" __global__ void divergent_by_hand(unsigned *out, memory m)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = i, executed = 0, parted = 0;

#pragma unroll 1
	for (int k = 0; k < 32; k++) {
		unsigned n = x >> 16 & 7;

		executed += 2;
		parted += parts(k < 31) + parts(!n);
#pragma unroll 1
		for (; n; n--) {
			x = x * 1664525 + 1013904223;
			executed++;
			parted += parts(n > 1);
		}
	}
	out[i] = x;
	add(m.data + 128 * special_smid(), executed);
	add(m.data + 128 * special_smid() + 8, parted);
}

struct branches_by_hand {
	unsigned executed, parted;

	__device__ bool go(bool goes)
	{
		executed++;
		parted += parts(goes);
		return goes;
	}
};

static __device__ void add_branches(const struct memory &m, const branches_by_hand &seen)
{
	add(m.data + 128 * special_smid(), seen.executed);
	add(m.data + 128 * special_smid() + 8, seen.parted);
}

extern "C" __global__ void march_by_hand(float *out, memory m)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	branches_by_hand seen = { 0, 0 };

	out[i] = march_ray(i, seen);
	add_branches(m, seen);
}

extern "C" __global__ void rows_by_hand(const float *a, const float *b, float *c, memory m)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	branches_by_hand seen = { 0, 0 };

	c[i] = multiply_row(a, b, i, seen);
	add_branches(m, seen);
}

/* ---- measurement ---- */

static void print(const char *name, std::vector<double> ns, u64 threads)
{
	std::sort(ns.begin(), ns.end());
	printf("%s %.0f %.0f %llu\n", name, ns.front(), ns[ns.size() / 2], threads * (ns.size() + 1));
	fflush(stdout);
}

/* Measure launches. The first launch is not measured, because gpubpf builds the twin during this launch. */
template<typename F> static void measure(const char *name, int launches, u64 threads, int period_ms, F launch)
{
	auto next = std::chrono::steady_clock::now();
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
		if (!i) /* count periods from here, because the first launch may take longer than one period */
			next = std::chrono::steady_clock::now();
		std::this_thread::sleep_until(next += std::chrono::milliseconds(period_ms));
	}
	print(name, ns, threads);
}

template<typename T> static T *device_array(size_t n)
{
	T *data;

	check(cudaMalloc(&data, n * sizeof(T)));
	check(cudaMemset(data, 0, n * sizeof(T)));
	return data;
}

static float *a, *b, *c;

static void add_vectors()
{
	vector_add<<<VECTOR / 256, 256>>>(a, b, c, VECTOR);
}

static void measure_reduce(int launches)
{
	measure("reduce", launches, REDUCE_BLOCKS * 256, 0, [] { reduce<<<REDUCE_BLOCKS, 256>>>(a, c, VECTOR); });
}

static void measure_divergent(int launches)
{
	measure("divergent", launches, DIVERGENT, 0, [] { divergent<<<DIVERGENT / 256, 256>>>((unsigned *)c); });
}

static void measure_march(int launches)
{
	measure("march", launches, DIVERGENT, 0, [] { march<<<DIVERGENT / 256, 256>>>(c); });
}

static void measure_rows(int launches)
{
	measure("rows", launches, ROWS, 0, [] { rows<<<ROWS / 256, 256>>>(a, b, c); });
}

static void measure_tiny(int launches)
{
	std::vector<double> calls;

	measure("tiny", 20 * launches, TINY, 0, [] { tiny<<<TINY / 256, 256>>>(c); });
	for (int i = 0; i <= 100 * launches; i++) {
		auto before = std::chrono::steady_clock::now();

		tiny<<<TINY / 256, 256>>>(c);
		auto after = std::chrono::steady_clock::now();
		if (i % 64 == 63)
			check(cudaDeviceSynchronize());
		if (i)
			calls.push_back(std::chrono::duration<double, std::nano>(after - before).count());
	}
	check(cudaDeviceSynchronize());
	print("tiny_call", calls, TINY);
}

/* Measure the loading of four kernels. CUDA loads a kernel at its first use, here cudaFuncGetAttributes(). */
static void measure_load()
{
	const void *kernels[] = { (void *)vector_add, (void *)sgemm, (void *)reduce, (void *)tiny };
	auto before = std::chrono::steady_clock::now();

	for (const void *kernel : kernels) {
		cudaFuncAttributes unused;

		check(cudaFuncGetAttributes(&unused, kernel));
	}
	auto after = std::chrono::steady_clock::now();
	print("load", { std::chrono::duration<double, std::nano>(after - before).count() }, 0);
}

static void native(int launches)
{
	measure_load();
	measure("vector_add", launches, VECTOR, 0, add_vectors);
	measure("sgemm", launches / 4 + 1, SGEMM * SGEMM, 0, [] {
		sgemm<<<dim3(SGEMM / TILE, SGEMM / TILE), dim3(TILE, TILE)>>>(a, b, c, SGEMM);
	});
	measure_reduce(launches);
	measure_divergent(launches);
	measure_march(launches);
	measure_rows(launches);
	measure_tiny(launches);
}

template<work W> static void measure_by_hand(const char *name, int launches, const memory &m)
{
	measure(name, launches, VECTOR, 0, [&] {
		vector_add_by_hand<W><<<VECTOR / 256, 256>>>(a, b, c, VECTOR, m);
		if (W == EVENT || W == EVENT_WAITING)
			check(cudaMemsetAsync(m.heads, 0, 1 << 17));
	});
}

/* Fill m.pieces for the granules of the three arrays. Each array begins at the start of a granule. */
static void number_pieces(const memory &m)
{
	const float *arrays[] = { a, b, c };
	std::vector<u64> words(PIECES);

	for (u64 number = 0; number < 3; number++)
		for (u64 n = (u64)arrays[number] >> 21; n << 21 < (u64)(arrays[number] + VECTOR); n++)
			words[n % PIECES] = n << 32 | number;
	check(cudaMemcpy(m.pieces, words.data(), PIECES * sizeof(u64), cudaMemcpyHostToDevice));
}

static void by_hand(int launches)
{
	memory m = { nullptr, device_array<char>(1 << 17), 16 << 20, device_array<u64>(PIECES) };
	cudaDeviceProp device;

	check(cudaGetDeviceProperties(&device, 0));
	m.data = device_array<char>(std::max<u64>(16ull * VECTOR, device.multiProcessorCount * m.ring));
	number_pieces(m);
	measure("vector_add", launches, VECTOR, 0, add_vectors);
	measure_by_hand<COUNTER>("counter", launches, m);
	measure_by_hand<HISTOGRAM>("histogram", launches, m);
	measure_by_hand<VALUE>("value", launches, m);
	measure_by_hand<CLOCK>("clock", launches, m);
	measure_by_hand<EVENT>("event", launches, m);
	measure_by_hand<ACCESSES>("accesses", launches, m);
	measure_by_hand<SIZES>("sizes", launches, m);
	measure_by_hand<EVENT_WAITING>("event_waiting", launches, m);
	measure_by_hand<SECTORS>("sectors", launches, m);
	measure_by_hand<BLOCKS>("blocks", launches, m);
	measure_by_hand<MEMORY>("memory", launches, m);
	measure_reduce(launches);
	measure("waits", launches, 0, 0, [&] { reduce_by_hand<<<REDUCE_BLOCKS, 256>>>(a, c, VECTOR, m); });
	measure_divergent(launches);
	measure("branches", launches, 0, 0, [&] { divergent_by_hand<<<DIVERGENT / 256, 256>>>((unsigned *)c, m); });
	measure_march(launches);
	measure("branches_march", launches, 0, 0, [&] { march_by_hand<<<DIVERGENT / 256, 256>>>(c, m); });
	measure_rows(launches);
	measure("branches_rows", launches, 0, 0, [&] { rows_by_hand<<<ROWS / 256, 256>>>(a, b, c, m); });
}

static void stream(int launches, int period_ms)
{
	measure("warm", 3, VECTOR, 500, add_vectors);
	auto before = std::chrono::steady_clock::now();

	measure("stream", launches - 1, VECTOR, period_ms, add_vectors);
	auto after = std::chrono::steady_clock::now();
	print("period", { std::chrono::duration<double, std::nano>(after - before).count() / launches }, 0);
}

static void copy(int times)
{
	const size_t size = 1 << 30;
	char *host, *from = device_array<char>(size);

	check(cudaMallocHost(&host, size));
	measure("copy", times, 0, 0, [&] { check(cudaMemcpyAsync(host, from, size, cudaMemcpyDeviceToHost)); });
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "native";
	int launches = argc > 2 ? atoi(argv[2]) : 20, n = strcmp(what, "many") ? VECTOR : MANY;

	a = device_array<float>(n);
	b = device_array<float>(n);
	c = device_array<float>(n);
	if (!strcmp(what, "hand"))
		by_hand(launches);
	else if (!strcmp(what, "event"))
		measure("vector_add", launches, VECTOR, argc > 3 ? atoi(argv[3]) : 500, add_vectors);
	else if (!strcmp(what, "stream"))
		stream(launches, argc > 3 ? atoi(argv[3]) : 50);
	else if (!strcmp(what, "copy"))
		copy(launches);
	else if (!strcmp(what, "many"))
		measure("many", launches, MANY, 0, [] { vector_add<<<MANY / 256, 256>>>(a, b, c, MANY); });
	else if (!strcmp(what, "flood"))
		measure("flood", launches, VECTOR, 0, add_vectors);
	else
		native(launches);
	check(cudaDeviceSynchronize()); /* the program that reads the output may read results after this call */
	return 0;
}
