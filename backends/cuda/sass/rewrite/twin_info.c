/* SPDX-License-Identifier: Apache-2.0 */
#include "twin_work.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_BY_POINTER 0xfffffffd

enum attr_kind { ATTR_UNKNOWN, ATTR_KEPT, ATTR_SYMBOL, ATTR_SYMBOLS, ATTR_EXITS };

static const uint8_t attrs[256] = {
#define SASS_ATTR(number, kind) [number] = ATTR_##kind,
#include "backends/cuda/sass/isa/isa.def"
};

static bool is_known_symbol_attr(uint8_t attr)
{
	return attr == SASS_ATTR_REGCOUNT || attr == SASS_ATTR_FRAME_SIZE || attr == SASS_ATTR_MIN_STACK_SIZE ||
	       attr == SASS_ATTR_MAX_STACK_SIZE;
}

static int refuse_attr(uint8_t attr, struct gpubpf_diag *diag)
{
	return gpubpf_diag_refuse(diag, INJECT, "its .nv.info section has an unknown attribute (0x%02x)", attr);
}

int sass_twin_check_attrs(const struct sass_cubin *app, const struct sass_kernel *kernel, struct gpubpf_diag *diag)
{
	const struct sass_section *s = &app->sections[kernel->info];
	uint32_t ends = 0;
	struct sass_item item;
	size_t at = 0;

	for (unsigned attr = 0; attr < sizeof(attrs); attr++)
		if (app->symbol_attrs[attr / 64] >> attr % 64 & 1 && !is_known_symbol_attr(attr))
			return refuse_attr(attr, diag);
	while (sass_item_next(s->data, s->size, &at, &item)) {
		if (attrs[item.attr] == ATTR_UNKNOWN)
			return refuse_attr(item.attr, diag);
		ends += attrs[item.attr] == ATTR_EXITS;
	}
	return ends > 1 ? gpubpf_diag_refuse(diag, INJECT, "the image has more than one list of the kernel's exits") : 0;
}

/* Returns the value that an item of .nv.info has in the twin. In the items of the kernel, the number of registers
 * becomes the twin's. A stack size becomes the maximum of the kernel's and the probes' stack sizes. */
static uint32_t compute_item_value(const struct writer *w, uint8_t attr, uint32_t symbol, uint32_t value)
{
	bool own = symbol == w->kernel->symbol;

	if (own && attr == SASS_ATTR_REGCOUNT)
		return w->patched->regs;
	if (own && attr != SASS_ATTR_REGCOUNT && w->patched->frame > value)
		return w->patched->frame;
	return value;
}

static void put_u32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* Lists in rising order the items of .nv.info for the symbols of the twin and the items without a symbol. Returns 0
 * or -ENOMEM. */
static int find_items(const struct writer *w, uint32_t **found, uint32_t *n)
{
	const struct sass_chains *items = &w->app->items;
	uint32_t room = 1, *all;

	for (uint32_t k = 0; k <= w->nselected; k++)
		for (uint32_t i = sass_first(items, k < w->nselected ? w->selected[k] : w->app->nsymbols); i;
		     i = items->next[i])
			room++;
	all = malloc(room * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (uint32_t k = *n = 0; k <= w->nselected; k++)
		for (uint32_t i = sass_first(items, k < w->nselected ? w->selected[k] : w->app->nsymbols); i;
		     i = items->next[i])
			all[(*n)++] = i;
	qsort(all, *n, sizeof(*all), sass_compare_u32);
	*found = all;
	return 0;
}

int sass_twin_general(struct writer *w, size_t *size)
{
	const struct sass_section *s = &w->app->sections[sass_section_find(w->app, ".nv.info")];
	uint32_t *items, n;
	int err = find_items(w, &items, &n);

	if (err < 0)
		return err;
	w->general = malloc(s->size + 1);
	*size = 0;
	for (uint32_t i = 0; w->general && i < n; i++) {
		size_t from = w->app->item_at[items[i]], at = from;
		struct sass_item item;

		sass_item_next(s->data, s->size, &at, &item);
		memcpy(w->general + *size, s->data + from, at - from);
		if (item.data) {
			uint32_t symbol = sass_get32(item.data);

			put_u32(w->general + *size + 4, w->symbol[symbol]);
			put_u32(w->general + *size + 8,
				compute_item_value(w, item.attr, symbol, sass_get32(item.data + 4)));
		}
		*size += at - from;
	}
	free(items);
	return w->general ? 0 : -ENOMEM;
}

static int map_symbol(struct writer *w, uint8_t *at)
{
	uint32_t symbol = sass_get32(at);

	if (symbol >= w->app->nsymbols || (symbol && !w->symbol[symbol]))
		return refuse(w, "one of its .nv.info attributes names a symbol that its twin does not have");
	put_u32(at, w->symbol[symbol]);
	return 0;
}

/* Writes the list of the offsets of all EXITs of the twin. Returns its size in bytes. */
static size_t write_exits(const struct writer *w, uint8_t *to)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < w->patched->n; i++)
		if (sass_opcode(w->patched->insns[i]) == SASS_OP_EXIT && n < UINT16_MAX / 4)
			put_u32(to + 4 + 4 * n++, i * SASS_INSN);
	to[0] = SASS_FORMAT_SIZED;
	to[1] = SASS_ATTR_EXIT_OFFSETS;
	n *= 4;
	memcpy(to + 2, &n, sizeof(n));
	return 4 + n;
}

