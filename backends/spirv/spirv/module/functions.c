/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the places at single instructions, and the functions that contain them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "core/wire/name.h"
#include "named.h"
#include "spv.h"

/* -- places -- */

static void add_place(struct gpubpf_spv_place *out, uint32_t *n, uint32_t *seen, struct gpubpf_spv_place place)
{
	place.id = seen[place.kind]++;
	place.site = UINT32_MAX;
	if (out)
		out[*n] = place;
	++*n;
}

/*
 * Returns true if the access is one of the kinds in the bit mask `accesses`. An access of unknown kind counts as every
 * kind if it may touch any memory.
 */
static bool is_access_of_kind(const struct spv_access *a, uint32_t accesses)
{
	return a->access ? accesses >> a->access & 1 :
			   accesses == GPUBPF_DOES_ANY || (a->spaces & GPUBPF_IN_ANY) == GPUBPF_IN_ANY;
}

static void add_barriers(const struct gpubpf_spv *m, uint32_t insn, uint32_t line, uint32_t kinds,
			 struct gpubpf_spv_place *out, uint32_t *n, uint32_t *seen)
{
	static const enum gpubpf_site both[] = { GPUBPF_SITE_BARRIER, GPUBPF_SITE_BARRIER_EXIT };
	enum gpubpf_barrier_kind kind;
	const char *unseen;

	if (gpubpf_spv_barrier(m, &m->insn[insn], &kind, &unseen))
		for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
			if (kinds >> both[i] & 1)
				add_place(out, n, seen,
					  (struct gpubpf_spv_place){ .kind = both[i], .line = line, .insn = insn });
}

static void add_accesses(const struct gpubpf_spv *m, uint32_t insn, uint32_t line, uint32_t kinds,
			 struct gpubpf_spv_place *out, uint32_t *n, uint32_t *seen)
{
	struct spv_access accesses[SPV_MAX_ACCESSES];
	uint32_t count = gpubpf_spv_accesses(m, insn, accesses);

	for (uint32_t a = 0; a < count; a++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
			if (kinds >> kind & 1 && gpubpf_place_kind(kind)->spaces & accesses[a].spaces &&
			    is_access_of_kind(&accesses[a], gpubpf_place_kind(kind)->accesses))
				add_place(out, n, seen,
					  (struct gpubpf_spv_place){
						  .kind = kind, .line = line, .insn = insn, .access = a });
}

/*
 * Add the places at this instruction whose kind occurs at most once per instruction: line, instruction, mark, branch.
 */
static void add_single(const struct gpubpf_spv *m, uint32_t insn, uint32_t line, uint32_t kinds,
		       struct gpubpf_spv_place *out, uint32_t *n, uint32_t *seen)
{
	const struct gpubpf_spv_insn *at = &m->insn[insn];
	const struct {
		enum gpubpf_site kind;
		bool is;
	} what[] = {
		{ GPUBPF_SITE_LINE, m->line && m->line[insn] },
		{ GPUBPF_SITE_INSN, kinds & GPUBPF_SITE_BIT(INSN) && gpubpf_spv_is_executed(m, at) },
		{ GPUBPF_SITE_MARK, kinds & GPUBPF_SITE_BIT(MARK) && gpubpf_spv_is_mark(m, at) },
		{ GPUBPF_SITE_BRANCH, at->op == SpvOpBranchConditional || at->op == SpvOpSwitch },
	};

	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++)
		if (what[i].is && kinds >> what[i].kind & 1)
			add_place(out, n, seen,
				  (struct gpubpf_spv_place){ .kind = what[i].kind, .line = line, .insn = insn });
}

/* Add a place for the function's entry before its first executed instruction, and one at each return. */
static void add_function(const struct gpubpf_spv *m, uint32_t insn, uint32_t line, uint32_t kinds,
			 struct gpubpf_spv_place *out, uint32_t *n, uint32_t *seen)
{
	bool returns = m->insn[insn].op == SpvOpReturn || m->insn[insn].op == SpvOpReturnValue;

	if (kinds & GPUBPF_SITE_BIT(CALL) && !seen[GPUBPF_SITE_CALL] && gpubpf_spv_is_executed(m, &m->insn[insn]))
		add_place(out, n, seen, (struct gpubpf_spv_place){ .kind = GPUBPF_SITE_CALL, .line = line, .insn = insn });
	if (kinds & GPUBPF_SITE_BIT(CALL_EXIT) && returns)
		add_place(out, n, seen,
			  (struct gpubpf_spv_place){ .kind = GPUBPF_SITE_CALL_EXIT, .line = line, .insn = insn });
}

