/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: lists the kernels of a code object and the functions that they call.
 * Before: an image of the application.
 * After: an array of struct gpubpf_kernel_info in one allocation, with parameters and places. A kernel that cannot be
 * probed has a reason.
 * Requires: fork(), since LLVM's disassembler may crash (gpubpf_in_fork()).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/model/diag.h"
#include "core/worker/functions.h"
#include "core/worker/sandbox/in_fork.h"
#include "core/worker/lines.h"
#include "core/wire/name.h"
#include "inject.h"
#include "backends/hip/amdgpu/analysis/live.h"
#include "backends/hip/amdgpu/analysis/named.h"

#define MAX_PLACES (1u << 20) /* limit per image; kernels and functions beyond it are refused */
#define MAX_FUNCTIONS 4096 /* limit per image; kernels whose callees exceed it are refused */
#define MAX_CALLEES (1u << 16)
#define NAME_BYTES 256
/* limit of place names per image; a name that equals one of the 256 names stored last is not stored again */
#define MAX_NAMES (1u << 16)

/* State of the inspection. A forked process reads the code, because LLVM's disassembler may crash on code that no
 * compiler generated. The process stores the results in the shared mapping. */
struct reading {
	struct hip_app_kernel *app;
	struct gpubpf_lines lines;
	struct gpubpf_functions types; /* types of functions, from the debug information */
	/* number of kernels; GPUBPF_SITE_BIT of the kinds of places to list, from the inspect request */
	uint32_t n, kinds;
	struct reading_shared {
		/*
		 * index of the kernel or function that is being read; functions follow the kernels. If the forked
		 * process ends early, this is the one whose code crashed the disassembler.
		 */
		uint32_t next;
		uint32_t nfunctions, ncallees;
		struct {
			uint64_t address;
			bool wave32; /* the function's first caller uses waves of 32 lanes */
		} function[MAX_FUNCTIONS];
		/*
		 * callees of all kernels and functions, in the order in which these were read; an element is an index
		 * of a function, counted like `next`
		 */
		uint32_t callee[MAX_CALLEES];
		uint32_t nplaces; /* number of places of all kernels and functions read so far */
		uint32_t nnames;
		struct {
			uint32_t kind, line, name; /* name: index + 1 in the list of names, or 0 */
		} place[MAX_PLACES];
		char name[MAX_NAMES][NAME_BYTES];
		struct gpubpf_kernel_info info[];
	} *shared;
};

static uint32_t add_place(const struct reading *r, uint32_t place, enum gpubpf_site kind, uint64_t address)
{
	if (place < MAX_PLACES) {
		r->shared->place[place].kind = kind;
		r->shared->place[place].line = gpubpf_lines_at(&r->lines, address);
		r->shared->place[place].name = 0;
	}
	return place + 1;
}

/* Returns the index of a name in the list of names, and adds the name if it is new. Returns UINT32_MAX if the list is
 * full. */
static uint32_t intern_name(struct reading_shared *shared, const char *name)
{
	uint32_t n = shared->nnames;

	for (uint32_t back = 1; back <= n && back <= 256; back++)
		if (!strcmp(shared->name[n - back], name))
			return n - back;
	if (n == MAX_NAMES)
		return UINT32_MAX;
	strcpy(shared->name[n], name);
	return shared->nnames++;
}

/* Sets the name of place number `place`. Returns place + 1, or MAX_PLACES + 1 if the list of names is full. */
static uint32_t add_named(const struct reading *r, uint32_t place, enum gpubpf_site kind, const struct hip_patch *insn)
{
	char name[NAME_BYTES];
	uint32_t number;

	hip_named_write(insn, kind, name, sizeof(name));
	number = intern_name(r->shared, name);
	if (number == UINT32_MAX)
		return MAX_PLACES + 1;
	if (place < MAX_PLACES)
		r->shared->place[place].name = number + 1;
	return place + 1;
}

