/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: lists the kernels of an image and the functions that they call, with the parameters and places of each.
 * Before: an image of the application.
 * After: an array of struct gpubpf_kernel_info, in one allocation.
 * Requires: PTX in the image (cuda_image_ptx()).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/name.h"
#include "backends/cuda/image/fatbin.h"
#include "backends/cuda/ptx/analysis/params.h"
#include "backends/cuda/ptx/passes/slice.h"
#include "backends/cuda/ptx/analysis/places.h"
#include "backends/cuda/ptx/ir/symbols.h"
#include "inject.h"

#define MAX_CACHED_BYTES (64u << 20) /* images with more bytes of PTX are not cached */

/* Returns the compute capability of the device, 90 for "sm_90", or 0 if caps name none. */
static uint32_t capability(const struct gpubpf_device_caps *caps)
{
	return strncmp(caps->arch, "sm_", 3) ? 0 : strtoul(caps->arch + 3, NULL, 10);
}

static int open_whole(const struct gpubpf_image *image, uint32_t sm, struct cuda_parsed_image *o, struct gpubpf_diag *diag)
{
	size_t size;
	int err = cuda_image_ptx(image->data, image->size, sm, &o->text, &size, diag);

	if (err < 0)
		return err;
	err = ptx_parse(o->text, size, &o->m, diag);
	if (err < 0)
		free(o->text);
	return err;
}

void cuda_close_image(struct cuda_parsed_image *o)
{
	ptx_finish(&o->m);
	free(o->text);
}

/*
 * Caches the image of the latest request that named one kernel. All of the image's PTX is parsed. The next requests
 * usually name other kernels of the same image.
 */
static struct image_cache {
	bool valid;
	uint8_t digest[GPUBPF_IMAGE_DIGEST];
	size_t size;
	uint32_t sm;
	struct cuda_parsed_image whole;
	struct ptx_top top;
} cache;

static bool is_cached(const struct gpubpf_image *image, uint32_t sm)
{
	return cache.valid && cache.size == image->size && cache.sm == sm &&
	       !memcmp(cache.digest, image->digest, sizeof(cache.digest));
}

static void drop_cache(void)
{
	if (!cache.valid)
		return;
	ptx_top_finish(&cache.top);
	cuda_close_image(&cache.whole);
	cache.valid = false;
}

static int fill_cache(const struct gpubpf_image *image, uint32_t sm, struct gpubpf_diag *diag)
{
	int err;

	if (is_cached(image, sm))
		return 0;
	drop_cache();
	err = open_whole(image, sm, &cache.whole, diag);
	if (err < 0)
		return err;
	err = ptx_top_init(&cache.top, &cache.whole.m);
	if (err < 0) {
		cuda_close_image(&cache.whole);
		return err;
	}
	memcpy(cache.digest, image->digest, sizeof(cache.digest));
	cache.size = image->size;
	cache.sm = sm;
	cache.valid = true;
	return 0;
}

int cuda_open_image(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		    struct cuda_parsed_image *o, struct gpubpf_diag *diag)
{
	uint32_t sm = capability(caps);
	int err = -ENOENT;

	if (image->digest && image->kernel && image->kernel[0]) {
		err = fill_cache(image, sm, diag);
		if (err < 0)
			return err;
		err = ptx_slice(&cache.top, image->kernel, &o->text, &o->m);
		if (cache.whole.m.size > MAX_CACHED_BYTES)
			drop_cache();
	}
	return err == -ENOENT ? open_whole(image, sm, o, diag) : err;
}

/* state while the list of a module's functions is built */
struct list {
	const struct ptx_module *m;
	struct gpubpf_kernel_info *infos;
	uint32_t n, kinds;           /* kinds: requested kinds of places (GPUBPF_SITE_BIT) */
	const char *kernel;          /* the kernel whose instructions are listed; "": all kernels */
	struct gpubpf_param *params; /* where the next function's parameters are stored */
	uint32_t *callees;           /* where the next function's callees are stored */
	/* node[i]: node of infos[i]. index[node]: index of that node in infos, or PTX_NONE. */
	uint32_t *node, *index;
	struct ptx_place **places; /* [n] */
	uint32_t *nplaces;
	struct gpubpf_place *room; /* where the next function's places are stored */
	char *names;               /* where the next name is stored */
};

