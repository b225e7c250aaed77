/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-workload BACKEND DEVICE INDEX KIND IMAGE KERNEL X,Y,Z X,Y,Z SIZE [CACHE]: the application whose kernels the
 * suite probes.
 *
 * It launches a kernel of IMAGE (tests/cli/conformance/workload.cl) on a device. The first X,Y,Z is the number of
 * blocks, the second is the number of threads per block. The application itself does not know about probes. DEVICE "-"
 * means any device. SIZE is the sub-group size that an OpenCL C kernel requires; 0 means none. CACHE is a folder for
 * the device. The exit status is 0 if the kernel's results are correct.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/device.h"
#include "core/wire/files/open_file.h"

#define PAGE 4096

struct pair {
	int32_t x, y;
};

struct launch {
	unsigned int grid[3], block[3];
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "gpubpf-workload: %s: %s\n", what, why);
	return 1;
}

static void *read_image(const char *path, size_t *size)
{
	FILE *f = gpubpf_fopen_regular(path);
	char *bytes = malloc(1 << 20);

	*size = f && bytes ? fread(bytes, 1, (1 << 20) - 1, f) : 0;
	if (f)
		fclose(f);
	if (*size)
		bytes[*size] = '\0';
	return bytes;
}

static int run_kernel(const struct gpubpf_device_ops *ops, struct gpubpf_device_kernel *kernel, const struct launch *l,
		      uint64_t to, struct gpubpf_reason *why)
{
	int8_t c = -3;
	int16_t s = -1000;
	int32_t i = -100000;
	int64_t n = -10000000000;
	float f = 0.625f;
	struct pair p = { 11, 22 };
	uint32_t last = 4000000000;
	const void *args[] = { &to, &c, &s, &i, &n, &f, &p, &last };
	const size_t sizes[] = { sizeof(to), sizeof(c), sizeof(s), sizeof(i),
				 sizeof(n),  sizeof(f), sizeof(p), sizeof(last) };
	struct gpubpf_device_launch launch = { .dim = 3, .args = args, .arg_sizes = sizes, .nargs = 8 };

	for (int d = 0; d < 3; d++) {
		launch.block[d] = l->block[d];
		launch.grid[d] = (size_t)l->grid[d] * l->block[d];
	}
	return ops->launch(kernel, &launch, why);
}

static uint32_t count_threads(const struct launch *l)
{
	uint32_t threads = 1;

	for (int d = 0; d < 3; d++)
		threads *= l->grid[d] * l->block[d];
	return threads;
}

static bool is_right(const uint32_t *words, uint32_t threads)
{
	for (uint32_t i = 0; i < threads; i++)
		if (words[i] != 3 * i + 1)
			return false;
	return true;
}

static int run(const struct gpubpf_device_ops *ops, struct gpubpf_device *device, char **argv, const struct launch *l)
{
	size_t bytes = (count_threads(l) * sizeof(uint32_t) + PAGE - 1) / PAGE * PAGE, size;
	uint32_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct gpubpf_device_module *module;
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_reason why = { "" };
	char *image = read_image(argv[5], &size), options[64] = "";
	enum gpubpf_image_kind kind = strtoul(argv[4], NULL, 0);
	uint64_t to;

	if (!size)
		return fail(argv[5], "cannot be read");
	if (words == MAP_FAILED || ops->arena_attach(device, words, bytes, &to, &why) < 0 ||
	    ops->arena_push(device, 0, words, bytes) < 0 || gpubpf_arena_wait(ops, device) < 0)
		return fail("memory", why.text);
	if (kind == GPUBPF_IMAGE_OPENCL_C)
		snprintf(options, sizeof(options), "-DONLY_%s -DSUB_GROUP=%s", argv[6], argv[9]);
	if (ops->module_load(device, kind, image, size, options, &module, &why) < 0 ||
	    ops->kernel_get(module, argv[6], &kernel, &why) < 0)
		return fail(argv[6], why.text);
	if (run_kernel(ops, kernel, l, to, &why) < 0)
		return fail(argv[6], why.text);
	if (ops->arena_pull(device, 0, words, bytes) < 0 || gpubpf_arena_wait(ops, device) < 0)
		return fail("memory", "cannot be read back from the device");
	if (!is_right(words, count_threads(l)))
		return fail(argv[6], "its results are wrong");
	ops->kernel_put(kernel);
	ops->module_unload(module);
	ops->close(device);
	return 0;
}

int main(int argc, char **argv)
{
	const struct gpubpf_device_ops *ops = argc == 10 || argc == 11 ? gpubpf_device_find(argv[1]) : NULL;
	struct gpubpf_device_open how = { 0 };
	struct gpubpf_device *device;
	struct gpubpf_reason why = { "" };
	struct launch l;

	if (!ops || sscanf(argv[7], "%u,%u,%u", &l.grid[0], &l.grid[1], &l.grid[2]) != 3 ||
	    sscanf(argv[8], "%u,%u,%u", &l.block[0], &l.block[1], &l.block[2]) != 3)
		return fail("usage", "BACKEND DEVICE INDEX KIND IMAGE KERNEL X,Y,Z X,Y,Z SIZE [CACHE]");
	how.name = strcmp(argv[2], "-") ? argv[2] : NULL;
	how.index = (uint32_t)strtoul(argv[3], NULL, 0);
	how.cache = argv[10];
	if (ops->open(&how, &device, &why) < 0)
		return fail(argv[1], why.text);
	return run(ops, device, argv, &l);
}
