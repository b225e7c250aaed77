/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a device. Programs go to the device in groups, one module a group, since
 * building a module costs far more than running one; a group that fails is tried again in halves, so
 * that a program that the vendor's compiler cannot take costs itself alone. All of it happens in a child
 * process: a compiler that crashes or hangs is a message too.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/device.h"
#include "raw_emit.h"
#include "core/diag.h"
#include "maps/layout.h"

#define GROUP_INSNS 8192
#define GROUP_SECONDS 300
#define BUDGET (1u << 16) /* taken branches: a simulated device takes 4 us for one */

/* what the child tells the parent, in shared memory */
struct shared {
	uint32_t begin, end;      /* cases of the group that it works on */
	uint64_t progress;
	struct outcome {
		uint32_t group;   /* most programs that a group with this one may have; 0: done */
		uint64_t r0;
		char error[400];
	} out[];
};

struct runner {
	struct conformance_case *cases;
	size_t n;
	const struct conformance_opts *opts;
	struct shared *shared;
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_target_info *target;
	uint8_t *arena;
	size_t arena_size;
	uint64_t address;
};

static void finish_case(struct runner *r, size_t i, const char *error)
{
	struct outcome *out = &r->shared->out[i];

	snprintf(out->error, sizeof(out->error), "%.*s", (int)sizeof(out->error) - 1, error);
	out->group = 0;
	r->shared->progress++;
}

/* The next group: cases not done yet, from the first such one on. */
static bool next_group(struct runner *r)
{
	struct shared *s = r->shared;
	uint64_t insns = 0;
	size_t i = 0;

	while (i < r->n && !s->out[i].group)
		i++;
	s->begin = i;
	for (; i < r->n && s->out[i].group; i++) {
		insns += r->cases[i].unit.progs->ninsns;
		if (i > s->begin && (i - s->begin >= s->out[i].group || i - s->begin >= s->out[s->begin].group ||
				     insns > GROUP_INSNS))
			break;
	}
	s->end = i;
	return s->begin < s->end;
}

/* Halve the group that failed; a single program has failed for good. */
static void split_group(struct runner *r, const char *error)
{
	struct shared *s = r->shared;
	uint32_t size = s->end - s->begin;

	if (size == 1)
		finish_case(r, s->begin, error);
	else
		for (uint32_t i = s->begin; i < s->end; i++)
			if (s->out[i].group)
				s->out[i].group = size / 2;
	s->progress++;
}

static int open_device(struct runner *r, struct gpubpf_why *why)
{
	const char *missing = gpubpf_device_missing(r->opts->backend);
	struct gpubpf_device_open how = { .name = r->opts->device, .index = r->opts->index };
	const struct gpubpf_device_caps *caps;

	if (missing[0]) {
		snprintf(why->text, sizeof(why->text), "backend %s: %s", r->opts->backend, missing);
		return -ENODEV;
	}
	r->ops = gpubpf_device_find(r->opts->backend);
	if (r->ops->open(&how, &r->device, why) < 0)
		return -ENODEV;
	caps = r->ops->caps(r->device);
	r->target = conformance_target(r->opts->target, caps);
	if (r->target)
		return 0;
	snprintf(why->text, sizeof(why->text), "device %s: no target %s emits for it", caps->name,
		 r->opts->target ? r->opts->target : "that it takes");
	return -ENODEV;
}

