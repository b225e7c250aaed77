/* SPDX-License-Identifier: Apache-2.0 */
/* Generates statements that look up, update, delete and push elements of maps. */
#include "state.h"

#define KEY2 (KEY + 4) /* stack offset of the key in an inner map */

enum { LOOKUP = 1, UPDATE = 2, DELETE = 3, TAIL_CALL = 12, PUSH = 87, POP = 88, PEEK = 89, EACH = 164 };

/* Maps with keys. Programs for the Linux kernel use only the first KERNELS maps. */
static const struct keyed {
	uint32_t map;
	uint32_t mask; /* mask of the keys that look-ups use; some of these keys do not exist */
	int bytes;     /* size of a value in bytes */
	bool constant; /* programs must not replace whole values */
	bool array;    /* elements cannot be deleted */
} keyed[] = {
	{ GEN_ARRAY, GEN_KEYS - 1, GEN_VALUE, .array = true },
	{ GEN_HASH, GEN_KEYS - 1, GEN_VALUE },
	{ GEN_PERCPU, GEN_KEYS - 1, GEN_VALUE, .constant = true, .array = true },
	{ GEN_PERCPU_HASH, GEN_KEYS - 1, GEN_VALUE },
	{ GEN_LONG_HASH, GEN_KEYS - 1, GEN_LONG_VALUE },
	{ GEN_ODD_ARRAY, 3, GEN_ODD_VALUE, .array = true },
	{ GEN_LARGE_HASH, GEN_KEYS - 1, GEN_LARGE_VALUE },
	{ GEN_THREAD, GEN_KEYS - 1, GEN_VALUE, .constant = true, .array = true },
	{ GEN_LRU, GEN_KEYS - 1, GEN_VALUE },
	{ GEN_LRU_PERCPU, GEN_KEYS - 1, GEN_VALUE },
	{ GEN_PREFIXES, 0, GEN_VALUE },
	{ GEN_WIDE_HASH, 3, 8 },
	{ GEN_GPU_ARRAY, 3, 8, .array = true },
};
enum { KERNELS = 7, ALL = sizeof(keyed) / sizeof(keyed[0]), HASH = 1 };

/* Pick a map at random. A program uses the prefix map only PREFIXES times; after that the hash table replaces it. */
static const struct keyed *pick_map(struct gen *g)
{
	const struct keyed *k = &keyed[random_pick(g, g->kind == GEN_KERNEL ? KERNELS : ALL)];

	return k->map != GEN_PREFIXES || g->prefixes-- > 0 ? k : &keyed[HASH];
}

/* Set or delete a key. */
static void change_key(struct gen *g, const struct keyed *k)
{
	bool deletes = !k->array && random_pick(g, 3) == 0;

	random_key(g, k->map, k->mask);
	random_pick_memory(g, 3, k->bytes, GEN_READ);
	random_emit(g, 0xb7, 4, 0, 0, (int32_t)random_pick(g, 4));
	random_call(g, deletes ? DELETE : UPDATE);
	random_set_registers(g);
}

void random_update(struct gen *g)
{
	const struct keyed *k;

	do
		k = pick_map(g);
	while (k->constant);
	change_key(g, k);
}

/* for_each_map_elem(map, callback, address of the stack's numbers, flags) */
void random_each(struct gen *g)
{
	const struct keyed *k;

	if (g->nrepeats + g->neaches == REPEATS)
		return;
	do
		k = &keyed[random_pick(g, ALL)];
	while (k->map == GEN_THREAD || k->map == GEN_PREFIXES);
	random_use(g, g->caller_numbers[0], 8);
	random_use(g, g->caller_numbers[1], 8);
	random_imm64(g, 1, MAP_ITSELF, (int32_t)k->map, 0);
	g->eaches[g->neaches++] = g->n;
	random_imm64(g, 2, FUNCTION, 0, 0);
	random_stack_address(g, 3, 0);
	random_emit(g, 0xb7, 4, 0, 0, !random_pick(g, 16)); /* flags must be 0; with other flags the helper fails */
	random_call(g, EACH);
	random_set_registers(g);
}

/* Push, pop or peek a value. A Bloom filter does not support pop. */
void random_queue(struct gen *g)
{
	static const uint32_t maps[] = { GEN_QUEUE, GEN_STACK, GEN_BLOOM };
	/* the Linux kernel's Bloom filter has another hash function, so it reports other false positives */
	uint32_t map = maps[random_pick(g, g->kind == GEN_KERNEL ? 2 : 3)];
	int32_t call = PUSH + (int32_t)random_pick(g, 3);

	if (map == GEN_BLOOM && call == POP)
		call = PEEK;
	random_imm64(g, 1, MAP_ITSELF, (int32_t)map, 0);
	random_pick_memory(g, 2, NUMBERS, map == GEN_BLOOM || call == PUSH ? GEN_READ : GEN_WRITTEN);
	random_emit(g, 0xb7, 3, 0, 0, (int32_t)random_pick(g, 4));
	random_call(g, call);
	random_set_registers(g);
}