/* Adds the places of one instruction from place number `place` on. Returns the number of the next free place. */
static uint32_t add_insn(const struct reading *r, uint32_t place, const struct hip_patch *insn)
{
	for (uint32_t access = 0; access < HIP_MAX_ACCESSES; access++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			if (!(r->kinds >> kind & 1) || !hip_patch_is_site(insn, access, kind))
				continue;
			add_place(r, place, kind, insn->address);
			place = gpubpf_place_has_name(kind) ? add_named(r, place, kind, insn) : place + 1;
		}
	return place;
}

/* Adds the places of a kernel or function. A kernel has an entry and a begin of its blocks. Each s_endpgm is an exit
 * and an end of blocks. Returns 0, or -EINVAL if the image has too many places. */
static int add_places(const struct reading *r, struct gpubpf_kernel_info *info, struct gpubpf_diag *why)
{
	const struct hip_code *code = &r->app->code;
	uint32_t place = r->shared->nplaces;

	if (!(info->flags & GPUBPF_KINFO_FUNCTION)) {
		place = add_place(r, place, GPUBPF_SITE_ENTRY, r->app->address);
		place = add_place(r, place, GPUBPF_SITE_BLOCK_BEGIN, r->app->address);
	}
	for (uint32_t i = 0; i < code->npatches; i++) {
		if (code->patches[i].kind == HIP_PATCH_END) {
			place = add_place(r, place, GPUBPF_SITE_EXIT, code->patches[i].address);
			place = add_place(r, place, GPUBPF_SITE_BLOCK_END, code->patches[i].address);
		}
		place = add_insn(r, place, &code->patches[i]);
	}
	if (place > MAX_PLACES)
		return hip_refuse(why, "its image has too many places (limit 1048576) or place names (limit 65536)");
	info->nplaces = place - r->shared->nplaces;
	r->shared->nplaces = place;
	return 0;
}

/* Returns the index of a function in the list of functions, and adds the function if it is new. Returns UINT32_MAX if
 * the list is full. */
static uint32_t intern_function(const struct reading *r, uint64_t address)
{
	struct reading_shared *shared = r->shared;
	uint32_t n = 0;

	while (n < shared->nfunctions && shared->function[n].address != address)
		n++;
	if (n == MAX_FUNCTIONS)
		return UINT32_MAX;
	if (n == shared->nfunctions) {
		shared->function[n].address = address;
		shared->function[n].wave32 = r->app->wave32;
		shared->nfunctions++;
	}
	return n;
}

static int add_callees(const struct reading *r, struct gpubpf_kernel_info *info, struct gpubpf_diag *why)
{
	const struct hip_code *code = &r->app->code;

	for (uint32_t i = 0; i < code->ncallees; i++) {
		uint32_t number = intern_function(r, code->callees[i]);

		if (number == UINT32_MAX || r->shared->ncallees == MAX_CALLEES)
			return hip_refuse(why, "its image has too many functions (limit 4096) or calls (limit 65536)");
		r->shared->callee[r->shared->ncallees++] = r->n + number;
		info->ncallees++;
	}
	return 0;
}

/* Describes a kernel's code in *info. If the kernel cannot have a twin, sets the reason. */
static void describe_code(const struct reading *r, struct gpubpf_kernel_info *info)
{
	struct hip_app_kernel *app = r->app;
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	err = hip_app_kernel_read(app, false, &why);
	if (!err)
		err = hip_named_find(app, &r->lines);
	if (!err) {
		info->regs = info->regs ? info->regs : hip_registers_of(app->isa, &app->descriptor).vector;
		err = add_places(r, info, &why);
		if (!err)
			err = add_callees(r, info, &why);
		info->flags = (app->code.barrier || app->code.calls ? GPUBPF_KINFO_BARRIER : 0) |
			      (app->descriptor.group_size ? GPUBPF_KINFO_LOCAL : 0);
		if (!err)
			err = hip_check_symbol_name(info->name, &why);
		if (!err && (err = hip_live_at_exit(app, &why)) < 0)
			info->flags |= GPUBPF_KINFO_ENTRY_ONLY;
	}
	if (err < 0)
		snprintf(info->reason, sizeof(info->reason), "%.239s", why.what);
	hip_code_finish(&app->code);
}