static int make_arena(struct runner *r, struct gpubpf_why *why)
{
	struct gpubpf_arena_hdr *hdr;
	int err;
	size_t mem = 0;

	for (size_t i = 0; i < r->n; i++)
		mem = r->cases[i].mem_size > mem ? r->cases[i].mem_size : mem;
	r->arena_size = (CONFORMANCE_RUN_OFF + GPUBPF_RUN_MEM + mem + GPUBPF_ARENA_ALIGN - 1) / GPUBPF_ARENA_ALIGN * GPUBPF_ARENA_ALIGN;
	r->arena = mmap(NULL, r->arena_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->arena == MAP_FAILED)
		return -ENOMEM;
	hdr = (struct gpubpf_arena_hdr *)r->arena;
	hdr->magic = GPUBPF_ARENA_MAGIC;
	hdr->version = GPUBPF_ARENA_VERSION;
	hdr->size = r->arena_size;
	hdr->replicas = r->ops->caps(r->device)->compute_units;
	hdr->clock_mult = 1ull << 32;
	err = r->ops->arena_attach(r->device, r->arena, r->arena_size, &r->address, why);
	if (!err)
		err = r->ops->arena_push(r->device, 0, r->arena, r->arena_size);
	return err ? err : gpubpf_arena_wait(r->ops, r->device);
}

static void judge(struct runner *r, size_t i, const struct gpubpf_run *run)
{
	static const char *const what[] = {
		[GPUBPF_RUN_ACCESS] = "an access at 0x%llx is out of bounds",
		[GPUBPF_RUN_MISALIGNED] = "the address 0x%llx is misaligned",
		[GPUBPF_RUN_HELPER] = "helper %llu does not exist here",
		[GPUBPF_RUN_DEPTH] = "calls nest too deep",
		[GPUBPF_RUN_BUDGET] = "the run took too long",
		[GPUBPF_RUN_END] = "control left the program's end",
	};
	char text[160], error[200];

	if (run->status == GPUBPF_RUN_OK) {
		r->shared->out[i].r0 = run->r0;
		finish_case(r, i, "");
		return;
	}
	snprintf(text, sizeof(text), run->status < sizeof(what) / sizeof(what[0]) ? what[run->status] : "it failed",
		 (unsigned long long)(run->status == GPUBPF_RUN_HELPER ? (uint32_t)run->address : run->address));
	snprintf(error, sizeof(error), "instruction %llu: %s", (unsigned long long)run->pc, text);
	finish_case(r, i, error);
}

static int launch(struct runner *r, struct gpubpf_device_kernel *kernel, struct gpubpf_why *why)
{
	uint64_t number = 0, pid_tgid = (uint64_t)getpid() << 32 | (uint32_t)getpid();
	const void *args[] = { &r->address, &number, &pid_tgid };
	const size_t sizes[] = { sizeof(r->address), sizeof(number), sizeof(pid_tgid) };
	struct gpubpf_device_launch launch = {
		.dim = 1, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .args = args, .arg_sizes = sizes, .nargs = 3,
	};

	return r->ops->launch(kernel, &launch, why);
}

static void run_case(struct runner *r, struct gpubpf_device_module *module, size_t i)
{
	const struct conformance_case *c = &r->cases[i];
	struct gpubpf_run *run = (struct gpubpf_run *)(r->arena + CONFORMANCE_RUN_OFF);
	size_t size = r->arena_size - CONFORMANCE_RUN_OFF;
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_why why = { "" };
	char name[32];
	int err;

	memset(run, 0, size);
	run->mem_size = c->mem_size;
	run->budget = BUDGET;
	memcpy((uint8_t *)run + GPUBPF_RUN_MEM, c->mem, c->mem_size);
	snprintf(name, sizeof(name), "gpubpf_run_%u", (unsigned)(i - r->shared->begin));
	err = r->ops->kernel_get(module, name, &kernel, &why);
	if (err < 0) {
		finish_case(r, i, why.text);
		return;
	}
	err = r->ops->arena_push(r->device, CONFORMANCE_RUN_OFF, run, size);
	if (!err)
		err = gpubpf_arena_wait(r->ops, r->device);
	if (!err)
		err = launch(r, kernel, &why);
	if (!err)
		err = r->ops->arena_pull(r->device, CONFORMANCE_RUN_OFF, run, size);
	if (!err)
		err = gpubpf_arena_wait(r->ops, r->device);
	r->ops->kernel_put(kernel);
	if (err < 0)
		finish_case(r, i, why.text[0] ? why.text : strerror(-err));
	else
		judge(r, i, run);
}