/* The line of an OpLine is valid up to the end of its basic block (section 3.52.2). */
uint32_t gpubpf_spv_places(const struct gpubpf_spv *m, uint32_t function, uint32_t kinds, struct gpubpf_spv_place *out)
{
	uint32_t seen[GPUBPF_NSITES] = { 0 }, n = 0, line = 0;

	kinds &= gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION);
	for (uint32_t i = m->def[function]; kinds && i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd; i++) {
		if (m->insn[i].op == SpvOpLine)
			line = gpubpf_spv_word(m, &m->insn[i], 2);
		else if (m->insn[i].op == SpvOpNoLine || m->insn[i].op == SpvOpLabel)
			line = 0;
		else
			add_accesses(m, i, line, kinds, out, &n, seen);
		add_function(m, i, line, kinds, out, &n, seen);
		add_single(m, i, line, kinds, out, &n, seen);
		add_barriers(m, i, line, kinds, out, &n, seen);
	}
	return n;
}

/* -- functions -- */

/* the list of a module's functions */
struct list {
	const struct gpubpf_spv *m;
	struct gpubpf_pool *pool;
	struct gpubpf_spv_kernel *all;
	/*
	 * n: number of functions, kernels included. kinds: bit mask (GPUBPF_SITE_BIT) of the requested kinds of places
	 */
	uint32_t n, kinds;
	uint32_t *index;  /* [bound]: index + 1 in all[] of the function with this id, or 0 */
	uint32_t *linked; /* [bound]: index + 1 of the instruction with the id's LinkageAttributes */
	uint32_t *seen;   /* [n]: index + 1 of the last caller found, to list each callee once */
};

static bool has_body(const struct gpubpf_spv *m, uint32_t insn)
{
	while (insn < m->ninsns && m->insn[insn].op != SpvOpLabel && m->insn[insn].op != SpvOpFunctionEnd)
		insn++;
	return insn < m->ninsns && m->insn[insn].op == SpvOpLabel;
}

static void name_function(const struct list *l, struct gpubpf_spv_kernel *f)
{
	uint32_t linked = l->linked[f->function], named = l->m->name[f->function], end;
	const char *name = "function";

	if (linked)
		name = gpubpf_spv_string(l->m, &l->m->insn[linked - 1], 3, &end);
	else if (named)
		name = gpubpf_spv_string(l->m, &l->m->insn[named - 1], 2, &end);
	gpubpf_name_short(name, strlen(name), f->info.name);
}

static int compare_names(const void *a, const void *b)
{
	const struct gpubpf_spv_kernel *const *x = a, *const *y = b;

	return strcmp((*x)->info.name, (*y)->info.name);
}

/*
 * Make the functions' names unique. A name from a LinkageAttributes decoration is unique already and stays. To any
 * other name that several functions share, append the function's id.
 */
static int make_names_unique(const struct list *l, uint32_t first)
{
	uint32_t n = l->n - first;
	struct gpubpf_spv_kernel **all = gpubpf_pool_alloc(l->pool, n, sizeof(*all));
	bool *shared = gpubpf_pool_alloc(l->pool, n, sizeof(*shared));
	char name[200];

	if (!all || !shared)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		all[i] = &l->all[first + i];
	if (n)
		qsort(all, n, sizeof(*all), compare_names);
	for (uint32_t i = 0; i < n; i++)
		shared[i] = !all[i]->info.name[0] || (i && !strcmp(all[i]->info.name, all[i - 1]->info.name)) ||
			    (i + 1 < n && !strcmp(all[i]->info.name, all[i + 1]->info.name));
	for (uint32_t i = 0; i < n; i++) {
		if (!shared[i] || (l->linked[all[i]->function] && all[i]->info.name[0]))
			continue;
		snprintf(name, sizeof(name), "%.190s", all[i]->info.name);
		snprintf(all[i]->info.name, sizeof(all[i]->info.name), "%s.%u", name[0] ? name : "function",
			 all[i]->function);
	}
	return 0;
}

/* Read a function's parameters. They are needed only if BPF programs may be inserted at its calls. */
static void read_params(struct list *l, struct gpubpf_spv_kernel *f)
{
	if (!(l->kinds & gpubpf_places_of(GPUBPF_WHERE_FUNCTION)) || gpubpf_spv_params(l->m, l->pool, f))
		return;
	f->info.nparams = 0;
	snprintf(f->info.reason, sizeof(f->info.reason), "its parameters cannot be read");
}

