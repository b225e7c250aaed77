/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: a hash table from pairs of numbers to a number. It is empty if it is zeroed. */
#ifndef GPUBPF_CLI_TIMELINE_TABLE_H
#define GPUBPF_CLI_TIMELINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct table {
	struct table_entry {
		uint64_t a, b;
		uint32_t value; /* 1 + the number; 0: free */
	} *entry;
	uint32_t n, slots;
};

uint64_t table_hash(uint64_t a, uint64_t b);
bool table_get(const struct table *table, uint64_t a, uint64_t b, uint32_t *value);
bool table_set(struct table *table, uint64_t a, uint64_t b, uint32_t value); /* false: out of memory */
void table_finish(struct table *table);

#endif