static bool is_listed(const struct ptx_module *m, uint32_t node)
{
	return m->nodes[node].kind == PTX_FUNCTION && ptx_child(m, node, PTX_BLOCK, 0) != PTX_NONE;
}

static bool is_call(const struct ptx_module *m, uint32_t node)
{
	return m->nodes[node].kind == PTX_INSN && ptx_token_is(m, m->nodes[node].name, "call");
}

/* Returns true if the kernel has an instruction at which a thread may wait for other threads of the block. */
static bool has_barrier(const struct ptx_module *m, uint32_t kernel)
{
	for (uint32_t n = kernel + 1; n < m->nnodes && m->nodes[n].first < m->nodes[kernel].end; n++)
		if (m->nodes[n].kind == PTX_INSN &&
		    (ptx_token_is(m, m->nodes[n].name, "bar") || ptx_token_is(m, m->nodes[n].name, "barrier") ||
		     ptx_token_is(m, m->nodes[n].name, "mbarrier") || ptx_token_is(m, m->nodes[n].name, "call")))
			return true;
	return false;
}

static void set_param_offsets(struct gpubpf_param *params, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		params[i].bytes_off = params[i].size ? at : UINT32_MAX;
		at += (params[i].size + 15) & ~15u;
	}
}

/* Lists the functions of the module that `node` calls, each once. */
static void list_callees(struct list *l, const struct ptx_symbols *symbols, struct gpubpf_kernel_info *info, uint32_t node)
{
	const struct ptx_module *m = l->m;

	info->callees = l->callees;
	for (uint32_t n = node + 1; n < m->nnodes && m->nodes[n].first < m->nodes[node].end; n++) {
		const struct ptx_symbol *symbol;
		uint32_t to, i = 0;

		if (!is_call(m, n))
			continue;
		symbol = ptx_symbols_find(symbols, ptx_callee(m, &m->nodes[n]));
		to = symbol ? l->index[symbol->node] : PTX_NONE;
		while (i < info->ncallees && info->callees[i] != to)
			i++;
		if (to != PTX_NONE && i == info->ncallees)
			info->callees[info->ncallees++] = to;
	}
	l->callees += info->ncallees;
}

/*
 * Describes how a function passes its arguments. In PTX's ABI, parameters are in .param space (PTX ISA 7.1). A probe
 * cannot read parameters in .reg.
 */
static void describe_function(const struct ptx_module *m, uint32_t node, struct gpubpf_kernel_info *info)
{
	info->flags |= GPUBPF_KINFO_FUNCTION;
	for (uint32_t i = 0, p; (p = cuda_param_node(m, node, i)) != PTX_NONE; i++)
		if (ptx_token_is(m, m->nodes[p].first, ".reg"))
			snprintf(info->reason, sizeof(info->reason), "its PTX passes arguments in registers");
}

static void list_places(struct list *l, struct gpubpf_kernel_info *info, uint32_t i)
{
	info->places = l->room;
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		for (uint32_t k = 0; k < l->nplaces[i]; k++) {
			const struct ptx_place *from = &l->places[i][k];
			struct gpubpf_place *to = &l->room[info->nplaces];

			if (from->kind != kind)
				continue;
			*to = gpubpf_place_of(kind, from->id, from->line);
			info->nplaces++;
			if (!gpubpf_place_has_name(kind))
				continue;
			ptx_place_name(l->m, from, l->names, PTX_NAME_SIZE);
			to->name = l->names;
			l->names += strlen(l->names) + 1;
		}
	l->room += info->nplaces;
}

static int describe(struct list *l, const struct ptx_symbols *symbols, uint32_t i)
{
	struct gpubpf_kernel_info *info = &l->infos[i];
	uint32_t node = l->node[i], len = l->m->tokens[l->m->nodes[node].name].len;
	const struct ptx_module *m = l->m;
	struct gpubpf_param *params;
	int err = cuda_params(m, node, &params, &info->nparams);

	if (err < 0)
		return err;
	gpubpf_name_short(ptx_token_text(m, m->nodes[node].name), len, info->name);
	set_param_offsets(params, info->nparams);
	memcpy(l->params, params, info->nparams * sizeof(*params));
	free(params);
	info->params = l->params;
	l->params += info->nparams;
	info->flags = has_barrier(m, node) ? GPUBPF_KINFO_BARRIER : 0;
	if (!m->nodes[node].entry)
		describe_function(m, node, info);
	list_callees(l, symbols, info, node);
	list_places(l, info, i);
	return 0;
}

