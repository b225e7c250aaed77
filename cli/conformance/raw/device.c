/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one-thread programs on a device. Each group of programs is one module (cli/conformance/suite/isolate.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/conformance/suite/isolate.h"
#include "core/device.h"
#include "core/model/diag.h"
#include "maps/layout.h"
#include "emit.h"

#define GROUP_INSNS 8192

struct runner {
	struct isolate isolate; /* must be the first member: the code casts between both structs */
	struct conformance_case *cases;
	size_t n;
	const struct conformance_opts *opts;
	struct conformance_device opened;
	uint8_t *arena;
	size_t arena_size;
	uint64_t address;
};

static int make_arena(struct runner *r, struct gpubpf_reason *why)
{
	struct gpubpf_arena_hdr *hdr;
	int err;
	size_t mem = 0;

	for (size_t i = 0; i < r->n; i++)
		mem = r->cases[i].mem_size > mem ? r->cases[i].mem_size : mem;
	r->arena_size = (CONFORMANCE_RUN_OFF + GPUBPF_RUN_MEM + mem + GPUBPF_ARENA_ALIGN - 1) / GPUBPF_ARENA_ALIGN *
			GPUBPF_ARENA_ALIGN;
	r->arena = mmap(NULL, r->arena_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->arena == MAP_FAILED)
		return -ENOMEM;
	hdr = (struct gpubpf_arena_hdr *)r->arena;
	hdr->magic = GPUBPF_ARENA_MAGIC;
	hdr->version = GPUBPF_ARENA_VERSION;
	hdr->size = r->arena_size;
	hdr->replicas = r->opened.ops->caps(r->opened.device)->compute_units;
	hdr->clock_mult = 1ull << 32;
	err = r->opened.ops->arena_attach(r->opened.device, r->arena, r->arena_size, &r->address, why);
	if (!err)
		err = r->opened.ops->arena_push(r->opened.device, 0, r->arena, r->arena_size);
	return err ? err : gpubpf_arena_wait(r->opened.ops, r->opened.device);
}

const char *conformance_ended(const struct gpubpf_run *run, char *buf, size_t size)
{
	static const char *const what[] = {
		[GPUBPF_RUN_ACCESS] = "an access at 0x%llx is out of bounds",
		[GPUBPF_RUN_MISALIGNED] = "the address 0x%llx is misaligned",
		[GPUBPF_RUN_HELPER] = "helper %llu is not available here",
		[GPUBPF_RUN_DEPTH] = "function calls are nested too deeply",
		[GPUBPF_RUN_BUDGET] = "the run exceeded the limit of taken branches",
		[GPUBPF_RUN_END] = "execution continued past the program's last instruction",
	};
	char text[160];

	if (run->status == GPUBPF_RUN_OK)
		return NULL;
	snprintf(text, sizeof(text), run->status < sizeof(what) / sizeof(what[0]) ? what[run->status] : "it failed",
		 (unsigned long long)(run->status == GPUBPF_RUN_HELPER ? (uint32_t)run->address : run->address));
	snprintf(buf, size, "instruction %llu: %s", (unsigned long long)run->pc, text);
	return buf;
}

static void judge(struct runner *r, size_t i, const struct gpubpf_run *run)
{
	char text[200];
	const char *error = conformance_ended(run, text, sizeof(text));

	r->isolate.items[i].value = run->r0;
	isolate_done(&r->isolate, i, error ? error : "");
}

static int launch(struct runner *r, struct gpubpf_device_kernel *kernel, struct gpubpf_reason *why)
{
	uint64_t number = 0, pid_tgid = (uint64_t)getpid() << 32 | (uint32_t)getpid();
	const void *args[] = { &r->address, &number, &pid_tgid };
	const size_t sizes[] = { sizeof(r->address), sizeof(number), sizeof(pid_tgid) };
	struct gpubpf_device_launch launch = {
		.dim = 1,
		.grid = { 1, 1, 1 },
		.block = { 1, 1, 1 },
		.args = args,
		.arg_sizes = sizes,
		.nargs = 3,
	};

	return r->opened.ops->launch(kernel, &launch, why);
}

static void run_case(struct runner *r, struct gpubpf_device_module *module, uint32_t begin, size_t i)
{
	const struct conformance_case *c = &r->cases[i];
	struct gpubpf_run *run = (struct gpubpf_run *)(r->arena + CONFORMANCE_RUN_OFF);
	size_t size = r->arena_size - CONFORMANCE_RUN_OFF;
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_reason why = { "" };
	char name[32];
	int err;

	memset(run, 0, size);
	run->mem_size = c->mem_size;
	run->budget = CONFORMANCE_BUDGET;
	memcpy((uint8_t *)run + GPUBPF_RUN_MEM, c->mem, c->mem_size);
	snprintf(name, sizeof(name), "gpubpf_run_%u", (unsigned)(i - begin));
	err = r->opened.ops->kernel_get(module, name, &kernel, &why);
	if (err < 0) {
		isolate_done(&r->isolate, i, why.text);
		return;
	}
	err = r->opened.ops->arena_push(r->opened.device, CONFORMANCE_RUN_OFF, run, size);
	if (!err)
		err = gpubpf_arena_wait(r->opened.ops, r->opened.device);
	if (!err)
		err = launch(r, kernel, &why);
	if (!err)
		err = r->opened.ops->arena_pull(r->opened.device, CONFORMANCE_RUN_OFF, run, size);
	if (!err)
		err = gpubpf_arena_wait(r->opened.ops, r->opened.device);
	r->opened.ops->kernel_put(kernel);
	if (err < 0)
		isolate_done(&r->isolate, i, why.text[0] ? why.text : strerror(-err));
	else
		judge(r, i, run);
}

static void run_group(struct runner *r, uint32_t begin, uint32_t end)
{
	struct gpubpf_lower_job job = {
		.caps = r->opened.ops->caps(r->opened.device),
		.run_off = CONFORMANCE_RUN_OFF,
		.plain_mem = true,
		.checked = !r->opts->verify,
	};
	struct gpubpf_device_module *module;
	struct gpubpf_reason why = { "" };
	struct gpubpf_blob blob;
	struct gpubpf_diag diag;
	char text[600];
	int err;

	gpubpf_diag_init(&diag);
	err = conformance_emit(r->opened.target, &job, &r->cases[begin], end - begin, &blob, &diag);
	if (err < 0) {
		gpubpf_diag_brief(&diag, text, sizeof(text));
		isolate_split(&r->isolate, text);
		return;
	}
	err = r->opened.ops->module_load(r->opened.device, r->opened.target->output, blob.data, blob.size, "", &module,
					 &why);
	free(blob.data);
	if (err < 0) {
		isolate_split(&r->isolate, why.text);
		return;
	}
	for (uint32_t i = begin; i < end; i++)
		run_case(r, module, begin, i);
	r->opened.ops->module_unload(module);
}

/*
 * Called in the child process. Opens the device once and runs groups until none is left. If each group needs a new
 * process, runs only one group.
 */
static void work(struct isolate *isolate)
{
	struct runner *r = (struct runner *)isolate;
	struct gpubpf_reason why = { "" };
	uint32_t begin, end;

	if (conformance_open(r->opts, &r->opened, &why) < 0 || make_arena(r, &why) < 0) {
		for (size_t i = 0; i < r->n; i++)
			if (r->isolate.items[i].group)
				isolate_done(&r->isolate, i, why.text);
		return;
	}
	while (isolate_next(isolate, &begin, &end)) {
		run_group(r, begin, end);
		if (conformance_once(&r->opened))
			return; /* isolate_run() starts a new child for the remaining groups */
	}
}

void conformance_run_device(struct conformance_case *cases, size_t n, const struct conformance_opts *opts)
{
	struct runner r = {
		.isolate = { .n = n,
			     .group = CONFORMANCE_GROUP,
			     .weight = GROUP_INSNS,
			     .work = work,
			     .progress = opts->progress,
			     .arg = opts->arg },
		.cases = cases,
		.n = n,
		.opts = opts,
	};

	if (isolate_init(&r.isolate) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (cases[i].error[0])
			r.isolate.items[i].group = 0;
		else
			r.isolate.items[i].weight = cases[i].unit.progs->ninsns;
	}
	isolate_run(&r.isolate);
	for (size_t i = 0; i < n; i++) {
		const struct isolate_item *item = &r.isolate.items[i];

		if (item->error[0])
			conformance_fail(&cases[i], "%s", item->error);
		cases[i].r0 = item->value;
		cases[i].done = !cases[i].error[0];
	}
	isolate_finish(&r.isolate);
}
