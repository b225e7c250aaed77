/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes single elements of maps for blocks on the host. Additions are atomic, so additions of running kernels
 * are not lost. Devices with their own memory see a write when the session copies it to them.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "core/session/session.h"
#include "gpubpf/gpubpf.h"
#include "host.h"

struct element {
	const struct lang_map *map;
	const struct gpubpf_map *target; /* NULL: the session does not have the map */
	uint8_t key[LANG_KEY_SIZE];
};

static void find_element(struct lang_host *h, const struct lang_node *n, struct element *e)
{
	uint8_t *to = e->key;

	memset(e, 0, sizeof(*e));
	e->map = n->map;
	e->target = lang_map_target(h, n->map);
	for (const struct lang_node *k = n->list; k; k = k->next) {
		lang_put(h, k, to);
		to += lang_size(k->type);
	}
}

/* Report the first write to the map that failed, and forget rows that were read before the write. */
static bool written(struct lang_host *h, const struct element *e, int err)
{
	lang_rows_forget(h, e->map);
	if (!err || err == -ENOENT || h->noted[e->map->index])
		return !err;
	h->noted[e->map->index] = true;
	if (err == -E2BIG)
		gpubpf_session_note(h->s, "%s has no room for more keys; declare a larger map: let %s = hash(%u);",
				    e->map->name, e->map->name, 4 * e->map->room);
	else
		gpubpf_session_note(h->s, "%s cannot be set in BEGIN, END or interval: %s", e->map->name, strerror(-err));
	return false;
}

bool lang_map_read(struct lang_host *h, const struct lang_node *n, uint8_t *value)
{
	struct element e;
	struct lang_row row;
	uint64_t v;

	find_element(h, n, &e);
	if (!lang_row_read(h, n->map, e.key, &row))
		return false;
	if (n->map->holds || n->map->value_size == sizeof(v)) {
		v = lang_row_number(n->map, &row);
		memcpy(value, &v, sizeof(v));
	} else {
		memcpy(value, row.value, n->map->value_size);
	}
	return true;
}

static int update(const struct element *e, const void *value)
{
	if (!e->target)
		return -ENODEV;
	return gpubpf_map__update_elem(e->target, e->key, e->map->key_size, value, e->map->value_size, BPF_ANY);
}

/* Add to the word at `offset`. Where the map cannot be added to atomically, read and write the value. */
static int add(const struct element *e, uint32_t offset, uint64_t n)
{
	uint64_t value[LANG_SLOTS] = { 0 };
	int err = e->target ? gpubpf_map__add(e->target, e->key, e->map->key_size, offset, sizeof(n), n) : -ENODEV;

	if (err != -EOPNOTSUPP)
		return err;
	gpubpf_map__lookup_elem(e->target, e->key, e->map->key_size, value, e->map->value_size, 0);
	value[offset / sizeof(n)] += n;
	return update(e, value);
}

/* -- aggregations -- */

/* Return the index of the slot of hist(), as the code in cli/lang/gen/aggregate.c computes it. */
static uint32_t log2_slot(const struct lang_map *map, uint64_t v)
{
	uint32_t bits = map->fine - 1, shift = 0, last = map->value_size / 8 - 1, slot;

	while (v >> shift >= 2ull << bits)
		shift++;
	slot = (shift << bits) + (uint32_t)(v >> shift);
	return slot < last ? slot : last;
}

static uint32_t linear_slot(const struct lang_map *map, uint64_t v)
{
	uint32_t last = map->value_size / 8 - 1;
	uint64_t slot;

	if (map->value.is_signed ? (int64_t)v < (int64_t)map->min : v < map->min)
		return 0;
	slot = (v - map->min) / map->step + 1;
	return slot < last ? (uint32_t)slot : last;
}

static int set_extreme(const struct element *e, uint64_t v)
{
	uint64_t value[2] = { v };
	bool is_less;

	if (e->target && !gpubpf_map__lookup_elem(e->target, e->key, e->map->key_size, value, sizeof(value), 0)) {
		is_less = e->map->value.is_signed ? (int64_t)v < (int64_t)value[0] : v < value[0];
		if (v == value[0] || is_less != (e->map->holds->id == LANG_F_MIN))
			return 0;
		value[0] = v;
	}
	return update(e, value);
}

static int aggregate(const struct element *e, uint64_t v)
{
	int err;

	switch (e->map->holds->id) {
	case LANG_F_COUNT:
		return add(e, 0, 1);
	case LANG_F_SUM:
		return add(e, 0, v);
	case LANG_F_AVG:
	case LANG_F_STATS:
		err = add(e, 0, 1);
		return err < 0 ? err : add(e, 8, v);
	case LANG_F_HIST:
		return add(e, 8 * log2_slot(e->map, v), 1);
	case LANG_F_LHIST:
		return add(e, 8 * linear_slot(e->map, v), 1);
	default:
		return set_extreme(e, v);
	}
}

/* -- assignments -- */

static uint64_t number_at(struct lang_host *h, const struct element *e)
{
	struct lang_row row;

	return lang_row_read(h, e->map, e->key, &row) ? lang_row_number(e->map, &row) : 0;
}

/* Execute @x op= v. Returns the old value. */
static uint64_t operate(struct lang_host *h, const struct element *e, enum lang_token op, uint64_t v)
{
	uint64_t old = number_at(h, e), now;

	if (op == LANG_T_ADD || op == LANG_T_SUB) {
		written(h, e, add(e, 0, op == LANG_T_ADD ? v : -v));
		return old;
	}
	now = lang_operate(op, old, v, e->map->value.is_signed);
	written(h, e, update(e, &now));
	return old;
}

uint64_t lang_map_assign(struct lang_host *h, const struct lang_node *n)
{
	bool is_signed = n->a->map->value.is_signed;
	uint8_t value[LANG_VALUE_SIZE];
	struct element e;
	uint64_t v = 0;

	if (n->b->type.base == LANG_AGGREGATE)
		v = n->b->list ? lang_eval(h, n->b->list) : 0;
	else
		lang_put(h, n->b, value);
	find_element(h, n->a, &e);
	if (n->b->type.base == LANG_AGGREGATE) {
		written(h, &e, aggregate(&e, v));
		return 0;
	}
	if (!lang_is_in_memory(n->b->type))
		memcpy(&v, value, sizeof(v));
	if (n->op != LANG_T_NONE)
		return lang_operate(n->op, operate(h, &e, n->op, v), v, is_signed);
	written(h, &e, update(&e, value));
	return v;
}

uint64_t lang_map_step(struct lang_host *h, const struct lang_node *n)
{
	struct element e;
	uint64_t before;

	find_element(h, n->a, &e);
	before = operate(h, &e, n->op, 1);
	return n->value ? lang_operate(n->op, before, 1, false) : before;
}

bool lang_map_remove(struct lang_host *h, const struct lang_node *n)
{
	uint64_t zeros[LANG_SLOTS] = { 0 };
	struct element e;

	find_element(h, n, &e);
	if (!e.target)
		return false;
	lang_row_forget_cleared(h, n->map, e.key);
	if (lang_map_is_array(n->map))
		return written(h, &e, update(&e, zeros));
	return written(h, &e, gpubpf_map__delete_elem(e.target, e.key, n->map->key_size, 0));
}
