/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/model/diag.h"
#include "random.h"

#define PID_TGID 0x0000123400005678ull

struct batch {
	const struct conformance_device *d;
	struct random_group group;
	bool unoptimised;
	void *host, *device; /* the arenas of the interpreter and of the device */
	uint64_t address;
	struct gpubpf_device_module *module;
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_reason *why;
	struct gpubpf_diag diag;
};

/*
 * Build one kernel for all programs. Its argument is the number of the program to run. One kernel per program would
 * take compilers much longer.
 */
static int load_module(struct batch *b)
{
	struct random_group *g = &b->group;
	struct gpubpf_site_desc sites[RANDOM_GROUP];
	uint32_t order[RANDOM_GROUP];
	struct gpubpf_lower_job job = {
		.unit = &g->unit,
		.layouts = g->layout.maps,
		.layout_hash = g->layout.hash,
		.sites = sites,
		.nsites = g->n,
		.print_ring = g->layout.print_ring,
		.print_layout = g->layout.prints,
		.caps = b->d->ops->caps(b->d->device),
		.run_off = g->layout.size,
	};
	bool as_it_is = b->unoptimised && job.caps->bits & GPUBPF_CAP_X86 && b->d->target->output == GPUBPF_IMAGE_SPIRV;
	struct gpubpf_blob blob;
	int err;

	for (uint32_t i = 0; i < g->n; i++) {
		order[i] = i;
		sites[i] = (struct gpubpf_site_desc){
			.site = GPUBPF_SITE_ENTRY,
			.kernel = "random",
			.kernel_id = 7,
			.progs = &order[i],
			.nprogs = 1,
		};
	}
	err = conformance_lower(b->d->target, &job, true, &blob, &b->diag);
	if (err < 0)
		return err;
	err = b->d->ops->module_load(b->d->device, b->d->target->output, blob.data, blob.size,
				     as_it_is ? "-cl-opt-disable" : "", &b->module, b->why);
	free(blob.data);
	return err ? err : b->d->ops->kernel_get(b->module, "gpubpf_run", &b->kernel, b->why);
}

static int make_arenas(struct batch *b)
{
	b->host = mmap(NULL, b->group.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	b->device = mmap(NULL, b->group.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->host == MAP_FAILED || b->device == MAP_FAILED)
		return -ENOMEM;
	return b->d->ops->arena_attach(b->d->device, b->device, b->group.size, &b->address, b->why);
}

static int run_device(struct batch *b, uint32_t i, uint64_t *r0)
{
	const struct gpubpf_device_ops *ops = b->d->ops;
	uint64_t pid_tgid = PID_TGID;
	const void *args[] = { &b->address, &b->group.launch[i], &pid_tgid, &i };
	const size_t sizes[] = { 8, 8, 8, 4 };
	struct gpubpf_device_launch launch = {
		.dim = 3,
		.grid = { 1, 1, 1 },
		.block = { 1, 1, 1 },
		.args = args,
		.arg_sizes = sizes,
		.nargs = 4,
	};
	int err = ops->arena_push(b->d->device, 0, b->device, b->group.size);
	if (!err)
		err = gpubpf_arena_wait(ops, b->d->device);
	if (!err)
		err = ops->launch(b->kernel, &launch, b->why);
	if (!err)
		err = ops->arena_pull(b->d->device, 0, b->device, b->group.size);
	if (!err)
		err = gpubpf_arena_wait(ops, b->d->device);
	*r0 = ((struct gpubpf_run *)((char *)b->device + b->group.layout.size))->r0;
	return err;
}

/* Run a program on the interpreter and on the device, with the program's launch number, and compare the results. */
static int run_both(struct batch *b, uint32_t i, struct random_outcome *o)
{
	int err;

	random_reset(&b->group, i, b->host);
	memcpy(b->device, b->host, b->group.size);
	err = random_run_host(&b->group, i, b->host, &o->want, &b->diag);
	if (!err)
		err = run_device(b, i, &o->got);
	if (err < 0)
		return err;
	o->what[0] = 0;
	o->launch = b->group.launch[i];
	o->differs = random_differs(&b->group, b->host, b->device, true, o->what, sizeof(o->what)) || o->want != o->got;
	return 0;
}

/*
 * Run a program with its input and, while results agree, with further inputs, because a run is cheap compared to
 * compilation.
 */
static int compare(struct batch *b, uint32_t i, struct random_outcome *o)
{
	struct gen_rng rng = { b->group.launch[i] };
	int err = run_both(b, i, o);

	for (int input = 1; !err && !o->differs && input < RANDOM_INPUTS; input++) {
		b->group.launch[i] = gen_random(&rng);
		err = run_both(b, i, o);
	}
	return err;
}

int random_run_group(const struct conformance_device *d, const struct random_program *const *programs, uint32_t n,
		     struct random_outcome *outcomes, struct gpubpf_reason *why)
{
	struct batch *b;
	int err;

	if (!d->ops)
		return random_run_linux(programs, n, outcomes, why);
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct batch){
		.d = d, .host = MAP_FAILED, .device = MAP_FAILED, .why = why, .unoptimised = programs[0]->unoptimised
	};
	gpubpf_diag_init(&b->diag);
	err = random_group_init(&b->group, programs, n, &b->diag);
	if (!err)
		err = load_module(b);
	if (!err)
		err = make_arenas(b);
	for (uint32_t i = 0; !err && i < n; i++)
		err = compare(b, i, &outcomes[i]);
	if (err < 0 && b->diag.code)
		gpubpf_diag_brief(&b->diag, why->text, sizeof(why->text));
	if (b->kernel)
		d->ops->kernel_put(b->kernel);
	if (b->module)
		d->ops->module_unload(b->module);
	d->ops->arena_detach(d->device);
	if (b->host != MAP_FAILED)
		munmap(b->host, b->group.size);
	if (b->device != MAP_FAILED)
		munmap(b->device, b->group.size);
	random_group_finish(&b->group);
	free(b);
	return err;
}
