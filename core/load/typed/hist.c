/* SPDX-License-Identifier: Apache-2.0 */
#include "hist.h"

#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/load/load.h"

#define MAX_BITS 5

static const struct btf_type *strip_typedefs(const struct btf *btf, uint32_t type)
{
	int real = btf && type ? btf__resolve_type(btf, type) : -1;

	return real < 0 ? NULL : btf__type_by_id(btf, real);
}

static bool named(const struct btf *btf, uint32_t offset, const char *name)
{
	const char *is = btf__name_by_offset(btf, offset);

	return is && !strcmp(is, name);
}

static bool slot_width(const struct btf *btf, uint32_t type, uint32_t *width)
{
	const struct btf_type *t = strip_typedefs(btf, type);

	if (!t || !btf_is_int(t) || (btf_int_encoding(t) & BTF_INT_SIGNED) || (t->size != 4 && t->size != 8))
		return false;
	*width = t->size;
	return true;
}

bool gpubpf_hist_slot(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape)
{
	*shape = (struct gpubpf_hist_shape){ .zeros = true };
	return gpubpf_typed_is(btf, type, "gpubpf_log2_slot") && slot_width(btf, type, &shape->width);
}

static bool slot_array(const struct btf *btf, const struct btf_type *t, struct gpubpf_hist_shape *shape)
{
	if (!t || !btf_is_array(t) || btf_array(t)->nelems < 2 || btf_array(t)->nelems > GPUBPF_HIST_SLOTS)
		return false;
	shape->n = btf_array(t)->nelems;
	return slot_width(btf, btf_array(t)->type, &shape->width);
}

/* Reads a number that a struct encodes in the type of an empty member: char name[0][NUMBER]. */
static bool number_member(const struct btf *btf, const struct btf_member *m, const char *name, uint64_t *number)
{
	const struct btf_type *t = strip_typedefs(btf, m->type), *inner;

	if (!named(btf, m->name_off, name) || !t || !btf_is_array(t) || btf_array(t)->nelems)
		return false;
	inner = strip_typedefs(btf, btf_array(t)->type);
	if (!inner || !btf_is_array(inner))
		return false;
	*number = btf_array(inner)->nelems;
	return true;
}

static bool hist_struct(const struct btf *btf, const struct btf_type *t, struct gpubpf_hist_shape *shape)
{
	const struct btf_member *m = t && btf_is_struct(t) && btf_vlen(t) >= 3 ? btf_members(t) : NULL;
	uint32_t last = m ? btf_vlen(t) - 1 : 0;
	uint64_t bits = 0;

	if (!m || last > 3 || !number_member(btf, &m[0], "gpubpf_min", &shape->min) ||
	    !number_member(btf, &m[1], "gpubpf_step", &shape->step) ||
	    (last == 3 && !number_member(btf, &m[2], "gpubpf_bits", &bits)) || btf_member_bit_offset(t, last) ||
	    !named(btf, m[last].name_off, "slot") || !slot_array(btf, strip_typedefs(btf, m[last].type), shape))
		return false;
	shape->zeros = !shape->step;
	shape->bits = bits;
	shape->each = !named(btf, t->name_off, "gpubpf_quantiles");
	if (bits > MAX_BITS || (bits && shape->step))
		return false;
	return shape->step ? shape->n > 2 : shape->n <= (bits ? (65u - bits) << bits : 64);
}

bool gpubpf_hist_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape)
{
	const struct btf_type *t = strip_typedefs(btf, type);

	*shape = (struct gpubpf_hist_shape){ .zeros = true };
	if (hist_struct(btf, t, shape))
		return true;
	*shape = (struct gpubpf_hist_shape){ .zeros = true };
	return slot_array(btf, t, shape) && shape->n <= 64 && gpubpf_typed_is(btf, btf_array(t)->type, "gpubpf_log2_slot");
}

