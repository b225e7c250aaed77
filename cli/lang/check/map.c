/* SPDX-License-Identifier: Apache-2.0 */
/* Infers and checks what maps hold, and their keys and sizes. This is a part of the pass in check.c. */
#include "check.h"

#include <string.h>

/* -- keys -- */

static void name_key(struct check *c, struct lang_map *map, uint32_t i, const struct lang_node *n)
{
	static const char *const part[] = { "", "_x", "_y", "_z" };
	const char *name = NULL;

	if (n->kind == LANG_N_CAST)
		n = n->a;
	if (n->kind == LANG_N_BUILTIN)
		name = lang_format(c->l, "%s%s", n->text ? n->text : n->builtin.name, part[n->value & 3]);
	else if (n->kind == LANG_N_VAR && n->text)
		name = lang_copy(c->l, n->text + 1, strlen(n->text) - 1);
	for (uint32_t k = 0; name && k < i; k++)
		if (!strcmp(name, map->key_name[k]))
			name = NULL;
	map->key_name[i] = name && !strpbrk(name, ".[") ? name : lang_format(c->l, "key%u", i);
}

/* Return the shape of a key that is one expression with the type of a tuple, or NULL. */
static const struct lang_shape *whole_key(const struct lang_node *n)
{
	return n->list && !n->list->next && n->list->type.base == LANG_TUPLE ? n->list->type.shape : NULL;
}

static void learn_keys(struct check *c, struct lang_map *map, const struct lang_node *n)
{
	const struct lang_shape *whole = whole_key(n);
	const struct lang_node *k = n->list;

	map->keys_known = true;
	map->nkeys = whole ? whole->n : n->value;
	for (uint32_t i = 0; i < map->nkeys && i < LANG_KEYS; i++) {
		map->key[i] = whole ? whole->type[i] : k->type;
		name_key(c, map, i, k);
		k = whole ? k : k->next;
	}
}

static void report_key_mismatch(struct check *c, const struct lang_node *n, const char *what)
{
	uint32_t line, column;

	lang_line_column(c->l, n->map->pos, &line, &column);
	lang_fail(c->l, n->pos, "use the same keys everywhere, or another map", "%s %s here than at %u:%u",
		  n->map->name, what, line, column);
}

/* Returns true if a part of the key has no type yet, because the first pass has not met its definition. */
static bool has_unknown_key(const struct lang_node *n)
{
	for (const struct lang_node *k = n->list; k; k = k->next)
		if (k->type.base == LANG_VOID || (k->type.base == LANG_TUPLE && !k->type.shape))
			return true;
	return false;
}

static bool check_fits_key(struct lang_type to, struct lang_type from)
{
	return (to.base == LANG_INT && from.base == LANG_BOOL) || check_same_kind(to, from);
}

/* Returns true for gid, bid or lid without .x, .y or .z. */
static bool is_whole(const struct lang_node *n, enum lang_whole whole)
{
	return n->kind == LANG_N_BUILTIN && n->builtin.source == LANG_SOURCE_TRIPLE && !n->value &&
	       n->builtin.size == whole;
}

/* Return 1 + N if the filter lets only one thread of each block pass (lid == N), else 0. */
static uint64_t get_selected_thread(const struct lang_node *filter)
{
	uint64_t found;

	if (!filter || filter->kind != LANG_N_BINARY)
		return 0;
	if (filter->op == LANG_T_LAND) {
		found = get_selected_thread(filter->a);
		return found ? found : get_selected_thread(filter->b);
	}
	if (filter->op != LANG_T_EQ)
		return 0;
	return is_whole(filter->a, LANG_WHOLE_THREAD) && filter->b->kind == LANG_N_NUMBER ? 1 + filter->b->value :
	       is_whole(filter->b, LANG_WHOLE_THREAD) && filter->a->kind == LANG_N_NUMBER ? 1 + filter->a->value :
											    0;
}

/*
 * Note who uses the keys of the map. A key belongs to one thread of the launch if it has the thread's number. It may have
 * the number of the block instead if the filter selects one thread of each block. All uses must name the thread in the
 * same way.
 */
static void note_owner(const struct check *c, const struct lang_node *n)
{
	uint64_t selected = get_selected_thread(c->block->filter), owner = 0, at = 1;
	struct lang_map *map = n->map;

	for (const struct lang_node *k = n->list; k && !owner; k = k->next, at++) {
		if (is_whole(k, LANG_WHOLE_GLOBAL) || (k->kind == LANG_N_BUILTIN && !strcmp(k->builtin.name, "tid")))
			owner = at;
		else if (selected && is_whole(k, LANG_WHOLE_BLOCK))
			owner = at + LANG_KEYS * selected;
	}
	if (!c->device)
		return;
	map->is_shared |= !owner || (map->owner && map->owner != owner);
	map->owner = owner;
}

