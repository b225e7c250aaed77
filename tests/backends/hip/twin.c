/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip-twin ARCH IMAGE OBJECT KERNEL WHERE OUT: the compile worker makes the twin of a kernel in an image with the first
 * program of OBJECT. WHERE is entry, exit, both, or last (the entry and the last exit in the code). It may also list
 * kinds of places of single instructions, separated by commas, with named ones as KIND:GLOB. Each kind gets a copy of
 * the program, as if the section of the program named that kind. The verifier checks each copy for its kind. The tool
 * writes the layout of the program's map to OUT.layout and a new arena to OUT.arena. It prints the sizes of the
 * kernel's parameters, separated by commas, or "refused WHY".
 *
 * hip-twin ARCH IMAGE: prints the kernels of an image and the functions that they call. Each line has the name, the
 * parameters, the registers and the reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/worker/job.h"
#include "maps/maps.h"

#define MAX_SITES 64

static struct gpubpf_device_caps caps = {
	.backend = "hip", .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS, .clock = GPUBPF_CLOCK_REALTIME,
	.compute_units = 4, .warp_size = 64, .address_bits = 64,
};

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	rewind(f);
	data = malloc(*size + 1);
	if (data && fread(data, 1, *size, f) != *size)
		*size = 0;
	fclose(f);
	return data;
}

/* Makes a verified copy of the unit's first program for each kind of place, and adds up their use of maps. */
static int copy_to_places(struct gpubpf_unit *unit, uint32_t kinds, uint32_t *map_use, struct gpubpf_diag *diag)
{
	static struct gpubpf_prog copies[GPUBPF_NSITES];
	struct gpubpf_verify_opts how = { 0 };
	uint32_t n = 0;

	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++) {
		struct gpubpf_prog *copy = &copies[n];

		if (!(kinds >> kind & 1))
			continue;
		*copy = unit->progs[0];
		copy->site = kind;
		if (gpubpf_verify(unit, copy, &how, diag) < 0)
			return -1;
		for (uint32_t map = 0; map < unit->nmaps; map++)
			map_use[map] |= copy->facts->map_use[map];
		n++;
	}
	unit->progs = copies;
	unit->nprogs = n;
	return 0;
}

/* Makes a job with the object's first program at these kinds of places, and the layout of its maps. */
static int make_job(const char *object, uint32_t kinds, struct gpubpf_lower_job *job, struct gpubpf_layout *layout,
		    struct gpubpf_diag *diag)
{
	static uint32_t map_use[GPUBPF_MAX_MAPS];
	struct gpubpf_load_opts load = { .npaths = 1, .all_gpu = true, .paths = &object };
	struct gpubpf_layout_opts place = { .replicas = 4, .threads = 1 << 16, .map_use = map_use };
	struct gpubpf_loaded *loaded;
	int err = gpubpf_load(&load, &loaded, diag);

	if (!err)
		err = copy_to_places(&loaded->unit, kinds, map_use, diag);
	if (err < 0)
		return err;
	err = gpubpf_layout_compute(&loaded->unit, &place, layout, diag);
	*job = (struct gpubpf_lower_job){ .unit = &loaded->unit, .layouts = layout->maps, .layout_hash = layout->hash,
					  .caps = &caps };
	return err;
}

static int list(const struct gpubpf_kernel_info *kernels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		printf("%s %u %u %s\n", kernels[i].name, kernels[i].nparams, kernels[i].regs, kernels[i].reason);
	return 0;
}

static int write_file(const char *path, const char *suffix, const void *data, size_t size)
{
	char name[4096];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	f = fopen(name, "wb");
	if (!f || fwrite(data, 1, size, f) != size)
		return -1;
	return fclose(f);
}

static int write_arena(const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, const char *path)
{
	void *arena = calloc(1, layout->size);
	int err;

	if (!arena)
		return -1;
	gpubpf_arena_init(arena, unit, layout);
	err = write_file(path, ".arena", arena, layout->size);
	free(arena);
	return err ? err : write_file(path, ".layout", layout->maps, sizeof(*layout->maps));
}

/*
 * Finds a kind in a list of kinds. Returns the text after its name: "", ",..." or ":GLOB...". Returns NULL if the list
 * lacks it.
 */
static const char *find_kind(const char *name, const char *list)
{
	size_t n = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ',' || list[n] == ':'))
			return list + n;
	return NULL;
}

/* Returns the set of kinds of places that WHERE names. */
static uint32_t kinds_of(const char *where)
{
	uint32_t kinds = 0;

	if (!strcmp(where, "both") || !strcmp(where, "last"))
		return GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT);
	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++)
		kinds |= find_kind(gpubpf_place_kind(kind)->name, where) ? 1u << kind : 0;
	return kinds;
}

/* Inserts the site at the places of a kind. If places of this kind have names, only at the ones that WHERE selects. */
static void insert(struct gpubpf_insertions *at, uint32_t site, enum gpubpf_site kind, const struct gpubpf_kernel_info *kernel,
		   const char *where)
{
	const char *colon = find_kind(gpubpf_place_kind(kind)->name, where);
	char glob[128] = "";
	int err = 0;

	if (colon && *colon == ':')
		snprintf(glob, sizeof(glob), "%.*s", (int)strcspn(colon + 1, ","), colon + 1);

	if (!gpubpf_place_has_name(kind))
		err = gpubpf_insert(at, site, kind, kernel);
	for (uint32_t i = 0; !err && gpubpf_place_has_name(kind) && i < kernel->nplaces; i++)
		if (kernel->places[i].kind == kind && gpubpf_place_matches(&kernel->places[i], glob))
			err = gpubpf_insert_at(at, site, kernel, i);
	if (err < 0)
		abort();
}

