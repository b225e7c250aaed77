/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs, proven, on the interpreter and on a device: r0, the whole arena (every map, every
 * ring) must be the same. diff [--seed N] [--rounds N] [--backend NAME] [--device NAME] [--target NAME]
 * [--replicas N] [--show]
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/device.h"
#include "core/target.h"
#include "core/diag.h"
#include "core/facts.h"
#include "core/interp/interp.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "gen.h"
#include "maps/maps.h"
#include "tests/tap.h"

#define GROUP 24
#define PID_TGID 0x0000123400005678ull

struct options {
	uint64_t seed;
	uint32_t rounds;
	uint32_t replicas;  /* 1 where a lane may run on any multiprocessor, so that arenas compare */
	const char *backend, *device;
	const char *target;                      /* of gpubpf-compile; NULL: OpenCL C, linked in */
	bool show;
};

struct group {
	struct gpubpf_unit unit;                 /* of all programs of the group */
	struct gpubpf_prog progs[GROUP];
	struct gpubpf_unit owners[GROUP];
	uint64_t launch[GROUP];
	uint32_t map_use[GEN_NMAPS];
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_layout layout;
	uint64_t run_off;
	size_t size;                             /* of the arena with the run record */
	uint32_t refused;
};

static const struct gpubpf_device_ops *ops;
static struct gpubpf_device *device;
static struct gpubpf_worker *worker;

/* A program that the verifier accepts, with the facts. */
static void make_program(struct group *g, struct gen_rng *rng, uint32_t i)
{
	struct gpubpf_raw_insn raw[GEN_INSNS];
	struct gpubpf_verify_opts opts = { 0 };
	struct gpubpf_diag diag;

	for (;;) {
		uint32_t n = gen_program(rng, raw);

		gpubpf_diag_init(&diag);
		if (gpubpf_unit_raw(raw, n, g->maps, GEN_NMAPS, &g->owners[i], &diag) == 0) {
			if (gpubpf_verify(&g->owners[i], g->owners[i].progs, &opts, &diag) == 0)
				break;
			gpubpf_unit_finish(&g->owners[i]);
		}
		if (g->refused++ < 3)
			note("refused: instruction %u: %s", diag.pc, diag.what);
	}
	g->progs[i] = *g->owners[i].progs;
	g->launch[i] = gen_random(rng);
	for (uint32_t m = 0; m < GEN_NMAPS; m++)
		g->map_use[m] |= g->progs[i].facts->map_use[m];
}

static void make_group(struct group *g, struct gen_rng *rng, uint32_t replicas)
{
	struct gpubpf_layout_opts opts = { .replicas = replicas, .ring_bytes = 65536, .threads = 16,
		.print_bytes = 16384, .map_use = g->map_use };
	struct gpubpf_diag diag;

	memset(g, 0, sizeof(*g));
	gen_maps(g->maps);
	for (uint32_t i = 0; i < GROUP; i++)
		make_program(g, rng, i);
	g->unit = (struct gpubpf_unit){ g->maps, GEN_NMAPS, g->progs, GROUP };
	gpubpf_diag_init(&diag);
	if (gpubpf_layout_compute(&g->unit, &opts, &g->layout, &diag) < 0) {
		note("layout: %s", diag.what);
		abort();
	}
	g->run_off = g->layout.size;
	g->size = g->layout.size + GPUBPF_ARENA_ALIGN;
}

static void finish_group(struct group *g)
{
	for (uint32_t i = 0; i < GROUP; i++)
		gpubpf_unit_finish(&g->owners[i]);
	gpubpf_layout_finish(&g->layout);
}

/* Values that are not all zero, the same on both sides. */
static void fill_maps(struct group *g, void *arena, uint64_t seed)
{
	static const uint32_t maps[] = { GEN_ARRAY, GEN_HASH, GEN_DATA };
	struct gen_rng rng = { seed };
	uint64_t value[GEN_VALUE / 8];

	for (size_t m = 0; m < sizeof(maps) / sizeof(maps[0]); m++) {
		struct gpubpf_map_view view = { arena, &g->maps[maps[m]], &g->layout.maps[maps[m]] };

		for (uint32_t key = 0; key < 3; key++) {
			for (size_t i = 0; i < GEN_VALUE / 8; i++)
				value[i] = gen_random(&rng);
			gpubpf_map_update(&view, &key, value, 0);
		}
	}
}