/* If a map has both names of kernels and other strings as keys, the word kernel is a string there. */
static struct lang_type mix_names(struct lang_map *map, uint32_t i, struct lang_node *k, struct lang_type type)
{
	struct lang_type *key = &map->key[i];

	if (!map->keys_known || i >= map->nkeys)
		return type;
	if (key->base == LANG_KERNEL && type.base == LANG_NAME)
		*key = type;
	if (key->base == LANG_NAME && type.base == LANG_KERNEL && k->kind == LANG_N_BUILTIN)
		k->type = type = *key;
	return type;
}

void check_key(struct check *c, struct lang_node *n)
{
	const struct lang_shape *whole;
	struct lang_node *k = n->list;
	uint32_t i = 0, size = 0;

	for (; k; k = k->next, i++) {
		struct lang_type type = mix_names(n->map, i, k, check_value(c, k, true));

		size += lang_size(type);
		if (type.base == LANG_AGGREGATE || (type.base == LANG_VOID && !c->learning))
			check_fail(c, k, "keys are numbers, strings, kernel, ustack and addresses",
				   "this cannot be part of a key");
	}
	note_owner(c, n);
	whole = whole_key(n);
	if (size > LANG_KEY_SIZE)
		lang_fail(c->l, n->pos, "combine some elements", "the key has %u bytes; the maximum is %u", size,
			  LANG_KEY_SIZE);
	if (!n->map->keys_known && !(c->learning && has_unknown_key(n)))
		learn_keys(c, n->map, n);
	if ((whole ? whole->n : n->value) != n->map->nkeys && !(c->learning && has_unknown_key(n)))
		report_key_mismatch(c, n, "has another number of keys");
	for (k = n->list, i = 0; k && i < n->map->nkeys && !whole; k = k->next, i++) {
		if (!check_fits_key(n->map->key[i], k->type) && !c->learning)
			report_key_mismatch(c, n, "has keys of other types");
		n->map->key[i].is_signed |= k->type.is_signed && !k->literal;
		if (n->map->key[i].names != k->type.names)
			n->map->key[i].names = NULL;
	}
	for (i = 0; whole && i < n->map->nkeys && i < whole->n; i++)
		if (!check_fits_key(n->map->key[i], whole->type[i]) && !c->learning)
			report_key_mismatch(c, n, "has keys of other types");
}

static bool is_same_function(const struct lang_function *a, const struct lang_function *b)
{
	return (a ? a->id : LANG_FUNCTIONS) == (b ? b->id : LANG_FUNCTIONS);
}

static void report_content_mismatch(struct check *c, const struct lang_node *n, const char *there, const char *here)
{
	uint32_t line, column;

	lang_line_column(c->l, n->map->pos, &line, &column);
	lang_fail(c->l, n->pos, "use another map", "%s holds %s at %u:%u, and %s here", n->map->name, there, line,
		  column, here);
}

void check_holds(struct check *c, struct lang_node *n, const struct lang_function *holds, struct lang_type value)
{
	struct lang_map *map = n->map;

	if (!map->known) {
		map->known = true;
		map->holds = holds;
		map->value = value;
		map->pos = n->pos;
	}
	if (!is_same_function(map->holds, holds))
		report_content_mismatch(c, n, map->holds ? map->holds->shown : "a number",
					holds ? holds->shown : "a number");
	else if (!check_fits_key(map->value, value) && !c->learning)
		report_content_mismatch(c, n, check_base_name(map->value), check_base_name(value));
	map->value.is_signed |= value.is_signed;
	if (map->value.names != value.names)
		map->value.names = NULL;
}

struct lang_type check_map_read(struct check *c, struct lang_node *n)
{
	const struct lang_function *holds = n->map->holds;

	check_key(c, n);
	if (!n->map->known && !c->learning)
		lang_fail(c->l, n->pos, "set it in a probe: @x = ...", "%s is read but never set", n->map->name);
	if (!n->map->known)
		return c->guesses ? (struct lang_type){ LANG_INT, true } : (struct lang_type){ LANG_VOID };
	if (!holds)
		return n->map->value;
	if (holds->id == LANG_F_HIST || holds->id == LANG_F_LHIST || holds->id == LANG_F_STATS)
		lang_fail(c->l, n->pos, "print(@x) prints it", "%s does not have a single value", holds->shown);
	return (struct lang_type){ LANG_INT, n->map->value.is_signed };
}

/* -- map values -- */

/*
 * Check the bounds of lhist(). They must be below 2^31, because BTF cannot describe larger ones
 * (include/gpubpf/probe.h).
 */