/*
 * Call a helper, which may get the address in r7 as an argument. After the call the program does not read the memory at
 * r7, because the helper may have reused that memory for another element.
 */
static void pass_to_helper(struct gen *g)
{
	static void (*const all[])(struct gen *g) = { random_update, random_update, random_queue,  random_output,
						      random_text,   random_helper, random_unknown };

	all[random_pick(g, g->kind == GEN_KERNEL ? 3 : g->in_callee ? 2 : 7)](g);
}

/*
 * If the look-up succeeded, let r7 point to the value of `bytes` bytes and use the value. Afterwards r7 holds a number
 * again.
 */
static void use_value(struct gen *g, int bytes)
{
	uint32_t jump = g->n;

	random_emit(g, 0x15, 0, 0, 0, 0);
	random_emit(g, 0xbf, 7, 0, 0, 0);
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
	g->r7_bytes = bytes;
	for (uint32_t i = random_pick(g, 4); i; i--)
		random_touch(g, 7, 0, bytes);
	if (random_pick(g, 2))
		pass_to_helper(g);
	g->r7_bytes = 0;
	random_end_skip(g, jump);
	random_emit(g, 0xb7, 7, 0, 0, random_interesting(g));
	random_set_all_registers(g);
}

/* Look up a key and use its value. */
void random_lookup(struct gen *g)
{
	const struct keyed *k = pick_map(g);

	random_key(g, k->map, k->map == GEN_ARRAY && random_pick(g, 2) ? GEN_ARRAY_ENTRIES - 1 : k->mask);
	random_call(g, LOOKUP);
	random_set_registers(g);
	use_value(g, k->bytes);
}

/* Look up an inner map in a map of maps, then a key in the inner map. Use, update or delete the key's value. */
void random_nested(struct gen *g)
{
	bool hash = random_pick(g, 2);
	uint32_t what = random_pick(g, hash ? 4 : 3), jump;

	random_key_word(g, KEY2 - KEY, GEN_KEYS / 2 - 1);
	random_key(g, hash ? GEN_OUTER_ARRAY : GEN_OUTER_HASH, GEN_SLOTS - 1);
	random_call(g, LOOKUP);
	jump = g->n;
	random_emit(g, 0x15, 0, 0, 0, 0);
	random_emit(g, 0xbf, 1, 0, 0, 0);
	random_emit(g, 0xbf, 2, 10, 0, 0);
	random_emit(g, 0x07, 2, 0, 0, KEY2);
	if (what == UPDATE) {
		random_pick_memory(g, 3, NUMBERS, GEN_READ);
		random_emit(g, 0xb7, 4, 0, 0, (int32_t)random_pick(g, 4));
	}
	random_call(g, what < UPDATE ? LOOKUP : (int32_t)what);
	random_set_registers(g);
	if (what < UPDATE)
		use_value(g, GEN_VALUE);
	random_end_skip(g, jump);
	random_set_all_registers(g);
}

/* Tail-call another part of the program. The call fails if the slot is empty or the limit of tail calls is reached. */
void random_tail_call(struct gen *g)
{
	if (!g->has_tail_calls)
		return;
	random_emit(g, 0xbf, 3, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 3, 0, 0, 2 * GEN_SLOTS - 1);
	random_imm64(g, 2, MAP_ITSELF, GEN_PROGS, 0);
	random_emit(g, 0xbf, 1, 6, 0, 0);
	random_call(g, TAIL_CALL);
	random_set_all_registers(g);
}

void random_count(struct gen *g)
{
	static const struct {
		uint32_t map, mask;
	} counters[] = { { GEN_COUNTER, 0 }, { GEN_WIDE_HASH, 3 }, { GEN_GPU_ARRAY, 3 } };
	uint32_t jump, which = g->kind == GEN_KERNEL ? 0 : random_pick(g, 3);

	random_key(g, counters[which].map, counters[which].mask);
	random_call(g, LOOKUP);
	random_set_registers(g);
	jump = g->n;
	random_emit(g, 0x15, 0, 0, 0, 0);
	random_emit(g, OP_ATOMIC | 0x18, 0, 1 + (int)random_pick(g, 4), 0, 0);
	random_end_skip(g, jump);
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
}
