/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-runner FD SIZE BACKEND DEVICE INDEX X,Y,Z X,Y,Z REPEAT|serve [CACHE]: the application of direct runs.
 *
 * It launches its kernel REPEAT times on a device. The first X,Y,Z is the number of blocks, the second is the number of
 * threads per block. FD is a memfd with the kernel's block (core/wire/direct.h), whose data buffer has SIZE bytes; the
 * runner stores the results there. BACKEND "-" means the first backend that has a device, and DEVICE "-" means any
 * device. CACHE is a folder for the device. With `serve` it launches the resident kernel of an executor once; then SIZE
 * has the bytes of the queues.
 *
 * The runner itself does not know about probes. It gets them from the agent, like each application.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "core/device.h"
#include "core/wire/direct.h"
#include "maps/layout.h"

#include "runner.h"

static uint64_t read_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int runner_fail(struct runner *r, const char *what, const struct gpubpf_reason *why)
{
	snprintf(r->block->error, sizeof(r->block->error), "%.60s%s%.176s", what, why && why->text[0] ? ": " : "",
		 why ? why->text : "");
	return 1;
}

/* Maps the block. Returns false if the arguments do not fit together; then nothing can be reported. */
static bool map_block(struct runner *r, const char *fd, const char *size)
{
	struct stat st;

	r->data_size = strtoull(size, NULL, 10);
	if (fstat(atoi(fd), &st) < 0 || st.st_size < GPUBPF_DIRECT_DATA ||
	    r->data_size > (uint64_t)st.st_size - GPUBPF_DIRECT_DATA)
		return false;
	r->size = (size_t)st.st_size;
	r->block = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
	return r->block != MAP_FAILED;
}

static bool parse(const char *text, size_t size[3])
{
	return sscanf(text, "%zu,%zu,%zu", &size[0], &size[1], &size[2]) == 3 && size[0] && size[1] && size[2];
}

/* Opens the device of one backend. */
static bool open_backend_device(struct runner *r, const char *backend, struct gpubpf_reason *why)
{
	const char *missing = gpubpf_device_missing(backend);

	r->ops = gpubpf_device_find(backend);
	if (missing[0] || !r->ops)
		snprintf(why->text, sizeof(why->text), "%s: %s", backend,
			 missing[0] ? missing : "there is no such backend");
	else if (r->ops->open(&r->how, &r->device, why) >= 0)
		return true;
	return false;
}

static int open_device(struct runner *r, const char *backend)
{
	struct gpubpf_reason why = { "" };
	const char *name;
	bool open = false;

	if (strcmp(backend, "-"))
		return open_backend_device(r, backend, &why) ? 0 : runner_fail(r, backend, &why);
	for (size_t i = 0; !open && (name = gpubpf_backend_at(i)); i++)
		open = open_backend_device(r, name, &why);
	return open ? 0 : runner_fail(r, "no backend has such a device; the last backend reports", &why);
}

/* Launches the kernel, waits for its end, and adds the time to the block. */
static int launch(struct runner *r, struct gpubpf_device_kernel *kernel, struct gpubpf_reason *why)
{
	struct gpubpf_direct_block *block = r->block;
	uint64_t key = GPUBPF_DIRECT_KEY, start, ns;
	const void *args[] = { &r->address, &r->data_size, &key };
	const size_t sizes[] = { sizeof(r->address), sizeof(r->data_size), sizeof(key) };
	struct gpubpf_device_launch l = { .dim = 3, .args = args, .arg_sizes = sizes, .nargs = 3 };
	int err;

	runner_set_sizes(r, &l);
	start = read_clock_ns();
	err = r->ops->launch(kernel, &l, why);
	ns = read_clock_ns() - start;
	if (err < 0)
		return err;
	block->first_ns = block->runs ? block->first_ns : ns;
	block->min_ns = block->runs && block->min_ns < ns ? block->min_ns : ns;
	block->total_ns += ns;
	block->runs++;
	return 0;
}

static int run(struct runner *r)
{
	const struct gpubpf_device_ops *ops = r->ops;
	const struct gpubpf_device_caps *caps = ops->caps(r->device);
	const struct runner_form *form = runner_find_form(caps, false);
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_device_module *module;
	struct gpubpf_reason why = { "" };
	size_t data = r->size - GPUBPF_DIRECT_DATA;

	snprintf(r->block->backend, sizeof(r->block->backend), "%s", caps->backend);
	snprintf(r->block->device, sizeof(r->block->device), "%s", caps->name);
	if (!form)
		return runner_fail(r, "gpubpf has no kernel for the device's architecture", NULL);
	if (ops->arena_attach(r->device, r->block, r->size, &r->address, &why) < 0)
		return runner_fail(r, "allocating memory for the data", &why);
	if (ops->arena_push(r->device, 0, r->block, r->size) < 0 || gpubpf_arena_wait(ops, r->device) < 0)
		return runner_fail(r, "the data cannot be copied to the device", NULL);
	if (ops->module_load(r->device, form->kind, form->data, form->size, "", &module, &why) < 0 ||
	    ops->kernel_get(module, GPUBPF_DIRECT_KERNEL, &kernel, &why) < 0)
		return runner_fail(r, "loading the kernel", &why);
	while (r->block->runs < r->repeat)
		if (launch(r, kernel, &why) < 0)
			return runner_fail(r, "the launch failed", &why);
	if (ops->arena_pull(r->device, 0, &r->block->result, sizeof(r->block->result)) < 0 ||
	    (data && ops->arena_pull(r->device, GPUBPF_DIRECT_DATA, (char *)r->block + GPUBPF_DIRECT_DATA, data) < 0) ||
	    gpubpf_arena_wait(ops, r->device) < 0)
		return runner_fail(r, "the data cannot be copied from the device", NULL);
	ops->kernel_put(kernel);
	ops->module_unload(module);
	ops->close(r->device);
	return 0;
}

int main(int argc, char **argv)
{
	struct runner r = { 0 };
	bool serves;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed tool must not leave launches behind */
	if (argc < 9 || argc > 10 || !map_block(&r, argv[1], argv[2])) {
		fprintf(stderr, "gpubpf-runner is run by gpubpf prog run\n");
		return 2;
	}
	r.how = (struct gpubpf_device_open){ .name = strcmp(argv[4], "-") ? argv[4] : NULL,
					     .index = (uint32_t)strtoul(argv[5], NULL, 10),
					     .cache = argv[9] };
	serves = !strcmp(argv[8], "serve");
	r.repeat = serves ? 1 : strtoull(argv[8], NULL, 10);
	if (!parse(argv[6], r.blocks) || !parse(argv[7], r.threads) || !r.repeat)
		return runner_fail(&r, "the grid, the block or the number of runs is invalid", NULL);
	if (open_device(&r, argv[3]))
		return 1;
	return serves ? runner_serve(&r) : run(&r);
}
