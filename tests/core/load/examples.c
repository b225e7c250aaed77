/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examples FOLDER: loads and verifies the probes of each example. The interpreter runs them for every thread of a small
 * grid, in the order of a device: all entries and then all exits of a group, one group after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/interp/interp.h"
#include "core/load/load.h"
#include "maps/maps.h"
#include "../../tap.h"

enum { KERNEL = 2, GROUPS = 3, THREADS = 8, LAUNCHES = 2, PID = 4711, ANY = -1 };

struct run {
	const char *name;
	struct gpubpf_loaded *loaded;
	struct gpubpf_layout layout;
	void *arena;
};

static bool start(struct run *run, const char *folder, const char *name)
{
	struct gpubpf_layout_opts layout = { .replicas = 1, .threads = 1024 };
	char path[512];
	const char *paths[] = { path };
	struct gpubpf_load_opts opts = { .paths = paths, .npaths = 1 };
	struct gpubpf_verify_opts verify = { 0 };
	struct gpubpf_diag diag;
	char text[4096];
	int err;

	*run = (struct run){ .name = name };
	snprintf(path, sizeof(path), "%s/%s/%s.bpf.o", folder, name, name);
	gpubpf_diag_init(&diag);
	err = gpubpf_load(&opts, &run->loaded, &diag);
	for (uint32_t i = 0; err >= 0 && i < run->loaded->unit.nprogs; i++)
		err = gpubpf_verify(&run->loaded->unit, &run->loaded->unit.progs[i], &verify, &diag);
	if (err >= 0)
		err = gpubpf_layout_compute(&run->loaded->unit, &layout, &run->layout, &diag);
	if (!ok(err >= 0, "%s loads and verifies", name)) {
		gpubpf_diag_format(&diag, text, sizeof(text));
		note("%s", text);
		return false;
	}
	run->arena = aligned_alloc(GPUBPF_ARENA_ALIGN, run->layout.size);
	memset(run->arena, 0, run->layout.size);
	gpubpf_arena_init(run->arena, &run->loaded->unit, &run->layout);
	return true;
}

static void stop(struct run *run)
{
	gpubpf_layout_finish(&run->layout);
	gpubpf_loaded_destroy(run->loaded);
	free(run->arena);
}

/* Run all programs of a site for one thread of a launch. */
static bool thread(struct run *run, enum gpubpf_site site, int launch, int group, int id)
{
	struct gpubpf_ctx ctx = {
		.launch = launch, .kernel = KERNEL, .site = site, .nargs = 4, .work_dim = 1,
		.grid_dim = { GROUPS, 1, 1 }, .block_dim = { THREADS, 1, 1 }, .block_idx = { group },
		.thread_idx = { id }, .global_id = { group * THREADS + id }, .global_linear = group * THREADS + id,
		.arg = { 1, 2, 3, 1000 }, .di = 1, .si = 2, .dx = 3, .cx = 1000, .kernel_name = "vector_add",
	};

	for (uint32_t i = 0; i < run->loaded->unit.nprogs; i++) {
		struct gpubpf_interp_job job = {
			.unit = &run->loaded->unit, .prog = &run->loaded->unit.progs[i], .ctx = &ctx,
			.arena = run->arena, .layout = &run->layout, .pid_tgid = (uint64_t)PID << 32 | PID,
		};
		struct gpubpf_interp_result result;
		struct gpubpf_diag diag;

		gpubpf_diag_init(&diag);
		if (job.prog->site != site || gpubpf_interp_run(&job, &result, &diag) >= 0)
			continue;
		note("%s: %s", job.prog->name, diag.what);
		return false;
	}
	return true;
}

static bool launch_all(struct run *run)
{
	bool fine = true;

	for (int launch = 0; launch < LAUNCHES; launch++)
		for (int group = 0; group < GROUPS; group++) {
			for (int id = 0; id < THREADS; id++)
				fine &= thread(run, GPUBPF_SITE_ENTRY, launch, group, id);
			for (int id = THREADS; id-- > 0;)
				fine &= thread(run, GPUBPF_SITE_EXIT, launch, group, id);
		}
	return fine;
}

static struct gpubpf_map_view map(struct run *run, const char *name)
{
	for (uint32_t i = 0; i < run->loaded->unit.nmaps; i++)
		if (!strcmp(run->loaded->unit.maps[i].name, name))
			return (struct gpubpf_map_view){ run->arena, &run->loaded->unit.maps[i], &run->layout.maps[i] };
	fprintf(stderr, "%s has no map %s\n", run->name, name);
	exit(1);
}

