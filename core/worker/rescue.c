/* SPDX-License-Identifier: Apache-2.0 */
#include "rescue.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/device.h"
#include "maps/host/mirror.h"

#define MAX_DEVICES 64

struct rescue {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
};

static int pull(void *arg, u64 offset, void *to, u64 size)
{
	const struct rescue *r = arg;

	return r->ops->arena_pull(r->device, offset, to, size);
}

static int wait(void *arg, bool all)
{
	const struct rescue *r = arg;

	return gpubpf_arena_wait(r->ops, r->device);
}

/*
 * Ignores writes. A rescue only reads the device's memory: the application has ended, so no GPU kernel needs free space
 * in its ring buffers.
 */
static int no_push(void *arg, u64 offset, const void *from, u64 size)
{
	return 0;
}

static int no_zero(void *arg, u64 offset, u64 size)
{
	return 0;
}

static bool still(void *arg, u64 bytes)
{
	return true;
}

/*
 * Copies the segments that the application had initialised on the device (hdr->filled) to the mirror. The other
 * segments already have their initial content in the mirror.
 */
static int copy_all(struct rescue *r, void *mirror, size_t size)
{
	const struct gpubpf_arena_hdr *hdr = mirror;
	struct gpubpf_mirror m = {
		mirror, hdr->filled < size ? hdr->filled : size, r, pull, no_push, no_zero, wait, still,
	};
	int err = gpubpf_mirror_pull(&m);
	u64 left;
	s64 n = err;

	if (!err)
		n = gpubpf_mirror_drain(&m, &left);
	return n < 0 ? n : 0;
}

/*
 * Returns how many bytes of the arena are in the device's own memory. Other maps are in the mirror already, or were
 * lost when the application ended.
 */
static size_t arena_bytes(const struct gpubpf_arena_hdr *hdr, size_t size)
{
	return hdr->own < size ? hdr->own : size;
}

/*
 * Copies the arena from device `number`. Returns 0, or -errno: -ENODEV if there is no such device, -EXDEV if the memory
 * belongs to another device.
 */
static int copy_from(const struct gpubpf_device_ops *ops, uint32_t number, void *mirror, size_t size,
		     struct gpubpf_reason *why)
{
	struct rescue r = { ops };
	struct gpubpf_device_open how = { .index = number };
	int err;

	err = ops->open(&how, &r.device, why);
	if (err < 0)
		return err;
	err = ops->arena_adopt(r.device, GPUBPF_RESCUE_MEMORY, mirror, arena_bytes(mirror, size), why);
	if (!err)
		err = copy_all(&r, mirror, size);
	ops->close(r.device);
	return err;
}

int main(int argc, char **argv)
{
	const struct gpubpf_device_ops *ops = argc == 2 ? gpubpf_device_find(argv[1]) : NULL;
	struct gpubpf_reason why = { 0 };
	struct stat st;
	void *mirror;
	sigset_t none;
	int err = -EXDEV;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(GPUBPF_RESCUE_S);
	if (!ops || !ops->arena_adopt) {
		fprintf(stderr,
			"gpubpf-rescue: unknown backend, or a backend that cannot adopt memory of another process\n");
		return 1;
	}
	if (fstat(GPUBPF_RESCUE_MIRROR, &st) < 0 ||
	    (mirror = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, GPUBPF_RESCUE_MIRROR, 0)) == MAP_FAILED) {
		fprintf(stderr, "gpubpf-rescue: cannot map the mirror: %s\n", strerror(errno));
		return 1;
	}
	for (uint32_t i = 0; err == -EXDEV && i < MAX_DEVICES; i++)
		err = copy_from(ops, i, mirror, st.st_size, &why);
	if (err < 0)
		fprintf(stderr, "gpubpf-rescue: %s\n", why.text[0] ? why.text : strerror(-err));
	return err < 0;
}