static void reset_arena(struct group *g, void *arena, uint32_t prog)
{
	memset(arena, 0, g->size);
	gpubpf_arena_init(arena, &g->unit, &g->layout);
	fill_maps(g, arena, g->launch[prog]);
}

static bool run_host(struct group *g, uint32_t prog, void *arena, uint64_t *r0)
{
	bool hip = !strcmp(ops->backend, "hip"); /* has no launches of fewer dimensions */
	struct gpubpf_ctx ctx = {
		.launch = g->launch[prog], .kernel = 7, .site = GPUBPF_SITE_ENTRY, .nargs = 0, .work_dim = hip ? 3 : 1,
		.grid_dim = { 1, 1, 1 }, .block_dim = { 1, 1, 1 }, .kernel_name = "fuzz",
	};
	struct gpubpf_interp_job job = {
		.unit = &g->unit, .prog = &g->progs[prog], .ctx = &ctx, .arena = arena, .layout = &g->layout,
		.pid_tgid = PID_TGID,
	};
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_interp_run(&job, &result, &diag) < 0) {
		note("the interpreter refused a proven program: instruction %u: %s", diag.pc, diag.what);
		return false;
	}
	*r0 = result.r0;
	return true;
}

static bool run_device(struct group *g, struct gpubpf_device_module *module, uint32_t prog, void *arena,
		       uint64_t address, uint64_t *r0)
{
	uint64_t pid_tgid = PID_TGID;
	const void *args[] = { &address, &g->launch[prog], &pid_tgid };
	const size_t sizes[] = { 8, 8, 8 };
	struct gpubpf_device_launch launch = {
		.dim = 1, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .args = args, .arg_sizes = sizes, .nargs = 3,
	};
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_why why = { "" };
	char name[32];
	int err;

	snprintf(name, sizeof(name), "gpubpf_run_%u", prog);
	err = ops->kernel_get(module, name, &kernel, &why);
	if (err < 0) {
		note("%s: %s", name, why.text);
		return false;
	}
	ops->arena_push(device, 0, arena, g->size);
	gpubpf_arena_wait(ops, device);
	err = ops->launch(kernel, &launch, &why);
	ops->arena_pull(device, 0, arena, g->size);
	gpubpf_arena_wait(ops, device);
	ops->kernel_put(kernel);
	if (err < 0)
		note("%s: %s", name, why.text);
	*r0 = ((struct gpubpf_run *)((char *)arena + g->run_off))->r0;
	return err == 0;
}

static enum gpubpf_image_kind image_kind(const struct options *o)
{
	return !o->target ? GPUBPF_IMAGE_OPENCL_C : strcmp(o->target, "spirv") ? GPUBPF_IMAGE_AMDGPU : GPUBPF_IMAGE_SPIRV;
}

static int load_group(struct group *g, struct gpubpf_device_module **module, const struct options *o)
{
	struct gpubpf_site_desc sites[GROUP];
	uint32_t order[GROUP];
	struct gpubpf_lower_job job = {
		.unit = &g->unit, .layouts = g->layout.maps, .layout_hash = g->layout.hash, .sites = sites, .nsites = GROUP,
		.print_ring = g->layout.print_ring, .print_layout = g->layout.prints,
		.caps = ops->caps(device), .run_off = g->run_off,
	};
	struct gpubpf_target_opts opts = { .opt_level = 2, .kernels = true };
	struct gpubpf_blob blob;
	struct gpubpf_why why = { "" };
	struct gpubpf_diag diag;
	int err;

	for (uint32_t i = 0; i < GROUP; i++) {
		order[i] = i;
		sites[i] = (struct gpubpf_site_desc){
			.site = GPUBPF_SITE_ENTRY, .kernel = "fuzz", .kernel_id = 7, .progs = &order[i], .nprogs = 1,
		};
	}
	gpubpf_diag_init(&diag);
	err = o->target ? gpubpf_worker_emit(worker, o->target, &job, &opts, &blob, &diag) :
			  gpubpf_target_find("clc")->ops->emit(&job, &opts, &blob, &diag);
	if (err < 0) {
		note("lowering: instruction %u: %s", diag.pc, diag.what);
		return err;
	}
	if (o->show)
		fwrite(blob.data, 1, blob.size, stderr);
	err = ops->module_load(device, image_kind(o), blob.data, blob.size, "", module, &why);
	if (err < 0)
		note("building: %s", why.text);
	free(blob.data);
	return err;
}

static void show_program(const struct gpubpf_prog *prog)
{
	char text[96];

	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		gpubpf_insn_format(&prog->insns[pc], pc, text, sizeof(text));
		note("%4u: %s", pc, text);
	}
}

