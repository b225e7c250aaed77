/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates statements that call helpers, except the helpers for map elements. The generator omits the clocks (5, 502,
 * 524), whose results differ between devices. It also omits helpers that need an application's kernel: parameters by
 * name (530) and the end of a thread (507). Only direct runs have a data buffer (531, 532).
 */
#include "gpubpf/allocation.h"
#include "state.h"

void random_output(struct gen *g)
{
	if (g->records-- <= 0)
		return;
	if (random_pick(g, 2)) { /* ringbuf_output(ring, memory, n, 0) */
		random_imm64(g, 1, MAP_ITSELF, GEN_RING, 0);
		random_some_bytes(g, 2, GEN_READ);
		random_emit(g, 0xb7, 4, 0, 0, 0);
		random_call(g, 130);
	} else { /* perf_event_output(ctx, perf, -1, memory, n) */
		random_emit(g, 0xbf, 1, 6, 0, 0);
		random_imm64(g, 2, MAP_ITSELF, random_pick(g, 2) ? GEN_PERF : GEN_GPURING, 0);
		random_imm64(g, 3, 0, -1, 0);
		random_some_bytes(g, 4, GEN_READ);
		random_call(g, 25);
	}
	random_set_registers(g);
}

/* Pass a reserved record as the value of a map update, before the record is submitted or discarded. */
static void update_by_record(struct gen *g)
{
	g->r7_bytes = NUMBERS;
	random_update(g);
	g->r7_bytes = 0;
}

void random_record(struct gen *g)
{
	uint32_t jump;

	if (g->records-- <= 0)
		return;
	random_imm64(g, 1, MAP_ITSELF, random_pick(g, 2) ? GEN_RING : GEN_SMALL, 0);
	random_emit(g, 0xb7, 2, 0, 0, NUMBERS);
	random_emit(g, 0xb7, 3, 0, 0, 0);
	random_call(g, 131);
	random_set_registers(g);
	jump = g->n;
	random_emit(g, 0x15, 0, 0, 0, 0);
	random_emit(g, 0xbf, 7, 0, 0, 0);
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
	for (int off = 0; off < NUMBERS; off += 8)
		random_emit(g, OP_STX | 0x18, 7, 1 + (int)random_pick(g, 4), off, 0);
	if (random_pick(g, 2))
		update_by_record(g);
	random_emit(g, 0xbf, 1, 7, 0, 0);
	random_emit(g, 0xb7, 2, 0, 0, 0);
	random_call(g, 132 + (int32_t)random_pick(g, 2));
	random_set_registers(g);
	random_end_skip(g, jump);
	random_emit(g, 0xb7, 7, 0, 0, random_interesting(g));
	random_emit(g, 0xb7, 0, 0, 0, random_interesting(g));
}

/* bpf_loop(number of iterations, callback, address of the stack's numbers, flags) */
void random_repeat(struct gen *g)
{
	if (g->nrepeats + g->neaches == REPEATS)
		return;
	random_use(g, g->caller_numbers[0], 8);
	random_use(g, g->caller_numbers[1], 8);
	random_emit(g, 0xbf, 1, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 1, 0, 0, (int32_t)random_pick(g, 8));
	g->repeats[g->nrepeats++] = g->n;
	random_imm64(g, 2, FUNCTION, 0, 0);
	random_stack_address(g, 3, 0);
	random_emit(g, 0xb7, 4, 0, 0, !random_pick(g, 16)); /* flags must be 0; with other flags the helper fails */
	random_call(g, 181);
	random_set_registers(g);
}

/*
 * Query a ring's size (1) or the reader's position (2), or make the unknown query 9, which fails. Other queries are
 * omitted, because the amount of data and the writer's position depend on the device.
 */
void random_query(struct gen *g)
{
	static const int32_t what[] = { 1, 2, 9 };

	random_imm64(g, 1, MAP_ITSELF, GEN_RING, 0);
	random_emit(g, 0xb7, 2, 0, 0, RANDOM_OF(g, what));
	random_call(g, 134);
	random_set_registers(g);
}

static void coordinates(struct gen *g)
{
	static const int32_t calls[] = { 503, 504, 505, 508 };

	for (int i = 1; i <= 3; i++)
		random_pick_memory(g, i, 8, GEN_WRITTEN);
	random_call(g, RANDOM_OF(g, calls));
	random_set_registers(g);
}