/* Describes a called function. */
static void describe_function(const struct reading *r, uint32_t number, struct gpubpf_kernel_info *info)
{
	struct hip_app_kernel *app = r->app;
	uint64_t address = r->shared->function[number].address;
	struct gpubpf_diag why;
	int err;

	gpubpf_diag_init(&why);
	hip_app_kernel_function_name(app, address, info->name);
	info->flags = GPUBPF_KINFO_FUNCTION;
	app->wave32 = r->shared->function[number].wave32;
	err = hip_app_kernel_read_function(app, address, &why);
	if (!err)
		err = hip_named_find(app, &r->lines);
	if (!err)
		err = add_places(r, info, &why);
	if (!err)
		err = add_callees(r, info, &why);
	if (err < 0)
		snprintf(info->reason, sizeof(info->reason), "%.239s", why.what);
	hip_code_finish(&app->code);
}

static int read_codes(void *arg)
{
	const struct reading *r = arg;
	struct reading_shared *shared = r->shared;

	for (; shared->next < r->n + shared->nfunctions; shared->next++)
		if (shared->next >= r->n)
			describe_function(r, shared->next - r->n, &shared->info[shared->next]);
		else if (hip_meta_kernel(&r->app->elf, shared->next, &r->app->meta))
			describe_code(r, &shared->info[shared->next]);
	return 0;
}

static int read_in_forks(const struct reading *r)
{
	int status, err = 0;

	while (!err && r->shared->next < r->n + r->shared->nfunctions) {
		err = gpubpf_in_fork(read_codes, (void *)r, &status);
		if (!err && r->shared->next < r->n + r->shared->nfunctions)
			strcpy(r->shared->info[r->shared->next++].reason, "LLVM's disassembler crashed on its code");
	}
	return err;
}

static void describe_names(const struct hip_app_kernel *app, struct gpubpf_kernel_info *list, uint32_t n)
{
	struct hip_meta meta;

	for (uint32_t i = 0; i < n && hip_meta_kernel(&app->elf, i, &meta); i++) {
		gpubpf_name_short(meta.name, meta.name_len, list[i].name);
		list[i].regs = meta.vgprs;
	}
}

static struct gpubpf_place place_of(const struct reading *r, enum gpubpf_site kind, uint32_t id, uint32_t i,
				    const char (*names)[NAME_BYTES])
{
	struct gpubpf_place place = gpubpf_place_of(kind, id, r->shared->place[i].line);

	if (r->shared->place[i].name)
		place.name = names[r->shared->place[i].name - 1];
	return place;
}

/* Copies n places to `to`, ordered by kind. Each kind is numbered from 0. */
static void list_places(const struct reading *r, struct gpubpf_place *to, uint32_t first, uint32_t n,
			const char (*names)[NAME_BYTES])
{
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		for (uint32_t i = first, id = 0; i < first + n; i++)
			if (r->shared->place[i].kind == kind)
				*to++ = place_of(r, kind, id++, i, names);
}

/* Arrays in the memory after the list of kernels, to which the members of struct gpubpf_kernel_info point. */
struct room {
	struct gpubpf_place *places;
	struct gpubpf_param *params;
	uint32_t *callees;
	char (*names)[NAME_BYTES];
	/* number of places stored so far; number of parameters for which there is still memory */
	uint32_t place, nparams;
};

static void list_info(const struct reading *r, uint32_t i, struct gpubpf_kernel_info *info, struct room *room)
{
	*info = r->shared->info[i];
	info->params = room->params;
	info->callees = room->callees;
	room->callees += info->ncallees;
	info->places = room->places + room->place;
	list_places(r, info->places, room->place, info->nplaces, (const char (*)[NAME_BYTES])room->names);
	room->place += info->nplaces;
}

/* Lists the known parameters of a function. If some are unknown, one opaque parameter follows. */
static uint32_t list_params(const struct reading *r, uint32_t number, struct gpubpf_param *params)
{
	const struct gpubpf_function *f = gpubpf_functions_at(&r->types, r->shared->function[number].address);
	uint32_t n = f ? f->nparams : 0;

	if (f)
		memcpy(params, f->params, n * sizeof(*params));
	if (!f || !f->whole)
		params[n++] = (struct gpubpf_param){ .kind = GPUBPF_PARAM_OPAQUE, .bytes_off = UINT32_MAX };
	return n;
}

