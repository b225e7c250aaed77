/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the memory that random programs pass to helpers, such as keys and values. */
#include "state.h"

void random_stack_address(struct gen *g, int dst, int bytes)
{
	random_use(g, 0, bytes);
	random_emit(g, 0xbf, dst, 10, 0, 0);
	random_emit(g, 0x07, dst, 0, 0, -NUMBERS);
}

/* Set dst to the address of `bytes` bytes inside the map value to which r7 points. */
static void address_in_value(struct gen *g, int dst, int bytes)
{
	random_emit(g, 0xbf, dst, 7, 0, 0);
	random_emit(g, 0x07, dst, 0, 0, 8 * (int32_t)random_pick(g, (uint32_t)(g->r7_bytes - bytes) / 8 + 1));
}

static void address_in_data(struct gen *g, int dst, uint32_t map, int bytes)
{
	int size = map == GEN_DATA ? GEN_DATA_VALUE : GEN_VALUE;

	random_imm64(g, dst, MAP_VALUE, (int32_t)map, 8 * (int32_t)random_pick(g, (size - bytes) / 8 + 1));
}

void random_pick_memory(struct gen *g, int dst, int bytes, enum gen_access how)
{
	uint32_t where = random_pick(g, 8);

	if (g->r7_bytes >= bytes && where < 5)
		address_in_value(g, dst, bytes);
	else if (where == 5 || bytes > NUMBERS) /* the stack holds only NUMBERS bytes of numbers */
		address_in_data(g, dst, GEN_DATA, bytes);
	else if (where == 6 && how == GEN_READ && g->kind == GEN_ALL)
		address_in_data(g, dst, GEN_TEXT, bytes);
	else
		random_stack_address(g, dst, bytes);
}

void random_some_bytes(struct gen *g, int dst, enum gen_access how)
{
	int32_t bytes = 1 + (int32_t)random_pick(g, NUMBERS);

	random_pick_memory(g, dst, bytes, how);
	random_emit(g, 0xb7, dst + 1, 0, 0, bytes);
}

/* Set r5 to a random number masked with `mask`. */
static void key_bits(struct gen *g, uint32_t mask)
{
	random_emit(g, 0xbf, 5, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 5, 0, 0, (int32_t)mask);
}

void random_key_word(struct gen *g, int off, uint32_t mask)
{
	g->has_keys = true;
	key_bits(g, mask);
	random_emit(g, OP_STX, 10, 5, KEY + off, 0);
}

/*
 * Choose masks for the 32-bit words of a key, and return the number of words. A prefix map's key has a prefix length of
 * 0 to 3 or 32 to 35 bits, and lengths above 32 are invalid; only the first three bits of the prefix vary. Long keys
 * may differ in any word.
 */
static uint32_t key_masks(uint32_t map, uint32_t mask, uint32_t words[3])
{
	words[0] = map == GEN_PREFIXES ? 35 : map == GEN_LONG_HASH ? 0x10001 : mask;
	words[1] = map == GEN_PREFIXES ? 0xe0 : 0;
	words[2] = 3;
	return map == GEN_LONG_HASH ? 3 : map == GEN_PREFIXES || map == GEN_WIDE_HASH ? 2 : 1;
}

void random_key(struct gen *g, uint32_t map, uint32_t mask)
{
	uint32_t words[3], n = key_masks(map, mask, words), where = random_pick(g, 6);
	bool of_value = g->r7_bytes >= (int)(4 * n) && where < 3, of_data = !of_value && where == 3;

	for (uint32_t i = 0; i < n; i++)
		if (of_value) {
			key_bits(g, words[i]);
			random_emit(g, OP_STX, 7, 5, (int)(4 * i), 0);
		} else if (!of_data) {
			random_key_word(g, (int)(4 * i), words[i]);
		} else {
			key_bits(g, words[i]);
			random_imm64(g, 2, MAP_VALUE, GEN_DATA, 0);
			random_emit(g, OP_STX, 2, 5, (int)(4 * i), 0);
			random_emit(g, 0xb7, 2, 0, 0, random_interesting(g));
		}
	random_imm64(g, 1, MAP_ITSELF, (int32_t)map, 0);
	if (of_data)
		random_imm64(g, 2, MAP_VALUE, GEN_DATA, 0);
	else
		random_emit(g, 0xbf, 2, of_value ? 7 : 10, 0, 0);
	if (!of_value && !of_data)
		random_emit(g, 0x07, 2, 0, 0, KEY);
}