void random_helper(struct gen *g)
{
	static const int32_t uniform[] = { 14, 512, 511, 506, 521, 522 }, device_specific[] = { 7, 8, 509, 510 };

	switch (random_pick(g, 5)) {
	case 0:
	case 1:
		random_call(g, RANDOM_OF(g, uniform));
		random_set_registers(g);
		break;
	case 2: /* helpers whose results differ between devices; the results are overwritten */
		random_call(g, RANDOM_OF(g, device_specific));
		random_set_all_registers(g);
		break;
	default:
		coordinates(g);
	}
}

/* Read from addresses outside any allocation: no application allocates memory here. The helpers then store zeros. */
static void read_unallocated(struct gen *g)
{
	static const int32_t calls[] = { 4, 45, 112, 113, 114, 115 };

	random_emit(g, 0xbf, 3, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 3, 0, 0, 0xfff);
	random_some_bytes(g, 1, GEN_WRITTEN);
	random_call(g, RANDOM_OF(g, calls));
	random_set_registers(g);
}

/* Read kernel parameters that do not exist. */
static void read_missing_parameter(struct gen *g)
{
	random_emit(g, 0xbf, 1, 6, 0, 0);
	random_emit(g, 0xb7, 2, 0, 0, (int32_t)random_pick(g, 8));
	random_emit(g, 0xb7, 3, 0, 0, 8 * (int32_t)random_pick(g, 3));
	random_some_bytes(g, 4, GEN_WRITTEN);
	random_call(g, 520);
	random_set_registers(g);
}

/* Query things that only an application has, such as allocations and parameters. The queries fail. */
void random_unknown(struct gen *g)
{
	switch (random_pick(g, 3)) {
	case 0:
		read_unallocated(g);
		break;
	case 1:
		read_missing_parameter(g);
		break;
	default:
		random_emit(g, 0xbf, 1, random_number_reg(g), 0, 0);
		random_emit(g, 0x57, 1, 0, 0, 0xfff);
		random_pick_memory(g, 2, sizeof(struct gpubpf_allocation), GEN_WRITTEN);
		random_emit(g, 0xb7, 3, 0, 0, sizeof(struct gpubpf_allocation));
		random_call(g, 523);
		random_emit(g, 0xbf, 1, 0, 0, 0);
		random_emit(g, 0x57, 1, 0, 0, 0xfff);
		random_call(g, 526);
		random_set_registers(g);
	}
}

/* trace_printk(format in read-only data, size, three numbers), or puts */
static void print(struct gen *g)
{
	if (g->records-- <= 0)
		return;
	random_imm64(g, 1, MAP_VALUE, GEN_TEXT, 0);
	if (random_pick(g, 2)) {
		random_emit(g, 0xb7, 2, 0, 0, 1 + (int32_t)random_pick(g, GEN_VALUE));
		random_emit(g, 0xbf, 3, 8, 0, 0);
		random_emit(g, 0xbf, 4, 9, 0, 0);
		random_emit(g, 0xb7, 5, 0, 0, random_interesting(g));
		random_call(g, 6);
	} else {
		random_call(g, 501);
	}
	random_set_registers(g);
}

/* strncmp(bytes, number of bytes, text); bytes on the stack may begin with the text */
static void compare(struct gen *g)
{
	random_use(g, 0, 24);
	random_imm64(g, 3, MAP_VALUE, GEN_TEXT, 8 * (int32_t)random_pick(g, 3));
	for (int i = (int)random_pick(g, 4); i-- > 0;) {
		random_emit(g, OP_LDX | 0x18, 4, 3, 8 * i, 0);
		random_emit(g, OP_STX | 0x18, 10, 4, 8 * i - NUMBERS, 0);
	}
	random_some_bytes(g, 1, GEN_READ);
	random_call(g, 182);
	random_set_registers(g);
}

/* strnlen(bytes, number of bytes), or strnchr() of these bytes and a character */
static void measure(struct gen *g)
{
	random_emit(g, 0xbf, 3, random_number_reg(g), 0, 0);
	random_some_bytes(g, 1, GEN_READ);
	random_call(g, 543 + (int32_t)random_pick(g, 2));
	random_set_registers(g);
}

void random_text(struct gen *g)
{
	static void (*const texts[])(struct gen *g) = { print, print, compare, measure };

	RANDOM_OF(g, texts)(g);
}
