/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the kernels in the machine code of an image with their places. For a kernel that cannot be probed, lists the
 * reason. */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/code.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "backends/cuda/sass/analysis/functions.h"
#include "backends/cuda/sass/cubin/image.h"
#include "backends/cuda/sass/cubin/lines.h"
#include "backends/cuda/sass/cubin/params.h"
#include "backends/cuda/sass/analysis/places.h"
#include "backends/cuda/sass/rewrite/twin.h"

struct list {
	uint32_t cubins;
	const char *wanted; /* name of the only kernel to list; "": all */
	struct gpubpf_kernel_info *infos;
	uint32_t n, room;
	struct gpubpf_param *params; /* parameters of all listed kernels, in order */
	uint32_t nparams, params_room;
	struct gpubpf_place *places; /* places of all listed kernels, in order */
	uint32_t nplaces, places_room;
	char *names; /* names of places, in order. While the list grows, `name` of a place is 1 + the offset of its
	              * name in this array. */
	uint32_t nnames, names_room;
	struct gpubpf_param scratch[SASS_PARAMS_MAX];
	const struct gpubpf_lines *lines; /* line table of the current cubin */
	uint32_t kinds;                   /* GPUBPF_SITE_BIT() of the kinds of places to list */
	uint32_t text;                    /* index of the code section of the current kernel */
};

static void *grow(void *array, uint32_t *room, uint32_t need, size_t size)
{
	void *grown = array;

	if (need > *room) {
		*room = 2 * need;
		grown = realloc(array, *room * size);
	}
	return grown;
}

static int add_params(struct list *l, struct gpubpf_kernel_info *info, int n)
{
	struct gpubpf_param *grown = grow(l->params, &l->params_room, l->nparams + n, sizeof(*grown));

	if (n && !grown)
		return -ENOMEM;
	l->params = grown;
	if (n)
		memcpy(l->params + l->nparams, l->scratch, n * sizeof(*l->params));
	info->nparams = n;
	l->nparams += n;
	return 0;
}

