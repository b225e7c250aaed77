/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates statements that convert texts to numbers and numbers to texts, and calls of helpers that need little but are
 * rare in programs.
 */
#include "state.h"

#define FORMAT_ARGUMENTS 24 /* size in bytes of the three numbers that the text in GEN_TEXT formats */

/* Store digits, signs and spaces into the stack's numbers, so that some texts begin with a number. */
static void store_digits(struct gen *g)
{
	static const char digits[] = "0123456789abcdefxX-+ g";

	for (int word = 0; word < 4; word++) {
		uint32_t text = 0;

		for (int i = 0; i < 4; i++)
			text = text << 8 | (uint8_t)digits[random_pick(g, sizeof(digits))];
		random_use(g, 4 * word, 4);
		random_emit(g, OP_ST, 10, 0, 4 * word - NUMBERS, (int32_t)text);
	}
}

/* strtol or strtoul(text, size, base, address of the number) */
void random_convert(struct gen *g)
{
	static const int32_t bases[] = { 0, 8, 10, 16, 7 };

	if (random_pick(g, 4)) {
		store_digits(g);
		random_stack_address(g, 1, NUMBERS);
		random_emit(g, 0xb7, 2, 0, 0, 1 + (int32_t)random_pick(g, 32));
	} else {
		random_some_bytes(g, 1, GEN_READ);
	}
	random_emit(g, 0xb7, 3, 0, 0, RANDOM_OF(g, bases));
	random_pick_memory(g, 4, 8, GEN_WRITTEN);
	random_call(g, 105 + (int32_t)random_pick(g, 2));
	random_set_registers(g);
}

/* snprintf(room, size, format, numbers, their size); the room and the numbers do not overlap */
static void format_text(struct gen *g)
{
	random_imm64(g, 1, MAP_VALUE, GEN_DATA, 0);
	random_emit(g, 0xb7, 2, 0, 0, (int32_t)random_pick(g, GEN_DATA_VALUE + 1));
	random_imm64(g, 3, MAP_VALUE, GEN_TEXT, 8 * (int32_t)random_pick(g, 2));
	random_stack_address(g, 4, FORMAT_ARGUMENTS);
	random_emit(g, 0xb7, 5, 0, 0, FORMAT_ARGUMENTS);
	random_call(g, 165);
	random_set_registers(g);
}

/* trace_vprintk(format, size, numbers, their size) */
static void print_numbers(struct gen *g)
{
	if (g->records-- <= 0)
		return;
	random_imm64(g, 1, MAP_VALUE, GEN_TEXT, 0);
	random_emit(g, 0xb7, 2, 0, 0, GEN_VALUE);
	random_pick_memory(g, 3, FORMAT_ARGUMENTS, GEN_READ);
	random_emit(g, 0xb7, 4, 0, 0, FORMAT_ARGUMENTS);
	random_call(g, 177);
	random_set_registers(g);
}

void random_format(struct gen *g)
{
	random_pick(g, 2) ? format_text(g) : print_numbers(g);
}

static void read_cookie(struct gen *g)
{
	random_emit(g, 0xbf, 1, 6, 0, 0);
	random_call(g, 174);
	random_set_registers(g);
}

static void arm(struct gen *g)
{
	random_emit(g, 0xbf, 2, random_number_reg(g), 0, 0);
	random_imm64(g, 1, MAP_ITSELF, GEN_ARMS, 0);
	random_call(g, 538);
	random_set_registers(g);
}

void random_rare(struct gen *g)
{
	random_pick(g, 2) ? read_cookie(g) : arm(g);
}