/* The first word of the maps that differs, or -1. Counters of helper 7 and the header stay out; prints hold
 * the arena's address, each its own. */
static long first_difference(const struct group *g, const uint64_t *host, const uint64_t *mine, uint64_t address)
{
	uint64_t base[2] = { (uintptr_t)host, (uintptr_t)mine };

	for (size_t i = GPUBPF_ARENA_MAPS / 8; i < g->layout.size / 8; i++)
		if (host[i] != mine[i] && !(host[i] == base[0] && (mine[i] == base[1] || mine[i] == address)))
			return (long)i * 8;
	return -1;
}

static bool compare(struct group *g, struct gpubpf_device_module *module, uint32_t prog, void *host, void *mine,
		    uint64_t address, const struct options *o)
{
	uint64_t want = 0, got = 0;
	long at;

	reset_arena(g, host, prog);
	reset_arena(g, mine, prog);
	if (!run_host(g, prog, host, &want) || !run_device(g, module, prog, mine, address, &got)) {
		show_program(&g->progs[prog]);
		return false;
	}
	at = first_difference(g, host, mine, address);
	if (want == got && at < 0)
		return true;
	note("r0 is 0x%llx on the host, 0x%llx on the device; first word that differs: %ld", (unsigned long long)want,
	     (unsigned long long)got, at);
	show_program(&g->progs[prog]);
	return false;
}

static bool run_round(struct gen_rng *rng, const struct options *o, uint32_t *refused)
{
	static struct group g;
	struct gpubpf_device_module *module = NULL;
	struct gpubpf_why why = { "" };
	void *host, *mine;
	uint64_t address;
	bool good;

	make_group(&g, rng, o->replicas ? o->replicas : ops->caps(device)->compute_units);
	*refused += g.refused;
	host = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mine = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	good = host != MAP_FAILED && mine != MAP_FAILED && load_group(&g, &module, o) == 0 &&
	       ops->arena_attach(device, mine, g.size, &address, &why) == 0;
	for (uint32_t i = 0; good && i < GROUP; i++)
		good = compare(&g, module, i, host, mine, address, o);
	ops->module_unload(module);
	ops->arena_detach(device);
	munmap(host, g.size);
	munmap(mine, g.size);
	finish_group(&g);
	return good;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' }, { "rounds", required_argument, NULL, 'r' },
		{ "device", required_argument, NULL, 'd' }, { "show", no_argument, NULL, 'S' },
		{ "replicas", required_argument, NULL, 'R' }, { "target", required_argument, NULL, 't' },
		{ "backend", required_argument, NULL, 'b' }, { 0 },
	};
	struct options o = { .seed = (uint64_t)time(NULL), .rounds = 4, .backend = "opencl", .device = "Portable" };
	struct gpubpf_device_open how = { 0 };
	struct gpubpf_why why = { "" };
	uint32_t refused = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (opt) {
		case 's': o.seed = strtoull(optarg, NULL, 0); break;
		case 'r': o.rounds = (uint32_t)atoi(optarg); break;
		case 'R': o.replicas = (uint32_t)atoi(optarg); break;
		case 'b': o.backend = optarg; break;
		case 'd': o.device = optarg; break;
		case 't': o.target = optarg; break;
		case 'S': o.show = true; break;
		default: return 2;
		}
	}
	if (o.target && gpubpf_worker_create(&(struct gpubpf_worker_opts){ 0 }, &worker) < 0)
		return 1;
	if (!strcmp(o.device, "Intel") && getenv("GPUBPF_TEST_INTEL"))
		setenv("OCL_ICD_VENDORS", getenv("GPUBPF_TEST_INTEL"), 1);
	how.name = o.device;
	ops = gpubpf_device_find(o.backend);
	if (ops->open(&how, &device, &why) < 0) {
		printf("1..0 # SKIP %s\n", why.text);
		return 0;
	}
	for (uint32_t i = 0; i < o.rounds; i++) {
		struct gen_rng rng = { o.seed + i };

		ok(run_round(&rng, &o, &refused), "%u programs of seed %llu: interpreter and %s agree", GROUP,
		   (unsigned long long)o.seed + i, o.device);
	}
	ok(refused < o.rounds * GROUP, "most random programs are accepted (%u of %u refused)", refused,
	   refused + o.rounds * GROUP);
	ops->close(device);
	gpubpf_worker_destroy(worker);
	return done();
}