static void run_group(struct runner *r)
{
	uint32_t begin = r->shared->begin, end = r->shared->end;
	struct gpubpf_lower_job job = {
		.caps = r->ops->caps(r->device), .run_off = CONFORMANCE_RUN_OFF, .plain_mem = true, .checked = !r->opts->verify,
	};
	struct gpubpf_device_module *module;
	struct gpubpf_why why = { "" };
	struct gpubpf_blob blob;
	struct gpubpf_diag diag;
	char text[600];
	int err;

	gpubpf_diag_init(&diag);
	err = conformance_emit(r->target, &job, &r->cases[begin], end - begin, &blob, &diag);
	if (err < 0) {
		snprintf(text, sizeof(text), "instruction %u: %s", diag.pc, diag.what);
		split_group(r, text);
		return;
	}
	err = r->ops->module_load(r->device, r->target->output, blob.data, blob.size, "", &module, &why);
	free(blob.data);
	if (err < 0) {
		split_group(r, why.text);
		return;
	}
	for (uint32_t i = begin; i < end; i++)
		run_case(r, module, i);
	r->ops->module_unload(module);
}

/*
 * The child: open the device once and work until nothing is left; of SPIR-V, one group. Intel's runtime 2026.2
 * was seen to fail at good modules after a damaged one (one that spirv-val refuses) in the same process.
 */
static void work(struct runner *r)
{
	struct gpubpf_why why = { "" };

	if (open_device(r, &why) < 0 || make_arena(r, &why) < 0) {
		for (size_t i = 0; i < r->n; i++)
			if (r->shared->out[i].group)
				finish_case(r, i, why.text);
		return;
	}
	while (next_group(r)) {
		run_group(r);
		if (r->target->output == GPUBPF_IMAGE_SPIRV)
			return; /* run_all() starts the next child */
	}
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void tell_progress(const struct runner *r)
{
	size_t done = 0;

	for (size_t i = 0; i < r->n; i++)
		done += !r->shared->out[i].group;
	if (r->opts->progress)
		r->opts->progress(r->opts->arg, done);
}

/* Wait for the child; kill it when it has made no progress for too long. 0: it ended well. */
static int watch(struct runner *r, pid_t child)
{
	uint64_t seen = r->shared->progress;
	long idle_ms = 0;
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		pause_ms(2);
		if (r->shared->progress != seen)
			tell_progress(r);
		idle_ms = r->shared->progress == seen ? idle_ms + 2 : 0;
		seen = r->shared->progress;
		if (idle_ms < GROUP_SECONDS * 1000)
			continue;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return -ETIMEDOUT;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static void run_all(struct runner *r)
{
	bool left = true;

	while (left) {
		pid_t child = fork();
		int err;

		if (child == 0) {
			work(r);
			_exit(0);
		}
		err = child < 0 ? -errno : watch(r, child);
		if (err < 0)
			split_group(r, err == -ETIMEDOUT ? "the device's compiler or the run took too long" :
							   "the device's runtime crashed");
		left = false;
		for (size_t i = 0; i < r->n; i++)
			left |= r->shared->out[i].group != 0;
	}
}

void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts)
{
	size_t size = sizeof(struct shared) + n * sizeof(struct outcome);
	struct runner r = { .cases = cases, .n = n, .opts = opts };

	r.shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.shared == MAP_FAILED)
		return;
	for (size_t i = 0; i < n; i++)
		r.shared->out[i].group = cases[i].error[0] ? 0 : CONFORMANCE_GROUP;
	run_all(&r);
	for (size_t i = 0; i < n; i++) {
		if (cases[i].error[0])
			continue;
		if (r.shared->out[i].error[0]) {
			conformance_fail(&cases[i], "%s", r.shared->out[i].error);
			continue;
		}
		cases[i].r0 = r.shared->out[i].r0;
		cases[i].done = true;
	}
	munmap(r.shared, size);
}