static int describe_all(struct list *l)
{
	struct ptx_symbols symbols;
	int err = ptx_symbols_init(&symbols, l->m);

	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < l->n; i++)
		err = describe(l, &symbols, i);
	ptx_symbols_finish(&symbols);
	return err;
}

static size_t name_bytes(const struct list *l, uint32_t i)
{
	char name[PTX_NAME_SIZE];
	size_t bytes = 0;

	for (uint32_t k = 0; k < l->nplaces[i]; k++) {
		ptx_place_name(l->m, &l->places[i][k], name, sizeof(name));
		bytes += strlen(name) + 1;
	}
	return bytes;
}

/*
 * Returns the kinds of places to list for a function. For a kernel that was not requested, no instructions are listed.
 */
static uint32_t requested_kinds(const struct list *l, uint32_t node)
{
	bool other = l->m->nodes[node].entry && l->kernel[0] && !ptx_token_named(l->m, l->m->nodes[node].name, l->kernel);

	return other ? l->kinds & gpubpf_places_of(GPUBPF_WHERE_KERNEL) : l->kinds;
}

static int find_places(struct list *l, size_t *total, size_t *names)
{
	int err = 0;

	l->places = calloc(l->n + 1, sizeof(*l->places));
	l->nplaces = calloc(l->n + 1, sizeof(*l->nplaces));
	if (!l->places || !l->nplaces)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < l->n; i++) {
		err = ptx_places(l->m, l->node[i], requested_kinds(l, l->node[i]), &l->places[i], &l->nplaces[i]);
		*total += l->nplaces[i];
		*names += err < 0 ? 0 : name_bytes(l, i);
	}
	return err;
}

/* Selects the functions to list and allocates memory for the whole list. */
static int list_init(struct list *l, const struct ptx_module *m, const struct gpubpf_image *image)
{
	size_t nparams = 0, ncalls = 0, nplaces = 0, names = 0;
	int err;

	*l = (struct list){ .m = m, .kinds = image->places, .kernel = image->kernel };
	l->node = calloc(m->nnodes, sizeof(*l->node));
	l->index = calloc(m->nnodes, sizeof(*l->index));
	if (!l->node || !l->index)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->nnodes; i++) {
		bool listed = is_listed(m, i);

		nparams += m->nodes[i].kind == PTX_PARAM;
		ncalls += is_call(m, i);
		l->index[i] = listed ? l->n : PTX_NONE;
		if (listed)
			l->node[l->n++] = i;
	}
	err = find_places(l, &nplaces, &names);
	if (err < 0)
		return err;
	l->infos = calloc(1, l->n * sizeof(*l->infos) + nplaces * sizeof(*l->room) + nparams * sizeof(*l->params) +
				     ncalls * sizeof(*l->callees) + names + 1);
	if (!l->infos)
		return -ENOMEM;
	l->room = (struct gpubpf_place *)(l->infos + l->n);
	l->params = (struct gpubpf_param *)(l->room + nplaces);
	l->callees = (uint32_t *)(l->params + nparams);
	l->names = (char *)(l->callees + ncalls);
	return 0;
}

/* Frees all members except the infos. */
static void list_finish(struct list *l)
{
	for (uint32_t i = 0; l->places && i < l->n; i++)
		free(l->places[i]);
	free(l->places);
	free(l->nplaces);
	free(l->node);
	free(l->index);
}

int cuda_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct cuda_parsed_image o;
	struct list l;
	int err = cuda_open_image(image, caps, &o, diag);

	if (err < 0)
		return err;
	err = list_init(&l, &o.m, image);
	if (!err)
		err = describe_all(&l);
	list_finish(&l);
	cuda_close_image(&o);
	if (err < 0) {
		free(l.infos);
		return err;
	}
	*kernels = l.infos;
	*nkernels = l.n;
	return 0;
}
