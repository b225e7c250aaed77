/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operation `inspect` of the target wrap: it lists the kernels and functions of all parts, with their
 * places.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/opencl_c/event/event.h"
#include "core/model/diag.h"
#include "image.h"

/*
 * The list of kernels and functions. For each part, it has the part's kernels, and then the functions that kernels may
 * call.
 */
struct list {
	const struct wrap_image *p;
	const struct gpubpf_device_caps *caps;
	uint32_t places;
	/*
	 * no place in the part can be probed: clang reports an error in it, or its build options permit inexact
	 * arithmetic
	 */
	bool no_probes;
	struct gpubpf_kernel_info *infos;
	uint32_t n;
	struct gpubpf_place *place;
	char *name;
	struct gpubpf_param *param;
	uint32_t *callee;
};

/*
 * Does the list have an entry for this function as a callee? A kernel that other code calls has two entries: one as a
 * kernel, one as a function.
 */
static bool is_listed(const struct gpubpf_cl_function *f)
{
	return (!f->kernel || f->called) && f->name && f->name[0];
}

/* Returns the size of the names of a function's places in bytes, including the terminating zeros. */
static size_t name_bytes(const struct list *l, const struct gpubpf_cl_function *f)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->nevents; i++)
		n += f->event[i].name ? strlen(f->event[i].name) + 1 : 0;
	return n;
}

/* Allocate the list with enough memory for all entries, places, parameters, callees and names. */
static int allocate_list(struct list *l)
{
	size_t kernels = 0, places = 0, params = 0, callees = 0, names = 0;

	for (uint32_t i = 0; i < l->p->parts.nparts; i++) {
		const struct gpubpf_cl_unit *unit = &l->p->unit[i];

		kernels += unit->nkernels + unit->nfunctions;
		for (uint32_t k = 0; k < unit->nkernels; k++) {
			places += unit->kernel[k].info.nplaces + 2;
			params += unit->kernel[k].info.nparams;
		}
		for (uint32_t f = 0; f < unit->nfunctions; f++) {
			uint32_t times = 1 + (unit->function[f].kernel && unit->function[f].called);

			places += times * gpubpf_cl_places(&unit->function[f], l->places, NULL) + 2;
			params += unit->function[f].signature ? unit->function[f].signature->info.nparams : 0;
			callees += times * unit->function[f].ncallees;
			names += times * name_bytes(l, &unit->function[f]);
		}
	}
	l->infos = calloc(1, kernels * sizeof(*l->infos) + places * sizeof(*l->place) + params * sizeof(*l->param) +
				     callees * sizeof(*l->callee) + names + 1);
	if (!l->infos)
		return -ENOMEM;
	l->place = (struct gpubpf_place *)(l->infos + kernels);
	l->param = (struct gpubpf_param *)(l->place + places);
	l->callee = (uint32_t *)(l->param + params);
	l->name = (char *)(l->callee + callees);
	return 0;
}

static struct gpubpf_place make_place(struct list *l, const struct gpubpf_cl_function *f, const struct cl_place *place,
				      bool function)
{
	struct gpubpf_place to = gpubpf_place_of(place->kind, place->id, place->line);

	if (l->no_probes || gpubpf_cl_is_hidden(f, place) || (function && (f->local || !f->params_end)))
		to.operands |= GPUBPF_GIVES_NOTHING;
	if (gpubpf_place_has_name(place->kind)) {
		to.name = strcpy(l->name, f->event[place->event].name);
		l->name += strlen(l->name) + 1;
	}
	return to;
}

