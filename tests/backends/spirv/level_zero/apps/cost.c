/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures launches in an immediate list, without and with an argument set before each. Prints the median of each in
 * nanoseconds.
 */
#include "app.h"

#include <time.h>

enum { BATCHES = 21, LAUNCHES = 20000 };

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double batch(ze_kernel_handle_t kernel, int set)
{
	ze_group_count_t count = { 1, 1, 1 };
	double from = now_ns();

	for (uint32_t i = 0; i < LAUNCHES; i++) {
		if (set)
			zeKernelSetArgumentValue(kernel, 1, sizeof(i), &i);
		zeCommandListAppendLaunchKernel(app_immediate, kernel, &count, NULL, 0, NULL);
	}
	return (now_ns() - from) / LAUNCHES;
}

int main(int argc, char **argv)
{
	double plain[BATCHES], set[BATCHES];
	ze_kernel_handle_t scale;

	app_open(argc, argv);
	scale = app_kernel(app_module("kernels.spv", NULL, NULL), "scale", 32);
	app_pointer(scale, 0, app_alloc(APP_DEVICE, 128));
	batch(scale, 1); /* the first launch waits for the twins, so it is not measured */
	for (int i = 0; i < BATCHES; i++) {
		plain[i] = batch(scale, 0);
		set[i] = batch(scale, 1);
	}
	qsort(plain, BATCHES, sizeof(*plain), compare);
	qsort(set, BATCHES, sizeof(*set), compare);
	printf("%.1f %.1f\n", plain[BATCHES / 2], set[BATCHES / 2]);
	return 0;
}