static int add_place(struct list *l, enum gpubpf_site kind, uint32_t id, uint32_t at)
{
	struct gpubpf_place *grown = grow(l->places, &l->places_room, l->nplaces + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	l->places = grown;
	grown = &l->places[l->nplaces++];
	*grown = gpubpf_place_of(kind, id, sass_line_at(l->lines, l->text, (uint64_t)at * SASS_INSN));
	if (gpubpf_places_of(GPUBPF_WHERE_FUNCTION) & 1u << kind) /* machine code does not say which registers hold
	                                                           * the arguments and the result of a function */
		grown->operands &= ~(GPUBPF_GIVES_ARG | GPUBPF_GIVES_RESULT);
	return 0;
}

struct list_ctx {
	struct list *l;
	const struct sass_code *code;
};

static int add_name(struct list *l, const char *name)
{
	uint32_t size = strlen(name) + 1;
	char *grown = grow(l->names, &l->names_room, l->nnames + size, 1);

	if (!grown)
		return -ENOMEM;
	l->names = grown;
	memcpy(l->names + l->nnames, name, size);
	l->nnames += size;
	return 0;
}

static int add_insn(void *arg, const struct sass_place *place)
{
	const struct list_ctx *a = arg;
	struct list *l = a->l;
	char name[GPUBPF_PLACE_NAME];
	int err = add_place(l, place->kind, place->id, place->at);

	if (err < 0 || !gpubpf_place_has_name(place->kind))
		return err;
	if (place->line)
		l->places[l->nplaces - 1].line = place->line;
	l->places[l->nplaces - 1].name = (const char *)(uintptr_t)(l->nnames + 1);
	sass_place_name(a->code, place, name, sizeof(name));
	return add_name(l, name);
}

/* Adds the places of a kernel: first the begin of a block, the entry and each EXIT. Next comes the end of a block, with
 * the position of the last EXIT. The places at instructions are last. */
static int add_places(struct list *l, struct gpubpf_kernel_info *info, const struct sass_code *code, uint32_t text)
{
	uint32_t before = l->nplaces;
	int err;

	l->text = text;
	err = l->kinds & GPUBPF_SITE_BIT(BLOCK_BEGIN) ? add_place(l, GPUBPF_SITE_BLOCK_BEGIN, 0, 0) : 0;
	if (!err)
		err = add_place(l, GPUBPF_SITE_ENTRY, 0, 0);
	for (uint32_t i = 0; !err && i < code->nexits; i++)
		err = add_place(l, GPUBPF_SITE_EXIT, i, code->exits[i]);
	if (!err && l->kinds & GPUBPF_SITE_BIT(BLOCK_END) && code->nexits)
		err = add_place(l, GPUBPF_SITE_BLOCK_END, 0, code->exits[code->nexits - 1]);
	if (!err)
		err = sass_places_each(code, l->kinds, l->lines, text, add_insn, &(struct list_ctx){ l, code });
	info->nplaces = l->nplaces - before;
	return err;
}

static struct gpubpf_kernel_info *add_info(struct list *l, const char *name)
{
	struct gpubpf_kernel_info *grown = grow(l->infos, &l->room, l->n + 1, sizeof(*grown)), *info;

	if (!grown)
		return NULL;
	l->infos = grown;
	info = &l->infos[l->n++];
	memset(info, 0, sizeof(*info));
	gpubpf_name_short(name, strlen(name), info->name);
	return info;
}

/* Adds a function to the list. The functions that a kernel calls follow the kernel. */
static int add_function(void *arg, const struct sass_function *function)
{
	const struct list_ctx *a = arg;
	struct gpubpf_kernel_info *info = add_info(a->l, function->name);
	uint32_t before = a->l->nplaces;
	int err;

	if (!info)
		return -ENOMEM;
	info->flags = GPUBPF_KINFO_FUNCTION;
	if (function->why)
		snprintf(info->reason, sizeof(info->reason), "%s", function->why);
	err = function->why ? 0 : sass_function_places(a->code, function, a->l->kinds, add_insn, arg);
	info->nplaces = a->l->nplaces - before;
	return err;
}

static int add_functions(struct list *l, const struct sass_cubin *c, const struct sass_kernel *k,
			 const struct sass_code *code)
{
	uint32_t kernel = l->n - 1;
	int err = 0;

	if (l->kinds & gpubpf_places_of(GPUBPF_WHERE_FUNCTION))
		err = sass_functions_each(c, k, code, add_function, &(struct list_ctx){ l, code });
	l->infos[kernel].ncallees = l->n - 1 - kernel;
	return err;
}

/* Adds a kernel. If the kernel cannot be probed, stores the reason in its info. Only a failed allocation ends the
 * list. */
static int describe(struct list *l, const struct sass_cubin *c, const struct sass_kernel *k)
{
	struct gpubpf_kernel_info *info = add_info(l, c->symbols[k->symbol].name);
	uint32_t kernel = l->n - 1;
	struct gpubpf_diag why;
	struct sass_code code;
	int n, err;

	if (!info)
		return -ENOMEM;
	gpubpf_diag_init(&why);
	info->regs = k->regs;
	snprintf(info->arch, sizeof(info->arch), "sm_%u", c->sm);
	memset(l->scratch, 0, sizeof(l->scratch));
	n = sass_params(c, k, l->scratch, &why);
	err = n < 0 ? n : sass_twin_check_attrs(c, k, &why);
	err = err < 0 ? err : sass_code_read(c, k, &code, &why);
	if (!err) {
		info->flags = code.barrier ? GPUBPF_KINFO_BARRIER : 0;
		err = add_places(l, info, &code, k->text);
		if (!err)
			err = add_functions(l, c, k, &code);
		info = &l->infos[kernel];
		sass_code_finish(&code);
	}
	if (err == -ENOMEM)
		return err;
	snprintf(info->reason, sizeof(info->reason), "%.239s", why.what);
	return add_params(l, info, n < 0 ? 0 : n);
}

static int add_module(void *arg, struct sass_module *module, struct gpubpf_diag *diag)
{
	struct list *l = arg;
	const struct sass_cubin *c = &module->cubin;
	const struct sass_kernel *k = l->wanted[0] ? sass_kernel_find(c, l->wanted) : c->kernels;
	uint32_t n = !k ? 0 : l->wanted[0] ? 1 : c->nkernels;
	int err = 0;

	(void)diag;
	l->cubins++;
	if (!n)
		return 0;
	l->lines = sass_module_lines(module, l->kinds & GPUBPF_SITE_BIT(LINE));
	for (uint32_t i = 0; !err && i < n; i++)
		err = describe(l, c, &k[i]);
	return err;
}

/* Copies infos, places and parameters into one allocation, which the caller frees. */
static int copy_list(const struct list *l, struct gpubpf_kernel_info **kernels, uint32_t *nkernels)
{
	struct gpubpf_kernel_info *infos = malloc(l->n * (sizeof(*infos) + sizeof(*infos->callees)) +
						  l->nplaces * sizeof(*l->places) + l->nparams * sizeof(*l->params) +
						  l->nnames + 1);
	struct gpubpf_place *places = (struct gpubpf_place *)(infos + l->n);
	struct gpubpf_param *params = (struct gpubpf_param *)(places + l->nplaces);
	uint32_t *callees = (uint32_t *)(params + l->nparams); /* each function in the list belongs to one kernel */
	char *names = (char *)(callees + l->n);

	if (!infos)
		return -ENOMEM;
	if (l->n)
		memcpy(infos, l->infos, l->n * sizeof(*infos));
	if (l->nplaces)
		memcpy(places, l->places, l->nplaces * sizeof(*places));
	if (l->nparams)
		memcpy(params, l->params, l->nparams * sizeof(*params));
	if (l->nnames)
		memcpy(names, l->names, l->nnames);
	for (uint32_t i = 0; i < l->nplaces; i++)
		if (gpubpf_place_has_name(places[i].kind))
			places[i].name = names + (uintptr_t)places[i].name - 1;
	for (uint32_t i = 0; i < l->n; i++) {
		infos[i].places = places;
		places += infos[i].nplaces;
		infos[i].params = params;
		params += infos[i].nparams;
		infos[i].callees = callees;
		for (uint32_t f = 1; f <= infos[i].ncallees; f++)
			*callees++ = i + f;
	}
	*kernels = infos;
	*nkernels = l->n;
	return 0;
}

int sass_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct list *l = calloc(1, sizeof(*l));
	uint32_t sm = sass_image_arch(image->data, image->size, sass_capability(caps));
	int err = -ENOMEM;

	if (l) {
		l->wanted = image->kernel ? image->kernel : "";
		l->kinds = image->places;
		err = sass_module_each(image, sm, add_module, l, diag);
		if (!err && !l->cubins && image->kernel && image->kernel[0]) { /* another target may accept the image */
			gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image has no machine code for sm_%u", sm);
			err = -ENOENT;
		}
	}
	if (!err)
		err = copy_list(l, kernels, nkernels);
	if (l) {
		free(l->infos);
		free(l->places);
		free(l->params);
		free(l->names);
	}
	free(l);
	return err;
}
