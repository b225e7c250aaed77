/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs cases that are BPF objects on a device. The objects of a group are loaded together and lowered to one module
 * with one kernel per object. The kernels are launched one after the other.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/conformance/suite/isolate.h"
#include "grid.h"
#include "external_maps.h"
#include "cli/conformance/raw/raw.h"
#include "cli/conformance/raw/emit.h"

#define GROUP 16

struct runner {
	struct isolate isolate; /* must be the first member: the code casts between both structs */
	const struct suite_run *run;
	const struct conformance_opts *opts;
	const uint32_t *cases;
	struct conformance_device opened;
};

/* the group of cases that is currently run */
struct batch {
	struct runner *r;
	struct grid grid;
	void *arena;
	uint64_t address;
	struct gpubpf_device_module *module;
	struct grid_placed placed;
	struct gpubpf_reason why;
	struct gpubpf_diag diag;
};

static int make_arena(struct batch *b)
{
	const struct conformance_device *d = &b->r->opened;
	const struct gpubpf_device_caps *caps = d->ops->caps(d->device);
	uint32_t places[GPUBPF_MAX_MAPS];
	int err;

	grid_places(&b->grid.loaded->unit, b->grid.map_use, b->r->run->place, caps->bits, places);
	err = grid_layout(&b->grid, caps->compute_units, places, &b->diag);
	if (err < 0)
		return err;
	b->arena = mmap(NULL, b->grid.layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->arena == MAP_FAILED)
		return gpubpf_diag_set(&b->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for maps");
	gpubpf_arena_init(b->arena, &b->grid.loaded->unit, &b->grid.layout);
	err = d->ops->arena_attach(d->device, b->arena, b->grid.layout.own, &b->address, &b->why);
	if (!err)
		err = d->ops->arena_push(d->device, 0, b->arena, b->grid.layout.own);
	if (!err)
		err = gpubpf_arena_wait(d->ops, d->device);
	b->placed = (struct grid_placed){ .ops = d->ops, .device = d->device, .layout = &b->grid.layout };
	return err ? err : grid_place(&b->placed, b->arena, &b->why);
}

/* Build and load the module: one site per object, which runs the object's programs in order. */
static int load_module(struct batch *b)
{
	const struct conformance_device *d = &b->r->opened;
	const struct gpubpf_unit *unit = &b->grid.loaded->unit;
	uint32_t order[unit->nprogs], at = 0;
	struct gpubpf_site_desc sites[GROUP];
	struct gpubpf_lower_job job = {
		.unit = unit,
		.layouts = b->grid.layout.maps,
		.layout_hash = b->grid.layout.hash,
		.sites = sites,
		.nsites = b->grid.n,
		.print_ring = b->grid.layout.print_ring,
		.print_layout = b->grid.layout.prints,
		.caps = d->ops->caps(d->device),
	};
	struct gpubpf_blob blob;
	int err;

	for (uint32_t i = 0; i < b->grid.n; i++) {
		memset(&sites[i], 0, sizeof(sites[i]));
		sites[i].site = GPUBPF_SITE_ENTRY;
		snprintf(sites[i].kernel, sizeof(sites[i].kernel), GRID_KERNEL);
		sites[i].kernel_id = GRID_KERNEL_ID;
		sites[i].progs = order + at;
		sites[i].may_end_thread = true;
		for (uint32_t p = 0; p < unit->nprogs; p++)
			if ((uint32_t)unit->progs[p].object == i && unit->progs[p].pattern[0]) {
				order[at++] = p;
				sites[i].nprogs++;
			}
	}
	err = conformance_lower(d->target, &job, false, &blob, &b->diag);
	if (err < 0)
		return err;
	err = d->ops->module_load(d->device, d->target->output, blob.data, blob.size, "", &b->module, &b->why);
	free(blob.data);
	return err;
}

static int launch_nth(struct batch *b, struct gpubpf_device_kernel *kernel, const struct grid_launch *l, uint32_t nth)
{
	const struct conformance_device *d = &b->r->opened;
	uint64_t number = GRID_LAUNCH + nth, pid_tgid = grid_pid_tgid(nth);
	const void *args[] = { &b->address, &number, &pid_tgid };
	const size_t sizes[] = { sizeof(b->address), sizeof(number), sizeof(pid_tgid) };
	struct gpubpf_device_launch launch = { .args = args, .arg_sizes = sizes, .nargs = 3, .dim = l->dim };

	for (int dim = 0; dim < 3; dim++) {
		launch.block[dim] = l->block[dim];
		launch.grid[dim] = (size_t)l->grid[dim] * l->block[dim];
	}
	return d->ops->launch(kernel, &launch, &b->why);
}

static int launch(struct batch *b, uint32_t i)
{
	const struct conformance_device *d = &b->r->opened;
	struct gpubpf_device_kernel *kernel;
	struct grid_launch l;
	char name[32];
	int err;

	grid_launch_of(&b->r->run->suite.cases[b->grid.cases[i]], d->ops->caps(d->device), &l);
	snprintf(name, sizeof(name), "gpubpf_run_%u", i);
	err = d->ops->kernel_get(b->module, name, &kernel, &b->why);
	if (err < 0)
		return err;
	for (uint32_t nth = 0; !err && nth < l.times; nth++)
		err = launch_nth(b, kernel, &l, nth);
	d->ops->kernel_put(kernel);
	return err;
}

/* Launch the kernel of each case, read all maps back, and compare them with the expectations. */
static int run_batch(struct batch *b, uint32_t begin)
{
	const struct conformance_device *d = &b->r->opened;
	int err = 0;

	for (uint32_t i = 0; !err && i < b->grid.n; i++)
		err = launch(b, i);
	if (!err)
		err = d->ops->arena_pull(d->device, 0, b->arena, b->grid.layout.own);
	if (!err)
		err = gpubpf_arena_wait(d->ops, d->device);
	grid_placed_copy_back(&b->placed, b->arena);
	for (uint32_t i = 0; !err && i < b->grid.n; i++) {
		struct isolate_item *item = &b->r->isolate.items[begin + i];
		struct suite_result result = { 0 };

		grid_judge(&b->grid, i, d->ops->caps(d->device), b->arena, NULL, &result);
		item->value = result.state;
		memcpy(item->expected, result.expected, sizeof(item->expected));
		isolate_done(&b->r->isolate, begin + i, result.got);
	}
	return err;
}

static void run_group(struct runner *r, uint32_t begin, uint32_t end)
{
	struct batch b = { .r = r, .arena = MAP_FAILED };
	const struct conformance_device *d = &r->opened;
	char text[400];
	int err;

	gpubpf_diag_init(&b.diag);
	err = grid_load(&b.grid, &r->run->suite, r->cases + begin, end - begin, &b.diag);
	if (!err)
		err = make_arena(&b);
	if (!err)
		err = load_module(&b);
	if (!err)
		err = run_batch(&b, begin);
	if (err < 0) {
		snprintf(text, sizeof(text), "%.390s",
			 b.diag.code   ? b.diag.what :
			 b.why.text[0] ? b.why.text :
					 strerror(-err));
		isolate_split(&r->isolate, text);
	}
	if (b.module)
		d->ops->module_unload(b.module);
	if (b.arena != MAP_FAILED) {
		grid_placed_finish(&b.placed);
		d->ops->arena_detach(d->device);
		munmap(b.arena, b.grid.layout.size);
	}
	grid_finish(&b.grid);
}

static void work(struct isolate *isolate)
{
	struct runner *r = (struct runner *)isolate;
	struct gpubpf_reason why = { "" };
	uint32_t begin, end;

	if (conformance_open(r->opts, &r->opened, &why) < 0) {
		while (isolate_next(isolate, &begin, &end))
			for (uint32_t i = begin; i < end; i++)
				isolate_done(isolate, i, why.text);
		return;
	}
	while (isolate_next(isolate, &begin, &end)) {
		run_group(r, begin, end);
		if (conformance_once(&r->opened))
			/*
			 * this child opens a device only once; isolate_run() starts a new child for the remaining cases
			 * (cli/conformance/raw/device.c)
			 */
			return;
	}
}

void grid_run_device(const struct suite_run *run, struct suite_device *device, const uint32_t *cases, uint32_t n,
		     const struct conformance_opts *opts)
{
	struct runner r = {
		.isolate = { .n = n,
			     .group = GROUP,
			     .weight = UINT32_MAX,
			     .work = work,
			     .progress = opts->progress,
			     .arg = opts->arg },
		.run = run,
		.opts = opts,
		.cases = cases,
	};

	if (isolate_init(&r.isolate) < 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (grid_runs_alone(&run->suite.cases[cases[i]]))
			r.isolate.items[i].group = 1;
	isolate_run(&r.isolate);
	for (uint32_t i = 0; i < n; i++) {
		struct suite_result *result = &device->results[cases[i]];
		const struct isolate_item *item = &r.isolate.items[i];

		result->state = item->value;
		snprintf(result->expected, sizeof(result->expected), "%s",
			 item->expected[0] ? item->expected : "its programs run");
		snprintf(result->got, sizeof(result->got), "%s", item->error);
	}
	isolate_finish(&r.isolate);
}
