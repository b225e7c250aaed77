/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses all devices: by several contexts, by threads, by a forked child, and by a program that sees only the last
 * device. Prints the digest, and "device D count N" for each device, with its number D in the process that uses it.
 */
#include <cuda.h>
#include <sys/wait.h>
#include <string>
#include <thread>
#include <unistd.h>
#include "../threads.cuh"

__global__ void step(unsigned *out)
{
	atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], threadIdx.x);
}

enum { THREADS = 128, BLOCKS = 8, DEVICES = 64, LAUNCHES = 50 };

static unsigned long long counted[DEVICES];

static void good(CUresult error)
{
	if (error) {
		fprintf(stderr, "driver: error %d\n", error);
		exit(1);
	}
}

/* Launches in the current context. */
static uint64_t launch(int device, int launches, uint64_t hash)
{
	device_array<unsigned> out(BLOCKS * THREADS);

	for (int i = 0; i < launches; i++)
		step<<<BLOCKS, THREADS>>>(out.data);
	check(cudaGetLastError());
	__atomic_fetch_add(&counted[device], launches * BLOCKS * THREADS, __ATOMIC_RELAXED);
	return out.digest(hash);
}

static uint64_t primary(int devices, uint64_t hash)
{
	for (int d = 0; d < devices; d++) {
		check(cudaSetDevice(d));
		hash = launch(d, 1 + d, hash);
	}
	return hash;
}

static uint64_t others(int devices, uint64_t hash)
{
	CUcontext contexts[2];

	for (int d = 0; d < devices; d++) {
		for (CUcontext &c : contexts) {
			good(cuCtxCreate(&c, nullptr, 0, d));
			hash = launch(d, 3, hash);
		}
		good(cuCtxSetCurrent(contexts[0]));
		hash = launch(d, 2, hash);
		for (CUcontext c : contexts)
			good(cuCtxDestroy(c));
	}
	return hash;
}

static void in_thread(int device, uint64_t *hash)
{
	check(cudaSetDevice(device));
	for (int i = 0; i < LAUNCHES; i++)
		*hash = launch(device, 1, *hash);
}

static uint64_t threads(int devices, uint64_t hash)
{
	std::vector<std::thread> all;
	std::vector<uint64_t> hashes(2 * devices, hash);

	for (int i = 0; i < 2 * devices; i++)
		all.emplace_back(in_thread, i % devices, &hashes[i]);
	for (int i = 0; i < 2 * devices; i++) {
		all[i].join();
		hash ^= hashes[i] + i;
	}
	return hash;
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		exit(2);
}

static int count_devices()
{
	int n = 0;

	check(cudaGetDeviceCount(&n));
	return n;
}

/* Forks children before this process uses the GPU. The parent adds the counts of its children to its own. */
static void children(const char *self)
{
	int pipes[2], devices = 0;
	pid_t pid;

	if (pipe(pipes))
		exit(3);
	pid = fork();
	if (!pid) {
		devices = count_devices();
		primary(devices, 1);
		_exit(write(pipes[1], &devices, sizeof(devices)) != sizeof(devices));
	}
	wait_for(pid);
	if (read(pipes[0], &devices, sizeof(devices)) != sizeof(devices))
		exit(3);
	for (int d = 0; d < devices; d++)
		counted[d] += (1 + d) * BLOCKS * THREADS;
	pid = fork();
	if (!pid) {
		std::string last = std::to_string(devices - 1);

		if (!getenv("CUDA_VISIBLE_DEVICES"))
			setenv("CUDA_VISIBLE_DEVICES", last.c_str(), 1);
		execl("/proc/self/exe", self, "child", nullptr);
		_exit(4);
	}
	wait_for(pid);
	if (!getenv("CUDA_VISIBLE_DEVICES"))
		devices = 1;
	for (int d = 0; d < devices; d++)
		counted[d] += (1 + d) * BLOCKS * THREADS;
}

int main(int argc, char **argv)
{
	unsigned long long all = 0;
	uint64_t hash = 1;
	int devices;

	if (argc > 1)
		return primary(count_devices(), 1) == 0;
	children(argv[0]);
	devices = count_devices();
	hash = primary(devices, hash);
	hash = others(devices, hash);
	hash = threads(devices, hash);
	for (int d = 0; d < devices; d++)
		all += counted[d];
	report(hash, all);
	for (int d = 0; d < devices; d++)
		printf("device %d count %llu\n", d, counted[d]);
	return 0;
}
