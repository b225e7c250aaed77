/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes a device and destroys its context. In the first case a thread of the device waits for kernels at that time. In
 * the other cases that thread may not have started to wait. The fake driver aborts if a thread enters a destroyed
 * context, or if a context is destroyed while a thread is in it.
 */
#include "backends/cuda/device/device.h"
#include "tests/tap.h"

#include <unistd.h>

static bool waits(const char *ms)
{
	const struct gpubpf_device_ops *ops = &gpubpf_device_cuda;
	struct gpubpf_device *device;
	struct gpubpf_reason why;

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
	usleep(50000); /* waits for threads that start late */
	ok(all, "a device is closed before the wait has begun");
	return done();
}