static void check_lhist(struct check *c, struct lang_node *map, struct lang_node *call)
{
	struct lang_node *arg = call->list->next;
	uint64_t v[3] = { 0 }, slots;

	for (uint32_t i = 0; i < 3 && arg; i++, arg = arg->next) {
		if (arg->kind != LANG_N_NUMBER || arg->value >= 1ull << 31)
			check_fail(c, arg, "lhist(n, 0, 100, 10)",
				   "min, max and step of lhist() must be numbers from 0 to 2^31 - 1");
		v[i] = arg->value;
	}
	if (c->l->failed)
		return;
	if (!v[2] || v[1] <= v[0]) {
		check_fail(c, call, "lhist(n, 0, 100, 10)", "lhist() needs min below max, and a step above 0");
		return;
	}
	slots = (v[1] - v[0] + v[2] - 1) / v[2] + 2;
	if (slots > LANG_SLOTS)
		lang_fail(c->l, call->pos, "use larger steps", "the histogram has %llu slots; the maximum is %u",
			  (unsigned long long)slots, LANG_SLOTS);
	if (map->map->step && (map->map->min != v[0] || map->map->max != v[1] || map->map->step != v[2]))
		check_fail(c, call, "use another map",
			   "an earlier lhist() call on this map has a different minimum, maximum or step");
	map->map->min = v[0];
	map->map->max = v[1];
	map->map->step = v[2];
}

/* Check hist(n, bits), which has 2^bits slots for each power of two. The last slot also counts all larger values. */
static void check_hist(struct check *c, struct lang_map *map, struct lang_node *call)
{
	struct lang_node *arg = call->list->next;
	uint32_t bits = arg ? arg->value : 0;

	if (arg && (arg->kind != LANG_N_NUMBER || arg->value > LANG_HIST_BITS))
		lang_fail(c->l, arg->pos, "hist(n, 3) has eight slots per power of two",
			  "the bits of hist() must be a number from 0 to %u", LANG_HIST_BITS);
	else if (map->fine && map->fine != bits + 1)
		check_fail(c, call, "use another map", "an earlier hist() call on this map has a different number of bits");
	else
		map->fine = bits + 1;
}

void check_aggregate(struct check *c, struct lang_node *n)
{
	struct lang_node *call = n->b;
	struct lang_type value = { LANG_INT, false };

	if (n->op != LANG_T_NONE)
		check_fail(c, n, "@x = count()", "aggregations can only be assigned with =");
	check_key(c, n->a);
	if (call->list)
		value.is_signed = check_number(c, call->list).is_signed && !call->list->literal;
	call->type = (struct lang_type){ LANG_AGGREGATE, value.is_signed };
	check_holds(c, n->a, call->function, value);
	if (call->function->id == LANG_F_LHIST)
		check_lhist(c, n->a, call);
	if (call->function->id == LANG_F_HIST)
		check_hist(c, n->a->map, call);
}

/* -- sizes -- */

bool lang_map_is_array(const struct lang_map *map)
{
	bool extreme = map->holds && (map->holds->id == LANG_F_MIN || map->holds->id == LANG_F_MAX);

	return !map->nkeys && !extreme && (map->holds || map->value.base == LANG_INT);
}

void check_map_size(struct lang *l, struct lang_map *map)
{
	static const uint32_t sizes[LANG_FUNCTIONS] = {
		[LANG_F_COUNT] = 8,  [LANG_F_SUM] = 8,  [LANG_F_AVG] = 16,
		[LANG_F_STATS] = 16, [LANG_F_MIN] = 16, [LANG_F_MAX] = 16,
	};
	uint32_t bits = map->fine - 1, fine = map->fine > 1 ? (65 - bits) << bits : 64;

	map->value_size = map->holds ? sizes[map->holds->id] : lang_size(map->value);
	if (map->holds && map->holds->id == LANG_F_HIST)
		map->value_size = 8 * (fine < LANG_SLOTS ? fine : LANG_SLOTS);
	if (map->holds && map->holds->id == LANG_F_LHIST)
		map->value_size = 8 * ((map->max - map->min + map->step - 1) / map->step + 2);
	map->object_name = l->linux_probes ? lang_format(l, "AT_%s", map->name + 1) : map->name;
	if (!map->declared && l->settings.max_map_keys)
		map->room = (uint32_t)l->settings.max_map_keys;
	map->key_size = 4;
	for (uint32_t i = 0; i < map->nkeys; i++)
		map->key_size = (i ? map->key_size : 0) + lang_size(map->key[i]);
	l->zeros |= map->nkeys;
	if (map->nkeys && map->value_size > l->zeros_size)
		l->zeros_size = map->value_size;
}
