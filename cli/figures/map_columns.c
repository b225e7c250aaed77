/* SPDX-License-Identifier: Apache-2.0 */
/* Derives table columns from an entry of `map dump --json`. */
#include "map_columns.h"

#include <ctype.h>
#include <string.h>

#include <json-c/json.h>

#include "figures.h"

/* The flags of cli/commands/map_watch.c: json-c has one buffer per object, so other flags would change the text of a row's key. */
#define FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* Returns true for a distribution, that is struct gpubpf_amounts or gpubpf_times of <gpubpf/probe.h>. */
static bool is_distribution(struct json_object *o)
{
	return figures_member(o, "count") && figures_member(o, "sum") &&
	       figures_member(figures_member(o, "quantiles"), "percentiles");
}

static bool is_number(struct json_object *o)
{
	return json_object_is_type(o, json_type_int) || json_object_is_type(o, json_type_double);
}

/* -- the number of an entry -- */

/* Returns the first distribution in the value, or NULL. */
static struct json_object *find_distribution(struct json_object *o)
{
	struct json_object *found = NULL;

	if (is_distribution(o) || !o || !json_object_is_type(o, json_type_object))
		return o && is_distribution(o) ? o : NULL;
	for (struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	     !found && !json_object_iter_equal(&i, &end); json_object_iter_next(&i))
		found = find_distribution(json_object_iter_peek_value(&i));
	return found;
}

/* Returns the first number in the value, also inside of structs and arrays, or NULL. */
static struct json_object *find_number(struct json_object *o)
{
	size_t n = o && json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
	struct json_object *found = o && is_number(o) ? o : NULL;

	for (size_t i = 0; !found && i < n; i++)
		found = find_number(json_object_array_get_idx(o, i));
	if (!o || !json_object_is_type(o, json_type_object))
		return found;
	for (struct json_object_iterator i = json_object_iter_begin(o), end = json_object_iter_end(o);
	     !found && !json_object_iter_equal(&i, &end); json_object_iter_next(&i))
		found = find_number(json_object_iter_peek_value(&i));
	return found;
}

static double get_number(struct json_object *entry, const char *member)
{
	struct json_object *value = figures_member(entry, "value"), *distribution = find_distribution(value), *number;

	number = distribution ? figures_member(distribution, member) : find_number(value);
	return number ? json_object_get_double(number) : 0;
}

double map_order_number(struct json_object *entry)
{
	return get_number(entry, "sum");
}

double map_rate_number(struct json_object *entry)
{
	return get_number(entry, "count");
}

/* -- columns -- */

static bool add_column(struct map_columns *c, uint32_t room, const char *heading, const char *path, enum map_cell cell)
{
	struct map_column *column = &c->column[c->n];
	size_t i;

	if (c->n + room >= GPUBPF_TABLE_COLUMNS || strlen(path) >= sizeof(column->path))
		return false;
	for (i = 0; heading[i] && i + 1 < sizeof(column->heading); i++)
		column->heading[i] = heading[i] == '_' ? ' ' : (char)toupper((unsigned char)heading[i]);
	column->heading[i] = 0;
	strcpy(column->path, path);
	column->cell = cell;
	c->n++;
	return true;
}

static bool add_distribution(struct map_columns *c, uint32_t room, const char *heading, const char *path)
{
	static const struct {
		const char *heading;
		enum map_cell cell;
	} more[] = { { "SUM", MAP_CELL_SUM }, { "MEAN", MAP_CELL_MEAN }, { "P50", MAP_CELL_P50 }, { "P99", MAP_CELL_P99 } };
	bool added = add_column(c, room, heading, path, MAP_CELL_COUNT);

	for (size_t i = 0; added && i < sizeof(more) / sizeof(more[0]); i++)
		added = add_column(c, room, more[i].heading, path, more[i].cell);
	return added;
}

/* Add the columns of a member. A struct has a column for each of its members, with the names joined by a blank. */
static bool add_member(struct map_columns *c, uint32_t room, const char *heading, const char *path, struct json_object *o)
{
	char below[160], name[160];
	bool added = true;

	if (is_distribution(o))
		return add_distribution(c, room, heading, path);
	if (!json_object_is_type(o, json_type_object))
		return add_column(c, room, heading, path, MAP_CELL_VALUE);
	json_object_object_foreach(o, member, v)
	{
		snprintf(below, sizeof(below), "%s/%s", path, member);
		snprintf(name, sizeof(name), "%s%s%s", heading, heading[0] ? "_" : "", member);
		added = added && add_member(c, room, name, below, v);
	}
	return added;
}

bool map_columns_init(struct map_columns *c, struct json_object *entry, bool is_ns, uint32_t room)
{
	struct json_object *key = figures_member(entry, "key"), *value = figures_member(entry, "value");
	const char *name = is_distribution(value) ? "count" : "";

	*c = (struct map_columns){ .is_ns = is_ns };
	if (!json_object_is_type(value, json_type_object) || figures_member(entry, "values"))
		return false;
	if (key && !add_member(c, room, json_object_is_type(key, json_type_object) ? "" : "key", "key", key))
		return false;
	return add_member(c, room, name, "value", value) && c->n;
}

void map_columns_headings(const struct map_columns *c, struct gpubpf_table *t)
{
	for (uint32_t i = 0; i < c->n; i++)
		gpubpf_table_heading(t, c->column[i].heading);
}

static struct json_object *follow_path(struct json_object *o, const char *path)
{
	char name[128];

	while (o && *path) {
		size_t n = strcspn(path, "/");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		o = figures_member(o, name);
		path += n + (path[n] == '/');
	}
	return o;
}

static void put_amount(const struct map_columns *c, uint64_t v, struct gpubpf_table *t)
{
	char text[24];

	if (c->is_ns)
		gpubpf_table_text(t, gpubpf_duration(v, text));
	else
		gpubpf_table_number(t, v, false);
}

static void put_distribution(const struct map_columns *c, enum map_cell cell, struct json_object *o, struct gpubpf_table *t)
{
	uint64_t count = json_object_get_uint64(figures_member(o, "count")),
		 sum = json_object_get_uint64(figures_member(o, "sum"));
	struct json_object *percentiles = figures_member(figures_member(o, "quantiles"), "percentiles");

	switch (cell) {
	case MAP_CELL_SUM:
		put_amount(c, sum, t);
		break;
	case MAP_CELL_MEAN:
		put_amount(c, count ? sum / count : 0, t);
		break;
	case MAP_CELL_P50:
		put_amount(c, json_object_get_uint64(figures_member(percentiles, "p50")), t);
		break;
	case MAP_CELL_P99:
		put_amount(c, json_object_get_uint64(figures_member(percentiles, "p99")), t);
		break;
	default:
		gpubpf_table_number(t, count, false);
	}
}

void map_columns_cells(const struct map_columns *c, struct json_object *entry, struct gpubpf_table *t)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct json_object *o = follow_path(entry, c->column[i].path);

		if (c->column[i].cell != MAP_CELL_VALUE)
			put_distribution(c, c->column[i].cell, o, t);
		else if (json_object_is_type(o, json_type_string))
			gpubpf_table_text(t, json_object_get_string(o));
		else
			gpubpf_table_text(t, o ? json_object_to_json_string_ext(o, FLAGS) : "-");
	}
}