#define FORMAT_BYTE 2              /* the value is the byte after the attribute */

/* Writes an item that declares the block barrier of the counting code, if the twin counts lanes and the kernel
 * declares no barrier. Returns the size of the item in bytes, or 0. */
static size_t write_barrier(const struct writer *w, const struct sass_section *info, uint8_t *to)
{
	static const uint8_t one[4] = { FORMAT_BYTE, SASS_ATTR_NUM_BARRIERS, 1, 0 };
	struct sass_item item;
	size_t at = 0;

	while (w->patched->counts && sass_item_next(info->data, info->size, &at, &item))
		if (item.attr == SASS_ATTR_NUM_BARRIERS)
			return 0;
	memcpy(to, one, w->patched->counts ? sizeof(one) : 0);
	return w->patched->counts ? sizeof(one) : 0;
}

static int write_item(struct writer *w, const struct sass_item *item, uint8_t *to, size_t n)
{
	int err = 0;

	switch (attrs[item->attr]) {
	case ATTR_SYMBOL:
		return n < 8 ? refuse(w, "its .nv.info section is invalid") : map_symbol(w, to + 4);
	case ATTR_SYMBOLS:
		for (size_t k = 4; !err && k + 4 <= n; k += 4)
			err = map_symbol(w, to + k);
		return err;
	default:
		assert(attrs[item->attr] == ATTR_KEPT); /* sass_twin_check_attrs() has checked this */
		return 0;
	}
}

int sass_twin_info(struct writer *w, size_t *size)
{
	const struct sass_section *s = &w->app->sections[w->kernel->info];
	struct sass_item item;
	size_t at = 0, from = 0;
	int err = 0;

	w->info = malloc(s->size + 4 * w->patched->n + 12);
	if (!w->info)
		return -ENOMEM;
	for (*size = 0; !err && sass_item_next(s->data, s->size, &at, &item); from = at) {
		if (attrs[item.attr] == ATTR_EXITS) {
			*size += write_exits(w, w->info + *size);
			continue;
		}
		memcpy(w->info + *size, s->data + from, at - from);
		err = write_item(w, &item, w->info + *size, at - from);
		*size += at - from;
	}
	*size += write_barrier(w, s, w->info + *size);
	return err;
}

/* Builds .nv.callgraph, which has lists of pairs of symbols, caller and callee. A pair of 0 and a negative number
 * begins another list. If that number is CALLS_BY_POINTER or below, the lists from there on are prototypes, which
 * the twin omits. */
int sass_twin_calls(struct writer *w, uint32_t section, size_t *size)
{
	const struct sass_section *s = &w->app->sections[section];
	bool by_pointer;

	w->calls = malloc(s->size + 1);
	if (!w->calls)
		return -ENOMEM;
	*size = 0;
	by_pointer = false;
	for (size_t at = 0; s->data && at + 8 <= s->size; at += 8) {
		uint32_t caller = sass_get32(s->data + at), callee = sass_get32(s->data + at + 4);
		bool mark = !caller;

		by_pointer |= mark && callee <= CALLS_BY_POINTER;
		if (!mark && (by_pointer || caller >= w->app->nsymbols || callee >= w->app->nsymbols ||
			      !w->symbol[caller] || !w->symbol[callee]))
			continue;
		put_u32(w->calls + *size, mark ? caller : w->symbol[caller]);
		put_u32(w->calls + *size + 4, mark ? callee : w->symbol[callee]);
		*size += 8;
	}
	return 0;
}
