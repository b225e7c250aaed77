/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>

uint64_t table_hash(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct table_entry *find_entry(const struct table *table, uint64_t a, uint64_t b)
{
	uint32_t i = (uint32_t)table_hash(a, b) & (table->slots - 1);

	while (table->entry[i].value && (table->entry[i].a != a || table->entry[i].b != b))
		i = (i + 1) & (table->slots - 1);
	return &table->entry[i];
}

static bool grow(struct table *table)
{
	struct table bigger = { .slots = table->slots ? 2 * table->slots : 256 };

	bigger.entry = calloc(bigger.slots, sizeof(*bigger.entry));
	if (!bigger.entry)
		return false;
	for (uint32_t i = 0; i < table->slots; i++)
		if (table->entry[i].value)
			*find_entry(&bigger, table->entry[i].a, table->entry[i].b) = table->entry[i];
	bigger.n = table->n;
	free(table->entry);
	*table = bigger;
	return true;
}

bool table_get(const struct table *table, uint64_t a, uint64_t b, uint32_t *value)
{
	const struct table_entry *e = table->slots ? find_entry(table, a, b) : NULL;

	if (!e || !e->value)
		return false;
	*value = e->value - 1;
	return true;
}

bool table_set(struct table *table, uint64_t a, uint64_t b, uint32_t value)
{
	struct table_entry *e;

	if (2 * table->n >= table->slots && !grow(table))
		return false;
	e = find_entry(table, a, b);
	table->n += !e->value;
	*e = (struct table_entry){ a, b, value + 1 };
	return true;
}

void table_finish(struct table *table)
{
	free(table->entry);
	*table = (struct table){ 0 };
}
