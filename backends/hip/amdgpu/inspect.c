/* SPDX-License-Identifier: Apache-2.0 */
/* The amdgpu target's look into code objects: kernels, their parameters and places, and what speaks against probes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/diag.h"
#include "core/worker/in_fork.h"
#include "core/worker/lines.h"
#include "core/wire/name.h"
#include "inject.h"
#include "live.h"

#define MOST_LINES (1u << 20)      /* of places; those behind have none */

/* Code is read in copies of the process, where LLVM's disassembler may die of what no compiler made. */
struct reading {
	struct hip_found *app;
	struct gpubpf_lines lines;
	uint32_t n;
	struct reading_shared {
		uint32_t next;             /* kernel to read, or that the copy died of */
		uint32_t nplaces;          /* of the kernels before it */
		uint32_t line[MOST_LINES]; /* of each of these places */
		struct gpubpf_kernel_info info[];
	} *shared;
};

static uint32_t add_line(const struct reading *r, uint32_t place, uint64_t address)
{
	if (place < MOST_LINES)
		r->shared->line[place] = gpubpf_lines_at(&r->lines, address);
	return place + 1;
}

/* The entry, and each s_endpgm. */
static void add_places(const struct reading *r, struct gpubpf_kernel_info *info)
{
	const struct hip_code *code = &r->app->code;
	uint32_t place = add_line(r, r->shared->nplaces, r->app->address);

	for (uint32_t i = 0; i < code->npatches; i++)
		if (code->patches[i].kind == HIP_PATCH_END)
			place = add_line(r, place, r->app->address + code->patches[i].off);
	info->nplaces = place - r->shared->nplaces;
	r->shared->nplaces = place;
}

/* Of a kernel's code, and whether a twin can be made of it. */
static void describe_code(const struct reading *r, struct gpubpf_kernel_info *info)
{
	struct hip_found *app = r->app;
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	err = hip_found_read(app, false, &why);
	if (!err) {
		info->regs = info->regs ? info->regs : hip_registers_of(app->isa, &app->descriptor).vector;
		add_places(r, info);
		info->flags = (app->code.barrier || app->code.calls ? GPUBPF_KINFO_BARRIER : 0) |
			      (app->descriptor.group_size ? GPUBPF_KINFO_LOCAL : 0);
		err = hip_found_named(info->name, &why);
		if (!err)
			err = hip_found_reaches(&app->code, &why);
		if (!err && (err = hip_live_at_exit(app, &why)) < 0)
			info->flags |= GPUBPF_KINFO_ENTRY_ONLY;
	}
	if (err < 0)
		snprintf(info->reason, sizeof(info->reason), "%.239s", why.what);
	hip_code_finish(&app->code);
}

static int read_codes(void *arg)
{
	const struct reading *r = arg;

	for (; r->shared->next < r->n; r->shared->next++)
		if (hip_meta_kernel(&r->app->elf, r->shared->next, &r->app->meta))
			describe_code(r, &r->shared->info[r->shared->next]);
	return 0;
}

static int read_apart(const struct reading *r)
{
	int status, err = 0;

	while (!err && r->shared->next < r->n) {
		err = gpubpf_in_fork(read_codes, (void *)r, &status);
		if (!err && r->shared->next < r->n)
			strcpy(r->shared->info[r->shared->next++].reason, "LLVM's disassembler died of its code");
	}
	return err;
}

static void describe_heads(const struct hip_found *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	struct hip_meta meta;

	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		gpubpf_name_short(meta.name, meta.name_len, list[i].name);
		list[i].regs = meta.vgprs;
	}
}

/* Kernels as they are listed, with their parameters and places. */
static int gather(const struct reading *r, uint32_t nparams, struct gpubpf_kernel_info **kernels)
{
	struct gpubpf_kernel_info *list;
	struct gpubpf_param *params;
	struct gpubpf_place *places;
	struct hip_meta meta;
	uint32_t place = 0;

	list = calloc(1, r->n * sizeof(*list) + r->shared->nplaces * sizeof(*places) + nparams * sizeof(*params) + 1);
	if (!list)
		return -ENOMEM;
	places = (struct gpubpf_place *)(list + r->n);
	params = (struct gpubpf_param *)(places + r->shared->nplaces);
	for (uint32_t i = 0; i < r->n && hip_meta_kernel(&r->app->elf, i, &meta); i++) {
		list[i] = r->shared->info[i];
		list[i].params = params;
		list[i].nparams = hip_meta_params(&meta, params, NULL, nparams);
		params += list[i].nparams;
		nparams -= list[i].nparams;
		list[i].places = places + place;
		for (uint32_t k = 0; k < list[i].nplaces; k++, place++)
			places[place] = gpubpf_place_of(k ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY, k ? k - 1 : 0,
							place < MOST_LINES ? r->shared->line[place] : 0);
	}
	*kernels = list;
	return 0;
}

static int describe_all(struct hip_found *app, struct gpubpf_kernel_info **kernels, uint32_t *nkernels)
{
	struct reading r = { .app = app };
	uint32_t nparams = 0;
	size_t size;
	int err;

	for (; hip_meta_kernel(&app->elf, r.n, &app->meta); r.n++)
		nparams += hip_meta_params(&app->meta, NULL, NULL, 0);
	size = sizeof(*r.shared) + r.n * sizeof(*r.shared->info);
	r.shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.shared == MAP_FAILED)
		return -ENOMEM;
	describe_heads(app, r.shared->info, r.n);
	gpubpf_lines_read(app->elf.data, app->elf.size, &r.lines);
	err = read_apart(&r);
	if (!err)
		err = gather(&r, nparams, kernels);
	gpubpf_lines_finish(&r.lines);
	munmap(r.shared, size);
	*nkernels = r.n;
	return err;
}

int hip_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct hip_found app = { 0 };
	int err = hip_found_open(image, caps, &app, diag);

	if (!err)
		err = describe_all(&app, kernels, nkernels);
	free(app.plain);
	return err;
}

int hip_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind };
	struct hip_found made = { 0 };
	int err = hip_found_open(&image, caps, &made, diag);

	for (uint32_t i = 0; !err && hip_meta_kernel(&made.elf, i, &made.meta); i++) {
		err = hip_found_read(&made, true, diag);
		hip_code_finish(&made.code);
	}
	free(made.plain);
	return err;
}
