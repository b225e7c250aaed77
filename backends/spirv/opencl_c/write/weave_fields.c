/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes OpenCL C code that stores the context fields that BPF programs read at a place. One function writes one field.
 */
#include "weave_fields.h"

#include <string.h>

#include "backends/spirv/common/env_use.h"
#include "core/lower/ctx.h"

/*
 * The state of writing the code of one place. The code is in a generated function whose parameters are the event's
 * variables.
 */
struct field_writer {
	const struct cl_place *place;
	const struct cl_event *event;
	const struct cl_access *access;
	FILE *out;
	uint64_t reads; /* bit i: a BPF program at the place reads word i of the context */
};

static void write_number(struct field_writer *g, uint32_t word, unsigned long long n)
{
	fprintf(g->out, " gpubpf_at->word[%u] = %lluul;", word, n);
}

static void write_place(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->place->id);
}

static void write_source_line(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->place->line);
}

static void write_address(struct field_writer *g, uint32_t word)
{
	const struct cl_access *a = g->access;

	fprintf(g->out, " gpubpf_at->word[%u] = (ulong)gpubpf_x%d + %uul", word, a->pointer, a->offset);
	if (a->index != CLREAD_NONE)
		fprintf(g->out, " + (ulong)gpubpf_x%d * %uul", a->index, a->stride);
	fprintf(g->out, ";");
}

static void write_bytes(struct field_writer *g, uint32_t word)
{
	if (g->access->times == CLREAD_NONE)
		write_number(g, word, g->access->bytes);
	else
		fprintf(g->out, " gpubpf_at->word[%u] = (ulong)gpubpf_x%d * %uul;", word, g->access->times,
			g->access->bytes);
}

static void write_access(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->access->access);
}

static void write_space(struct field_writer *g, uint32_t word)
{
	uint32_t spaces = g->access->spaces;

	write_number(g, word, __builtin_popcount(spaces) == 1 ? __builtin_ctz(spaces) : GPUBPF_GENERIC);
}

static void write_count(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->access->count);
}

/*
 * Write the access's hint. It is GPUBPF_HINT_VOLATILE if the type of the pointer variable is qualified as volatile
 * (clread_pointer_name()). Calls give no hint: OpenCL C's atomic functions take pointers to volatile, whatever the
 * caller passes.
 */
static void write_hint(struct field_writer *g, uint32_t word)
{
	static const char last[] = " volatile *";
	bool is_stored = g->access->pointer >= 0 && g->event->form != CLREAD_CALL;
	const char *type = is_stored ? g->event->part[g->access->pointer].type : NULL;
	size_t n = type ? strlen(type) : 0;

	write_number(g, word, n >= strlen(last) && !strcmp(type + n - strlen(last), last) ? GPUBPF_HINT_VOLATILE : 0);
}

static uint64_t first_bytes(uint32_t n)
{
	return n < 8 ? (1ull << 8 * n) - 1 : UINT64_MAX;
}

/*
 * Write code that stores the bytes of a value in one or two words. The code uses a union, because compilers assume that
 * pointers of different types do not alias.
 */
static void write_bits(struct field_writer *g, uint32_t word, uint32_t words, int value)
{
	const struct cl_event *e = g->event;
	const char *type = value >= 0 ? e->part[value].type : e->type;
	uint32_t bytes = g->access->bytes;

	fprintf(g->out, " { union { ulong w[2]; %s v; } gpubpf_u; gpubpf_u.w[0] = gpubpf_u.w[1] = 0; gpubpf_u.v = ", type);
	if (value >= 0)
		fprintf(g->out, "gpubpf_x%d;", value);
	else if (value == CLREAD_RESULT)
		fprintf(g->out, "gpubpf_v;");
	else
		fprintf(g->out, "gpubpf_v %c 1;", value == CLREAD_STEP_UP ? '+' : '-');
	for (uint32_t i = 0; i < words; i++)
		fprintf(g->out, " gpubpf_at->word[%u] = gpubpf_u.w[%u] & %lluul;", word + i, i,
			(unsigned long long)(bytes <= 8 * i ? 0 : first_bytes(bytes - 8 * i)));
	fprintf(g->out, " }");
}