/* Builds the list of kernels, followed by the functions that they call, with their parameters and places. */
static int build_list(const struct reading *r, uint32_t nparams, struct gpubpf_kernel_info **kernels)
{
	const struct reading_shared *shared = r->shared;
	uint32_t n = r->n + shared->nfunctions;
	struct gpubpf_kernel_info *list;
	struct hip_meta meta;
	struct room room = { .nparams = nparams };

	nparams += shared->nfunctions * (GPUBPF_FUNCTION_PARAMS + 1);
	list = calloc(1, n * sizeof(*list) + shared->nplaces * sizeof(*room.places) + nparams * sizeof(*room.params) +
				 shared->ncallees * sizeof(*room.callees) + shared->nnames * sizeof(*room.names) + 1);
	if (!list)
		return -ENOMEM;
	room.places = (struct gpubpf_place *)(list + n);
	room.params = (struct gpubpf_param *)(room.places + shared->nplaces);
	room.callees = (uint32_t *)(room.params + nparams);
	room.names = (char (*)[NAME_BYTES])(room.callees + shared->ncallees);
	memcpy(room.names, shared->name, shared->nnames * sizeof(*room.names));
	memcpy(room.callees, shared->callee, shared->ncallees * sizeof(*room.callees));
	for (uint32_t i = 0; i < r->n && hip_meta_kernel(&r->app->elf, i, &meta); i++) {
		list_info(r, i, &list[i], &room);
		list[i].nparams = hip_meta_params(&meta, room.params, NULL, room.nparams);
		room.params += list[i].nparams;
		room.nparams -= list[i].nparams;
	}
	for (uint32_t i = 0; i < shared->nfunctions; i++) {
		list_info(r, r->n + i, &list[r->n + i], &room);
		list[r->n + i].nparams = list_params(r, i, room.params);
		room.params += list[r->n + i].nparams;
	}
	*kernels = list;
	return 0;
}

static int describe_all(struct hip_app_kernel *app, uint32_t kinds, struct gpubpf_kernel_info **kernels, uint32_t *nkernels)
{
	struct reading r = { .app = app };
	uint32_t nparams = 0;
	size_t size;
	int err;

	app->insns = kinds & gpubpf_places_of(GPUBPF_WHERE_INSN);
	r.kinds = app->insns | gpubpf_places_of(GPUBPF_WHERE_FUNCTION);
	for (; hip_meta_kernel(&app->elf, r.n, &app->meta); r.n++)
		nparams += hip_meta_params(&app->meta, NULL, NULL, 0);
	size = sizeof(*r.shared) + (r.n + MAX_FUNCTIONS) * sizeof(*r.shared->info);
	r.shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.shared == MAP_FAILED)
		return -ENOMEM;
	describe_names(app, r.shared->info, r.n);
	hip_named_lines(app, &r.lines);
	err = read_in_forks(&r);
	if (!err && r.shared->nfunctions)
		gpubpf_functions_read(app->elf.data, app->elf.size, &r.types);
	if (!err)
		err = build_list(&r, nparams, kernels);
	*nkernels = r.n + r.shared->nfunctions;
	gpubpf_functions_finish(&r.types);
	gpubpf_lines_finish(&r.lines);
	munmap(r.shared, size);
	return err;
}

int hip_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct hip_app_kernel app = { 0 };
	int err = hip_app_kernel_open(image, caps, &app, diag);

	if (!err)
		err = describe_all(&app, image->places, kernels, nkernels);
	free(app.plain);
	return err;
}

int hip_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind };
	struct hip_app_kernel made = { 0 };
	int err = hip_app_kernel_open(&image, caps, &made, diag);

	for (uint32_t i = 0; !err && hip_meta_kernel(&made.elf, i, &made.meta); i++) {
		err = hip_app_kernel_read(&made, true, diag);
		hip_app_kernel_finish(&made);
	}
	free(made.plain);
	return err;
}