static int find_functions(struct list *l, uint32_t nkernels, const struct gpubpf_spv_kernel *kernels)
{
	const struct gpubpf_spv *m = l->m;
	uint32_t most = nkernels;

	for (uint32_t i = m->functions; i < m->ninsns; i++)
		most += m->insn[i].op == SpvOpFunction;
	l->index = gpubpf_pool_alloc(l->pool, m->bound, sizeof(*l->index));
	l->linked = gpubpf_pool_alloc(l->pool, m->bound, sizeof(*l->linked));
	l->seen = gpubpf_pool_alloc(l->pool, most, sizeof(*l->seen));
	l->all = gpubpf_pool_alloc(l->pool, most, sizeof(*l->all));
	if (!l->index || !l->linked || !l->seen || !l->all)
		return -ENOMEM;
	memcpy(l->all, kernels, nkernels * sizeof(*l->all));
	for (l->n = 0; l->n < nkernels; l->n++)
		if (kernels[l->n].function < m->bound)
			l->index[kernels[l->n].function] = l->n + 1;
	for (uint32_t i = 0; i < m->functions; i++) {
		uint32_t id = gpubpf_spv_word(m, &m->insn[i], 1);

		if (m->insn[i].op == SpvOpDecorate && id < m->bound &&
		    gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationLinkageAttributes)
			l->linked[id] = i + 1;
	}
	for (uint32_t i = m->functions; i < m->ninsns; i++) {
		uint32_t id = gpubpf_spv_word(m, &m->insn[i], 2);
		struct gpubpf_spv_kernel *f = &l->all[l->n];

		if (m->insn[i].op != SpvOpFunction || l->index[id] || !has_body(m, i) || gpubpf_spv_is_mark_function(m, id))
			continue;
		f->function = id;
		f->info.flags = GPUBPF_KINFO_FUNCTION;
		name_function(l, f);
		read_params(l, f);
		l->index[id] = ++l->n;
	}
	return make_names_unique(l, nkernels);
}

/* List the functions with a body that function f calls, each once. */
static int find_callees(struct list *l, uint32_t f)
{
	struct gpubpf_kernel_info *info = &l->all[f].info;
	const struct gpubpf_spv *m = l->m;
	uint32_t first = m->def[l->all[f].function], n = 0;

	for (uint32_t i = first; i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd; i++)
		n += m->insn[i].op == SpvOpFunctionCall;
	info->callees = gpubpf_pool_alloc(l->pool, n, sizeof(*info->callees));
	if (!info->callees)
		return -ENOMEM;
	for (uint32_t i = first; i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd; i++) {
		uint32_t callee = gpubpf_spv_word(m, &m->insn[i], 3), to;

		if (m->insn[i].op != SpvOpFunctionCall || callee >= m->bound || !l->index[callee])
			continue;
		to = l->index[callee] - 1;
		if (l->seen[to] != f + 1)
			info->callees[info->ncallees++] = to;
		l->seen[to] = f + 1;
	}
	return 0;
}

uint32_t gpubpf_spv_kinds_of(const struct gpubpf_kernel_info *info, uint32_t kinds)
{
	return info->flags & GPUBPF_KINFO_FUNCTION && !info->reason[0] ? kinds :
									 kinds & gpubpf_places_of(GPUBPF_WHERE_INSN);
}

/* Append the places in the function's code to info->places. */
static int find_places(struct list *l, uint32_t f)
{
	char name[GPUBPF_PLACE_NAME];
	struct gpubpf_kernel_info *info = &l->all[f].info;
	uint32_t kinds = gpubpf_spv_kinds_of(info, l->kinds), n = gpubpf_spv_places(l->m, l->all[f].function, kinds, NULL);
	struct gpubpf_spv_place *found = gpubpf_pool_alloc(l->pool, n, sizeof(*found));
	struct gpubpf_place *places = gpubpf_pool_alloc(l->pool, info->nplaces + n, sizeof(*places));

	if (!found || !places)
		return -ENOMEM;
	gpubpf_spv_places(l->m, l->all[f].function, kinds, found);
	if (info->nplaces)
		memcpy(places, info->places, info->nplaces * sizeof(*places));
	info->places = places;
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		for (uint32_t i = 0; i < n && kinds >> kind & 1; i++) {
			struct gpubpf_place *place = &places[info->nplaces];

			if (found[i].kind != kind)
				continue;
			*place = gpubpf_place_of(kind, found[i].id, found[i].line);
			if (gpubpf_place_has_name(kind)) {
				gpubpf_spv_place_name(l->m, &found[i], name, sizeof(name));
				place->name = gpubpf_pool_strndup(l->pool, name, strlen(name));
			}
			if (!place->name)
				return -ENOMEM;
			info->nplaces++;
		}
	return 0;
}

int gpubpf_spv_functions(const struct gpubpf_spv *m, struct gpubpf_pool *pool, uint32_t kinds,
			 struct gpubpf_spv_kernel **kernels, uint32_t nkernels, uint32_t *n)
{
	struct list l = { .m = m,
			  .pool = pool,
			  .kinds = kinds &
				   (gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION)) };
	int err;

	*n = nkernels;
	if (!l.kinds)
		return 0;
	err = find_functions(&l, nkernels, *kernels);
	for (uint32_t f = 0; !err && f < l.n; f++) {
		if (l.all[f].function >= m->bound || !m->def[l.all[f].function])
			continue; /* a kernel without a valid OpFunction, refused earlier */
		err = find_callees(&l, f);
		if (!err)
			err = find_places(&l, f);
	}
	if (!err) {
		*kernels = l.all;
		*n = l.n;
	}
	return err;
}