bool gpubpf_amounts_type(const struct btf *btf, uint32_t type, struct gpubpf_hist_shape *shape, bool *ns)
{
	const struct btf_type *t = strip_typedefs(btf, type);
	const struct btf_member *m = t && btf_is_struct(t) && btf_vlen(t) == 3 ? btf_members(t) : NULL;
	uint32_t width;

	if (!m || !named(btf, m[0].name_off, "count") || !named(btf, m[1].name_off, "sum") ||
	    !named(btf, m[2].name_off, "quantiles"))
		return false;
	for (uint32_t i = 0; i < 3; i++)
		if (btf_member_bitfield_size(t, i) || btf_member_bit_offset(t, i) != 64 * i ||
		    (i < 2 && (!slot_width(btf, m[i].type, &width) || width != 8)))
			return false;
	if (!gpubpf_hist_type(btf, m[2].type, shape))
		return false;
	shape->offset = 16;
	*ns = gpubpf_typed_is(btf, m[1].type, "gpubpf_ns");
	return true;
}

bool gpubpf_var_tagged(const struct btf *btf, const char *variable, const char *tag)
{
	uint32_t n = btf ? btf__type_cnt(btf) : 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i), *var;

		if (!btf_is_decl_tag(t) || !named(btf, t->name_off, tag))
			continue;
		var = btf__type_by_id(btf, t->type);
		if (var && btf_is_var(var) && named(btf, var->name_off, variable))
			return true;
	}
	return false;
}

/* -- histograms in values -- */

struct search {
	const struct btf *btf;
	size_t size;
	struct gpubpf_hists *hists;
	uint64_t covered; /* number of bytes of the value that belong to histograms found so far */
	uint32_t steps;   /* number of members and elements visited; limited, because types are not trusted */
};

static void search_in(struct search *s, uint32_t type, uint64_t at, const char *path, int depth);

static void search_members(struct search *s, const struct btf_type *t, uint64_t at, const char *path, int depth)
{
	for (uint32_t i = 0; i < btf_vlen(t) && i < 256; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = btf__name_by_offset(s->btf, m->name_off);
		uint32_t bit = btf_member_bit_offset(t, i);
		char longer[GPUBPF_HIST_PATH];

		if (!name || btf_member_bitfield_size(t, i) || bit % 8)
			continue;
		snprintf(longer, sizeof(longer), "%s%s%s", path, name[0] ? "." : "", name);
		search_in(s, m->type, at + bit / 8, longer, depth + 1);
	}
}

/* Searches the first GPUBPF_HISTS elements of an array, because no more histograms are drawn. */
static void search_elements(struct search *s, const struct btf_type *t, uint64_t at, const char *path, int depth)
{
	int64_t size = btf__resolve_size(s->btf, btf_array(t)->type);

	for (uint32_t i = 0; size > 0 && i < btf_array(t)->nelems && i < GPUBPF_HISTS; i++) {
		char longer[GPUBPF_HIST_PATH];

		snprintf(longer, sizeof(longer), "%s[%u]", path, i);
		search_in(s, btf_array(t)->type, at + i * (uint64_t)size, longer, depth + 1);
	}
}

static void search_in(struct search *s, uint32_t type, uint64_t at, const char *path, int depth)
{
	const struct btf_type *t = strip_typedefs(s->btf, type);
	struct gpubpf_hist_shape shape;
	struct gpubpf_hists *h = s->hists;
	bool ns;

	if (gpubpf_amounts_type(s->btf, type, &shape, &ns))
		return;
	if (!t || depth > 4 || ++s->steps > 4096 || at > s->size || h->n == GPUBPF_HISTS)
		return;
	if (gpubpf_hist_type(s->btf, type, &shape)) {
		if (shape.n * (uint64_t)shape.width > s->size - at)
			return;
		shape.offset = at;
		h->shape[h->n] = shape;
		snprintf(h->path[h->n++], GPUBPF_HIST_PATH, "%s", path);
		s->covered += shape.n * (uint64_t)shape.width;
	} else if (btf_is_struct(t)) {
		search_members(s, t, at, path, depth);
	} else if (btf_is_array(t)) {
		search_elements(s, t, at, path, depth);
	}
}

void gpubpf_hists_find(const struct btf *btf, uint32_t type, size_t size, struct gpubpf_hists *hists)
{
	struct search s = { .btf = btf, .size = size, .hists = hists };

	hists->n = 0;
	if (btf && type)
		search_in(&s, type, 0, "", 0);
	hists->only = hists->n && s.covered == size;
}