static uint64_t histogram_sum(struct run *run, const char *name)
{
	struct gpubpf_map_view view = map(run, name);
	uint64_t sum = 0, n;

	for (uint32_t i = 0; i < view.map->max_entries; i++)
		if (gpubpf_map_lookup(&view, &i, &n) == 0)
			sum += n;
	return sum;
}

static void blocktime(struct run *run)
{
	struct gpubpf_map_view totals = map(run, "totals"), running = map(run, "running");
	uint64_t t[4] = { 0 }, key;

	gpubpf_map_lookup(&totals, &(uint32_t){ 0 }, t);
	ok(t[0] == LAUNCHES * GROUPS * THREADS && t[1] == t[0], "blocktime counts every thread in and out");
	ok(t[2] == LAUNCHES * GROUPS && t[3] == 0, "blocktime times every group");
	ok(histogram_sum(run, "block_ns") == LAUNCHES * GROUPS, "blocktime's histogram has every group once");
	ok(gpubpf_map_next_key(&running, NULL, &key) == -ENOENT, "no group is left running");
}

static void kernel_counter(struct run *run)
{
	struct gpubpf_map_view kernels = map(run, "kernels");
	uint64_t kernel = KERNEL, counts[3] = { 0 };

	ok(gpubpf_map_lookup(&kernels, &kernel, counts) == 0, "kernel-counter knows the kernel by its id");
	ok(counts[0] == LAUNCHES && counts[1] == LAUNCHES * GROUPS && counts[2] == LAUNCHES * GROUPS * THREADS,
	   "kernel-counter counts launches, groups and threads");
}

/*
 * Returns true if the map's value is want for each thread that ran and 0 for the next thread. ANY means a nonzero
 * value.
 */
static bool each_thread(struct run *run, const char *name, int want)
{
	struct gpubpf_map_view view = map(run, name);
	uint64_t *values = calloc(1, gpubpf_map_user_value_size(&view));
	bool each = true;

	gpubpf_map_lookup(&view, &(uint32_t){ 0 }, values);
	for (int i = 0; i < GROUPS * THREADS; i++)
		each &= want == ANY ? values[i] && values[i] < 1000000000ull : values[i] == (uint64_t)want;
	each &= values[GROUPS * THREADS] == 0;
	free(values);
	return each;
}

static void threadhist(struct run *run)
{
	ok(each_thread(run, "runs", LAUNCHES), "threadhist counts each thread's runs");
	ok(each_thread(run, "busy_ns", ANY), "threadhist times each thread");
}

static int count_event(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	const struct {
		uint64_t ns, launch;
		uint32_t block[3], thread[3];
	} *e = data;
	bool *seen = arg;

	(void)copy;
	if (size == sizeof(*e) && e->ns && e->launch < LAUNCHES && e->block[0] < GROUPS && e->thread[0] < THREADS)
		seen[(e->launch * GROUPS + e->block[0]) * THREADS + e->thread[0]] ^= true;
	return 0;
}

static void kernelretsnoop(struct run *run)
{
	struct gpubpf_map_view events = map(run, "events");
	bool seen[LAUNCHES * GROUPS * THREADS] = { 0 };
	int all = 0;

	ok(gpubpf_ring_read(&events, count_event, seen) == LAUNCHES * GROUPS * THREADS,
	   "kernelretsnoop sends an event for each thread");
	for (int i = 0; i < LAUNCHES * GROUPS * THREADS; i++)
		all += seen[i];
	ok(all == LAUNCHES * GROUPS * THREADS, "each event is of another thread");
}

static void cuda_counter(struct run *run)
{
	struct gpubpf_map_view calls = map(run, "calls_by_pid");
	uint64_t c[4] = { 0 };

	ok(gpubpf_map_lookup(&calls, &(uint32_t){ PID }, c) == 0, "cuda-counter knows the process");
	ok(c[0] == LAUNCHES * GROUPS * THREADS && c[1] == c[0] && c[2] && c[3] == 1000,
	   "cuda-counter counts calls and time, and reads the fourth argument");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*check)(struct run *run);
	} examples[] = {
		{ "blocktime", blocktime },         { "kernel-counter", kernel_counter }, { "threadhist", threadhist },
		{ "kernelretsnoop", kernelretsnoop }, { "cuda-counter", cuda_counter },
	};

	(void)argc;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct run run;

		if (!start(&run, argv[1], examples[i].name))
			continue;
		if (ok(launch_all(&run), "%s runs", run.name))
			examples[i].check(&run);
		stop(&run);
	}
	return done();
}
