/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time series: turns @t[key] = tseries(n, interval, count, "sum") into @t[key, nsecs / interval] = sum(n). The last
 * element of the key is the number of the interval. Without a function, the value of an interval is the last n.
 */
#include <string.h>

#include "check.h"

#define MOST_INTERVALS 4096

/* Return the function that combines the values of an interval, or NULL if the last value remains. */
static const struct lang_function *find_combination(struct check *c, const struct lang_node *name)
{
	static const char *const names[] = { "avg", "max", "min", "sum" };

	for (size_t i = 0; name && name->kind == LANG_N_STRING && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name->text, names[i]))
			return lang_function_find(names[i]);
	if (name)
		check_fail(c, name, "use \"avg\", \"max\", \"min\" or \"sum\", or omit it for the last value",
			   "tseries() does not know this function");
	return NULL;
}

static struct lang_node *make_node(struct check *c, enum lang_kind kind, uint32_t pos)
{
	struct lang_node *n = lang_alloc(c->l, sizeof(*n));

	if (n)
		*n = (struct lang_node){ .kind = kind, .pos = pos };
	return n;
}

/* Return the expression nsecs / interval. */
static struct lang_node *make_interval_number(struct check *c, uint64_t interval, uint32_t pos)
{
	struct lang_node *n = make_node(c, LANG_N_BINARY, pos);

	if (!n)
		return NULL;
	n->op = LANG_T_DIV;
	n->a = make_node(c, LANG_N_BUILTIN, pos);
	n->b = make_node(c, LANG_N_NUMBER, pos);
	if (!n->a || !n->b)
		return NULL;
	if (!lang_is_linux(c->block) || !lang_linux_find(c->block->probes, "nsecs", &n->a->builtin))
		lang_builtin_find("nsecs", &n->a->builtin);
	n->a->text = "nsecs";
	n->a->type.base = LANG_INT;
	n->b->type = (struct lang_type){ LANG_INT, true };
	n->b->literal = true;
	n->b->value = interval;
	return n;
}

/* Check the interval and the number of intervals. All series of a map must have the same. */
static bool check_intervals(struct check *c, struct lang_map *map, const struct lang_node *interval)
{
	const struct lang_node *count = interval->next;

	if (interval->kind != LANG_N_NUMBER || !interval->value || interval->value > INT64_MAX)
		check_fail(c, interval, "tseries(n, 100ms, 20)", "the interval of tseries() must be a time, such as 100ms");
	else if (count->kind != LANG_N_NUMBER || !count->value || count->value > MOST_INTERVALS)
		lang_fail(c->l, count->pos, "tseries(n, 100ms, 20)",
			  "the number of intervals of tseries() must be a number from 1 to %u", MOST_INTERVALS);
	else if (map->series_ns && (map->series_ns != interval->value || map->series_count != count->value))
		check_fail(c, interval, "use another map", "an earlier tseries() call on this map has other intervals");
	if (c->l->failed)
		return false;
	map->series_ns = interval->value;
	map->series_count = (uint32_t)count->value;
	map->lru = true;
	return true;
}

void check_series(struct check *c, struct lang_node *n)
{
	struct lang_node *value = n->b->list, *interval = value->next, **end = &n->a->list;
	const struct lang_function *combination = find_combination(c, interval->next->next);

	if (n->op != LANG_T_NONE)
		check_fail(c, n, "@x = tseries(n, 100ms, 20)", "time series can only be assigned with =");
	if (n->a->value == LANG_KEYS)
		check_fail(c, n->a, "combine some elements", "the key has no room for the time of a series");
	if (c->l->failed || !check_intervals(c, n->a->map, interval))
		return;
	while (*end)
		end = &(*end)->next;
	*end = make_interval_number(c, interval->value, n->pos);
	n->a->value++;
	value->next = NULL;
	n->b->function = combination;
	if (!combination)
		n->b = value;
}