/* -- statistics -- */

void gpubpf_hist_add(const struct gpubpf_hist_shape *shape, const void *data, uint64_t *slot)
{
	const uint8_t *at = (const uint8_t *)data + shape->offset;

	for (uint32_t i = 0; i < shape->n; i++) {
		uint64_t v = 0;

		memcpy(&v, at + (size_t)i * shape->width, shape->width);
		slot[i] += v;
	}
}

static void compute_fine_bounds(const struct gpubpf_hist_shape *shape, uint32_t i, uint64_t *low, uint64_t *high)
{
	uint32_t shift = i >> shape->bits ? (i >> shape->bits) - 1 : 0;
	uint64_t first = (uint64_t)i - ((uint64_t)shift << shape->bits);

	*low = first << shift;
	*high = i + 1 == shape->n ? UINT64_MAX : *low + (1ull << shift) - 1;
}

void gpubpf_hist_bounds(const struct gpubpf_hist_shape *shape, uint32_t i, uint64_t *low, uint64_t *high)
{
	uint32_t shift = i - shape->zeros;

	if (shape->bits) {
		compute_fine_bounds(shape, i, low, high);
		return;
	}
	if (shape->step) {
		*low = i ? shape->min + (i - 1) * shape->step : 0;
		*high = !i                ? shape->min - (shape->min > 0) :
			i + 1 == shape->n ? UINT64_MAX :
					    shape->min + i * shape->step - 1;
		return;
	}
	*low = i ? 1ull << shift : 0;
	*high = shape->zeros && !i                         ? 0 :
		shift >= 63 || (i == 63 && shape->n == 64) ? UINT64_MAX :
							     (1ull << (shift + 1)) - 1;
}

uint64_t gpubpf_hist_count(const struct gpubpf_hist_shape *shape, const uint64_t *slot)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < shape->n; i++)
		count += slot[i];
	return count;
}

static uint32_t find_last_slot(const struct gpubpf_hist_shape *shape, const uint64_t *slot)
{
	uint32_t i = shape->n;

	while (i && !slot[i - 1])
		i--;
	return i ? i - 1 : 0;
}

/*
 * Returns a percentile. Assumes that the values in each slot are evenly distributed. In the last non-empty slot, whose
 * largest value is unknown, returns the start of the slot.
 */
uint64_t gpubpf_hist_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, unsigned int percent)
{
	long double rank = gpubpf_hist_count(shape, slot) * (percent / 100.0L), within;
	uint32_t last = find_last_slot(shape, slot);
	uint64_t low, high;

	for (uint32_t i = 0; i < shape->n; i++) {
		if (!slot[i] || rank > slot[i]) {
			rank -= slot[i];
			continue;
		}
		gpubpf_hist_bounds(shape, i, &low, &high);
		if (i == last || high == UINT64_MAX)
			return low;
		within = (high - low) * (rank / slot[i]);
		return low + (uint64_t)within;
	}
	return 0;
}

/*
 * Returns a lower bound of the mean of the values in the last slot. Their sum is at least the total sum minus the
 * largest sum that the values in the other slots can have.
 */
static uint64_t compute_least_mean(const struct gpubpf_hist_shape *shape, const uint64_t *slot, uint64_t sum, uint32_t last)
{
	long double left = sum;
	uint64_t low, high;

	for (uint32_t i = 0; i < last; i++) {
		gpubpf_hist_bounds(shape, i, &low, &high);
		left -= (long double)slot[i] * high;
	}
	gpubpf_hist_bounds(shape, last, &low, &high);
	left /= slot[last] ? slot[last] : 1;
	return left < low ? low : left > high ? high : (uint64_t)left;
}

uint64_t gpubpf_amounts_percentile(const struct gpubpf_hist_shape *shape, const uint64_t *slot, uint64_t sum,
				   unsigned int percent)
{
	uint64_t value = gpubpf_hist_percentile(shape, slot, percent), low, high;
	uint32_t last = find_last_slot(shape, slot);

	gpubpf_hist_bounds(shape, last, &low, &high);
	return value == low && slot[last] ? compute_least_mean(shape, slot, sum, last) : value;
}
