/* SPDX-License-Identifier: Apache-2.0 */
/* The amdgpu target's look into code objects: kernels, their parameters and places, and what speaks against probes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/diag.h"
#include "core/worker/apart.h"
#include "inject.h"
#include "live.h"

static uint32_t exits_of(const struct hip_code *code)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < code->nplaces; i++)
		n += code->places[i].kind == HIP_PLACE_END;
	return n;
}

/* Of a kernel's code, and whether a twin can be made of it. */
static void describe_code(struct hip_found *app, struct gpubpf_kernel_info *info)
{
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	err = hip_found_read(app, false, &why);
	if (!err) {
		info->regs = info->regs ? info->regs : hip_registers_of(app->isa, &app->descriptor).vector;
		info->nplaces = 1 + exits_of(&app->code);
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

/* Code is read in copies of the process, where LLVM's disassembler may die of what no compiler made. */
struct reading {
	struct hip_found *app;
	uint32_t n;
	struct reading_shared {
		uint32_t next;             /* kernel to read, or that the copy died of */
		struct gpubpf_kernel_info info[];
	} *shared;
};

static int read_codes(void *arg)
{
	const struct reading *r = arg;

	for (; r->shared->next < r->n; r->shared->next++)
		if (hip_meta_kernel(&r->app->elf, r->shared->next, &r->app->meta))
			describe_code(r->app, &r->shared->info[r->shared->next]);
	return 0;
}

static int read_apart(const struct reading *r)
{
	int status, err = 0;

	while (!err && r->shared->next < r->n) {
		err = gpubpf_apart(read_codes, (void *)r, &status);
		if (!err && r->shared->next < r->n)
			strcpy(r->shared->info[r->shared->next++].reason, "LLVM's disassembler died of its code");
	}
	return err;
}

static int describe_codes(struct hip_found *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	size_t size = sizeof(struct reading_shared) + n * sizeof(*list);
	struct reading r = { app, n, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	int err;

	if (r.shared == MAP_FAILED)
		return -ENOMEM;
	memcpy(r.shared->info, list, n * sizeof(*list));
	err = read_apart(&r);
	memcpy(list, r.shared->info, n * sizeof(*list));
	munmap(r.shared, size);
	return err;
}

static void describe_heads(const struct hip_found *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	struct hip_meta meta;

	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		snprintf(list[i].name, sizeof(list[i].name), "%.*s", (int)meta.name_len, meta.name);
		list[i].regs = meta.vgprs;
	}
}

/* Kernels as they are listed, with their parameters and places: the entry, and each s_endpgm. */
static int gather(const struct hip_found *app, const struct gpubpf_kernel_info *infos, uint32_t n, uint32_t nparams,
		  struct gpubpf_kernel_info **kernels)
{
	struct gpubpf_kernel_info *list;
	struct gpubpf_param *params;
	struct gpubpf_place *places;
	struct hip_meta meta;
	size_t nplaces = 0;

	for (uint32_t i = 0; i < n; i++)
		nplaces += infos[i].nplaces;
	list = calloc(1, n * sizeof(*list) + nplaces * sizeof(*places) + nparams * sizeof(*params) + 1);
	if (!list)
		return -ENOMEM;
	places = (struct gpubpf_place *)(list + n);
	params = (struct gpubpf_param *)(places + nplaces);
	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		list[i] = infos[i];
		list[i].params = params;
		list[i].nparams = hip_meta_params(&meta, params, NULL, nparams);
		params += list[i].nparams;
		nparams -= list[i].nparams;
		list[i].places = places;
		for (uint32_t k = 0; k < list[i].nplaces; k++)
			*places++ = k ? gpubpf_place_of(GPUBPF_SITE_EXIT, k - 1, 0) :
					gpubpf_place_of(GPUBPF_SITE_ENTRY, 0, 0);
	}
	*kernels = list;
	return 0;
}

static int describe_all(struct hip_found *app, struct gpubpf_kernel_info **kernels, uint32_t *nkernels)
{
	struct gpubpf_kernel_info *infos;
	uint32_t n = 0, nparams = 0;
	int err;

	for (; hip_meta_kernel(&app->elf, n, &app->meta); n++)
		nparams += hip_meta_params(&app->meta, NULL, NULL, 0);
	infos = calloc(n + 1, sizeof(*infos));
	if (!infos)
		return -ENOMEM;
	describe_heads(app, infos, n);
	err = describe_codes(app, infos, n);
	if (!err)
		err = gather(app, infos, n, nparams, kernels);
	free(infos);
	*nkernels = n;
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