static int add_places(struct list *l, const struct gpubpf_cl_function *f, struct gpubpf_kernel_info *to)
{
	uint32_t n = gpubpf_cl_places(f, l->places, NULL);
	struct cl_place *places = calloc(n + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	gpubpf_cl_places(f, l->places, places);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		for (uint32_t i = 0; i < n; i++)
			if (places[i].kind == kind)
				to->places[to->nplaces++] = make_place(l, f, &places[i], to->flags & GPUBPF_KINFO_FUNCTION);
	free(places);
	l->place += to->nplaces;
	return 0;
}

static int add_kernel(struct list *l, uint32_t part, const struct gpubpf_cl_kernel *k)
{
	const struct gpubpf_cl_unit *unit = &l->p->unit[part];
	struct gpubpf_kernel_info *to = &l->infos[l->n++];

	*to = k->info;
	snprintf(to->reason, sizeof(to->reason), "%s", wrap_reason(l->p, k, l->caps));
	to->params = l->param;
	if (to->nparams)
		memcpy(to->params, k->info.params, to->nparams * sizeof(*to->params));
	l->param += to->nparams;
	to->places = l->place;
	if (to->nplaces)
		memcpy(to->places, k->info.places, to->nplaces * sizeof(*to->places));
	if (l->places >> GPUBPF_SITE_BLOCK_BEGIN & 1 && to->nplaces)
		to->places[to->nplaces++] = gpubpf_place_of(GPUBPF_SITE_BLOCK_BEGIN, 0, to->places[0].line);
	if (l->places >> GPUBPF_SITE_BLOCK_END & 1 && to->nplaces)
		to->places[to->nplaces++] = gpubpf_place_of(GPUBPF_SITE_BLOCK_END, 0, to->places[1].line);
	if (k->function < unit->nfunctions)
		return add_places(l, &unit->function[k->function], to);
	l->place += to->nplaces;
	return 0;
}

/*
 * Add the function's parameters, and the places at its calls and returns. BPF programs at these places run in a wrapper
 * that callers call instead of the function.
 */
static void add_signature(struct list *l, const struct gpubpf_cl_function *f, struct gpubpf_kernel_info *to)
{
	static const enum gpubpf_site both[] = { GPUBPF_SITE_CALL, GPUBPF_SITE_CALL_EXIT };

	if (!f->signature)
		return;
	to->params = l->param;
	to->nparams = f->signature->info.nparams;
	snprintf(to->reason, sizeof(to->reason), "%s", f->signature->info.reason);
	if (to->nparams)
		memcpy(to->params, f->signature->info.params, to->nparams * sizeof(*to->params));
	l->param += to->nparams;
	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
		if (l->places >> both[i] & 1 && !to->reason[0])
			to->places[to->nplaces++] = gpubpf_place_of(both[i], 0, f->body_line);
}

static int add_function(struct list *l, const struct gpubpf_cl_function *f)
{
	struct gpubpf_kernel_info *to = &l->infos[l->n++];

	snprintf(to->name, sizeof(to->name), "%s", f->name);
	to->flags = GPUBPF_KINFO_FUNCTION;
	to->places = l->place;
	add_signature(l, f, to);
	return add_places(l, f, to);
}

/*
 * Returns the position in the list of function number `function` of the unit. Returns UINT32_MAX if the list does not
 * contain this function. `base` is the position of the unit's first kernel; the unit's functions follow its kernels.
 */
static uint32_t list_index(const struct gpubpf_cl_unit *unit, uint32_t function, uint32_t base)
{
	uint32_t at = base + unit->nkernels;

	if (!is_listed(&unit->function[function]))
		return UINT32_MAX;
	for (uint32_t f = 0; f < function; f++)
		at += is_listed(&unit->function[f]);
	return at;
}

static void add_callees(struct list *l, const struct gpubpf_cl_unit *unit, uint32_t function, uint32_t at, uint32_t base)
{
	const struct gpubpf_cl_function *f = &unit->function[function];

	if (at == UINT32_MAX)
		return;
	l->infos[at].callees = l->callee;
	for (uint32_t c = 0; c < f->ncallees; c++) {
		uint32_t callee = list_index(unit, f->callee[c], base);

		if (callee != UINT32_MAX)
			l->infos[at].callees[l->infos[at].ncallees++] = callee;
	}
	l->callee += l->infos[at].ncallees;
}

static int list_unit(struct list *l, uint32_t part)
{
	const struct gpubpf_cl_unit *unit = &l->p->unit[part];
	uint32_t base = l->n;
	int err = 0;

	l->no_probes = unit->error || wrap_has_loose_math(l->p);
	for (uint32_t k = 0; k < unit->nkernels && !err; k++)
		err = add_kernel(l, part, &unit->kernel[k]);
	for (uint32_t f = 0; f < unit->nfunctions && !err; f++)
		if (is_listed(&unit->function[f]))
			err = add_function(l, &unit->function[f]);
	for (uint32_t k = 0; k < unit->nkernels && !err; k++)
		if (unit->kernel[k].function < unit->nfunctions)
			add_callees(l, unit, unit->kernel[k].function, base + k, base);
	for (uint32_t f = 0; f < unit->nfunctions && !err; f++)
		add_callees(l, unit, f, list_index(unit, f, base), base);
	return err;
}

static int list_kernels(struct list *l, struct gpubpf_kernel_info **out, uint32_t *nout)
{
	int err = allocate_list(l);

	for (uint32_t i = 0; i < l->p->parts.nparts && !err; i++)
		err = list_unit(l, i);
	if (err) {
		free(l->infos);
		return err;
	}
	*out = l->infos;
	*nout = l->n;
	return 0;
}

/* Is this a linked OpenCL program whose kernels all come from SPIR-V (IL) parts? */
static bool is_for_spirv(const struct wrap_image *p)
{
	bool il = false;

	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		if (p->unit[i].nkernels)
			return false;
		il = il || p->parts.part[i].kind == GPUBPF_IMAGE_SPIRV;
	}
	return il;
}

int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct wrap_image p = { 0 };
	struct list list = { .p = &p, .caps = caps, .places = image->places };
	int err = wrap_image_read(&p, image, image->places, caps, diag);

	if (err == 0 && is_for_spirv(&p)) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "its kernels are SPIR-V (IL), not OpenCL C source");
		err = -ENOENT;
	}
	if (err == 0)
		err = list_kernels(&list, kernels, nkernels);
	wrap_image_finish(&p);
	return err;
}