/*
 * Write both words of mem.value at once. The function is called for each word that BPF programs read; the second call
 * writes nothing.
 */
static void write_value(struct field_writer *g, uint32_t word)
{
	uint32_t first = ctx_word_of("mem.value", g->place->kind);

	if (word != first && g->reads >> first & 1)
		return;
	if (g->access->value == CLREAD_NONE || g->access->value == CLREAD_HIDDEN) {
		write_number(g, first, 0);
		write_number(g, first + 1, 0);
	} else {
		write_bits(g, first, 2, g->access->value);
	}
}

static void write_operation(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->access->rmw);
}

static void write_operand(struct field_writer *g, uint32_t word)
{
	if (g->access->operand >= 0)
		write_bits(g, word, 1, g->access->operand);
	else
		write_number(g, word, g->access->operand == CLREAD_ONE);
}

static void write_old(struct field_writer *g, uint32_t word)
{
	write_bits(g, word, 1, CLREAD_RESULT);
}

/* Barriers of a work-group or sub-group have no number in OpenCL C. */
static void write_barrier_id(struct field_writer *g, uint32_t word)
{
	write_number(g, word, 0);
}

static void write_barrier_kind(struct field_writer *g, uint32_t word)
{
	write_number(g, word, g->event->barrier);
}

static void write_taken(struct field_writer *g, uint32_t word)
{
	if (g->event->form == CLREAD_SWITCH)
		write_number(g, word, 1);
	else
		fprintf(g->out, " gpubpf_at->word[%u] = gpubpf_x0;", word);
}

/* OpenCL C cannot tell which lanes execute together with this one. The mask contains only this lane, as bit 0. */
static void write_active(struct field_writer *g, uint32_t word)
{
	write_number(g, word, 1);
}

static void write_mark(struct field_writer *g, uint32_t word)
{
	fprintf(g->out, " gpubpf_at->word[%u] = gpubpf_x0;", word);
}

static const struct {
	const char *field;
	void (*write)(struct field_writer *g, uint32_t word);
} fields[] = {
	{ "place", write_place },        { "line", write_source_line },      { "mem.addr", write_address },
	{ "mem.offset", write_address }, { "mem.value", write_value },       { "mem.bytes", write_bytes },
	{ "mem.access", write_access },  { "mem.space", write_space },       { "mem.count", write_count },
	{ "mem.hint", write_hint },      { "atomic.op", write_operation },   { "atomic.operand", write_operand },
	{ "atomic.old", write_old },     { "barrier.id", write_barrier_id }, { "barrier.kind", write_barrier_kind },
	{ "branch.taken", write_taken }, { "branch.lanes", write_taken },    { "branch.active", write_active },
	{ "mark", write_mark },
};

#define NFIELDS (sizeof(fields) / sizeof(*fields))

/*
 * Write element i of a context field, if BPF programs read it. A field without a row in fields[] has no place in OpenCL C
 * (tests/ci/fields), so no BPF program here reads it.
 */
static void write_field(struct field_writer *g, const struct ctx_field *field, uint32_t i)
{
	uint32_t word = ctx_field_word(field, i, g->place->kind), f = 0;

	if (word == UINT32_MAX || !(g->reads >> word & 1))
		return;
	while (f < NFIELDS && strcmp(fields[f].field, field->name))
		f++;
	if (f < NFIELDS)
		fields[f].write(g, word);
}

void gpubpf_weave_fields(const struct gpubpf_weave *w, const struct cl_place *place, FILE *out)
{
	const struct cl_event *e = event_of(w, place->event);
	struct field_writer g = { place, e, &e->access[place->access], out, gpubpf_env_words(w->job, place->site) };

	fprintf(out, g.access->group ? " if (!(get_local_id(0) | get_local_id(1) | get_local_id(2))) {" : " {");
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++)
			write_field(&g, &ctx_fields[k], i);
	fprintf(out, " gpubpf_site_%u(&gpubpf_at->env); }", place->site);
}
