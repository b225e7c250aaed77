/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device is closed, and its context goes, while a thread of its own still waits for kernels, or is about to begin: the
 * tests' driver ends us where such a thread has entered a context that goes, or enters one that is gone.
 */
#include "backends/cuda/device/device.h"
#include "tests/tap.h"

#include <unistd.h>

static bool waits(const char *ms)
{
	const struct gpubpf_device_ops *ops = &gpubpf_device_cuda;
	struct gpubpf_device *device;
	struct gpubpf_why why;

	setenv("FAKE_CUDA_BUSY", ms, 1);
	if (ops->open(&(struct gpubpf_device_open){ 0 }, &device, &why) < 0) {
		note("%s", why.text);
		return false;
	}
	ops->settle(device, 0);
	ops->close(device);
	return true;
}

int main(void)
{
	bool all = true;

	ok(waits("100"), "a device is closed while its kernels are waited for");
	for (int i = 0; i < 200; i++)
		all &= waits("0");
	usleep(50000); /* for threads that come late */
	ok(all, "a device is closed before the wait has begun");
	return done();
}
