/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload library for programs on a simulated GPU. HIP waits for its kernels by polling a signal, which suits kernels
 * that take microseconds. Simulated kernels take seconds and need the same processors, so the library sleeps between
 * polls.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define NAP_US 100
#define CONDITION_NE 1
#define CONDITION_LT 2

/* declared with plain types, because hsa/hsa.h may not be installed */
int64_t hsa_signal_wait_scacquire(uint64_t signal, int condition, int64_t value, uint64_t timeout, int state);

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_satisfied(int condition, int64_t is, int64_t value)
{
	return condition == CONDITION_LT ? is < value : condition > CONDITION_LT ? is >= value : (is == value) != (condition == CONDITION_NE);
}

/* Replaces the function of libhsa-runtime64.so.1. timeout is in nanoseconds. */
__attribute__((visibility("default"))) int64_t hsa_signal_wait_scacquire(uint64_t signal, int condition, int64_t value, uint64_t timeout,
									 int state)
{
	void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
	int64_t (*load)(uint64_t) = (int64_t (*)(uint64_t))dlsym(runtime, "hsa_signal_load_scacquire");
	uint64_t begun = now_ns();
	int64_t is;

	while (!is_satisfied(condition, is = load(signal), value) && now_ns() - begun < timeout)
		usleep(NAP_US);
	dlclose(runtime);
	return is;
}