/* Marks the functions that a kernel calls, directly and indirectly. */
static void find_called(const struct gpubpf_kernel_info *kernels, const struct gpubpf_kernel_info *from, bool *called)
{
	for (uint32_t i = 0; i < from->ncallees; i++)
		if (!called[from->callees[i]]) {
			called[from->callees[i]] = true;
			find_called(kernels, &kernels[from->callees[i]], called);
		}
}

/* Describes a site with the copy of the program for this kind of place. The copies are in the order of kinds. */
static void add_site(struct gpubpf_site_desc *site, enum gpubpf_site kind, uint32_t kinds, const struct gpubpf_kernel_info *kernel,
		     const struct gpubpf_kernel_info *of)
{
	static uint32_t progs[GPUBPF_NSITES];

	progs[kind] = __builtin_popcount(kinds & ((1u << kind) - 1));
	*site = (struct gpubpf_site_desc){ .site = kind, .kernel_id = 1, .params = of->params, .nparams = of->nparams,
					   .progs = &progs[kind], .nprogs = 1 };
	memcpy(site->kernel, kernel->name, sizeof(site->kernel));
	if (of != kernel)
		memcpy(site->function, of->name, sizeof(site->function));
}

/*
 * Makes sites for a kernel with the job's programs, at all places of their kinds, also in the functions that the kernel
 * calls.
 */
static uint32_t make_sites(struct gpubpf_site_desc *sites, struct gpubpf_insertions *at, const struct gpubpf_kernel_info *kernels,
			   uint32_t nkernels, const struct gpubpf_kernel_info *kernel, const char *where)
{
	bool *called = calloc(nkernels, sizeof(*called));
	uint32_t kinds = kinds_of(where), n = 0;

	find_called(kernels, kernel, called);
	for (uint32_t kind = 1; kind < GPUBPF_NSITES; kind++) {
		bool functions = gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;

		if (!(kinds >> kind & 1))
			continue;
		if (!functions) {
			add_site(&sites[n], kind, kinds, kernel, kernel);
			insert(at, n, kind, kernel, where);
		}
		for (uint32_t i = 0; i < nkernels; i++) {
			if (!called[i])
				continue;
			if (functions)
				add_site(&sites[n], kind, kinds, kernel, &kernels[i]);
			insert(at, n, kind, &kernels[i], where);
			n += functions && n + 1 < MAX_SITES;
		}
		n += !functions;
	}
	free(called);
	return n;
}

static int inject(struct gpubpf_worker *worker, const struct gpubpf_image *image, const struct gpubpf_kernel_info *kernels,
		  uint32_t nkernels, const struct gpubpf_kernel_info *kernel, char **args, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .validate = true };
	struct gpubpf_insertions at = { 0 };
	struct gpubpf_site_desc sites[MAX_SITES];
	struct gpubpf_lower_job job;
	struct gpubpf_twin_image twin;
	struct gpubpf_layout layout;

	if (make_job(args[0], kinds_of(args[2]), &job, &layout, diag) < 0)
		return -1;
	job.sites = sites;
	job.nsites = make_sites(sites, &at, kernels, nkernels, kernel, args[2]);
	if (!strcmp(args[2], "last") && at.n > 2) { /* the entry comes first, then the exits */
		at.list[1] = at.list[at.n - 1];
		at.n = 2;
	}
	job.insertions = at.list;
	job.ninsertions = at.n;
	if (gpubpf_worker_inject(worker, "amdgpu", image, &job, &opts, &twin, diag) < 0) {
		printf("refused %s\n", diag->what);
		return 0;
	}
	for (uint32_t i = 0; i < kernel->nparams; i++)
		printf("%s%u", i ? "," : "", kernel->params[i].size);
	printf("\n");
	if (write_arena(job.unit, &layout, args[3]) < 0)
		return -1;
	return write_file(args[3], "", twin.piece[0].blob.data, twin.piece[0].blob.size);
}

int main(int argc, char **argv)
{
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_kernel_info *kernels;
	struct gpubpf_image image = { .kind = GPUBPF_IMAGE_AMDGPU, .options = "", .cwd = "" };
	struct gpubpf_worker *worker;
	struct gpubpf_diag diag;
	uint32_t n;

	gpubpf_diag_init(&diag);
	if (argc != 3 && argc != 7)
		return 2;
	snprintf(caps.arch, sizeof(caps.arch), "%s", argv[1]);
	image.data = read_file(argv[2], &image.size);
	if (argc == 7)
		image.places = kinds_of(argv[5]) & gpubpf_places_of(GPUBPF_WHERE_INSN);
	if (!image.data || gpubpf_worker_create(&how, &worker) < 0)
		return 2;
	if (gpubpf_worker_inspect(worker, "amdgpu", &image, &caps, &kernels, &n, &diag) < 0) {
		printf("refused %s\n", diag.what);
		return 0;
	}
	if (argc == 3)
		return list(kernels, n);
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(kernels[i].name, argv[4]))
			return inject(worker, &image, kernels, n, &kernels[i], argv + 3, &diag) < 0 ? (fprintf(stderr, "%s\n", diag.what), 1) : 0;
	fprintf(stderr, "there is no kernel %s\n", argv[4]);
	return 1;
}
