/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 6

enum unit { VECTOR, GROUP, SCALAR, OTHER };

static const struct unit_row {
	const char *prefix;
	enum unit unit;
	uint32_t spaces;
} units[] = {
#define AMD_UNIT(prefix, unit, spaces) { prefix, unit, spaces },
#include "memory.def"
};

/* flag in the member `spaces` of a row: the access may also be in the spaces of the row's unit */
#define UNIT 0x80000000u
#define GPUBPF_RMW_NONE 0

static const struct row {
	enum unit unit;
	const char *pattern;
	uint32_t access, bytes, op;
	uint32_t step; /* nonzero: the instruction has two accesses, whose offsets count units of this many bytes */
	uint32_t spaces;
	const char *why;
	bool none;
} rows[] = {
#define AMD_ACCESS(unit, pattern, access, bytes, op) \
	{ unit, pattern, GPUBPF_##access, bytes, GPUBPF_RMW_##op, 0, UNIT, NULL, false },
#define AMD_TWICE(unit, pattern, access, bytes, step) \
	{ unit, pattern, GPUBPF_##access, bytes, 0, step, UNIT, NULL, false },
#define AMD_UNSEEN(unit, pattern, access, spaces, why) { unit, pattern, GPUBPF_##access, 0, 0, 0, spaces, why, false },
#define AMD_NO_ACCESS(unit, pattern) { unit, pattern, 0, 0, 0, 0, 0, NULL, true },
#include "memory.def"
};

struct operands {
	char text[MAX_OPERANDS][24];
	uint32_t n;
	char rest[128]; /* text after the last operand, for example "offset:16 glc" */
};

bool hip_reg_read(const char *text, struct hip_reg *reg)
{
	unsigned first, last;
	char file, end = 0;

	*reg = (struct hip_reg){ 0 };
	if (!strncmp(text, "vcc", 3)) {
		*reg = (struct hip_reg){ 's', text[3] == '_' && text[4] == 'h' ? HIP_VCC + 1 : HIP_VCC,
					 text[3] == '_' ? 1 : 2 };
		return true;
	}
	if (!strchr("sva", text[0]) || !text[0])
		return false;
	file = text[0];
	if (sscanf(text + 1, "[%3u:%3u%c", &first, &last, &end) != 3 || end != ']') {
		if (text[1] < '0' || text[1] > '9')
			return false;
		first = last = strtoul(text + 1, NULL, 10);
	}
	if (last < first || last > 255)
		return false;
	*reg = (struct hip_reg){ file, first, last - first + 1 };
	return true;
}

static void split(const char *text, struct operands *ops)
{
	*ops = (struct operands){ 0 };
	text += strspn(text, " \t");
	while (*text && ops->n < MAX_OPERANDS) {
		size_t len = strcspn(text, ", ");

		snprintf(ops->text[ops->n++], sizeof(ops->text[0]), "%.*s", (int)len, text);
		text += len;
		if (*text != ',')
			break;
		text += 1 + strspn(text + 1, " ");
	}
	snprintf(ops->rest, sizeof(ops->rest), "%s", text);
}

static int32_t modifier(const struct operands *ops, const char *name)
{
	const char *at = strstr(ops->rest, name);

	return at ? strtol(at + strlen(name), NULL, 0) : 0;
}

/* Returns true if the modifiers after the operands contain a word, for example glc. */
static bool has_word(const struct operands *ops, const char *word)
{
	const char *at = strstr(ops->rest, word);

	return at && (at == ops->rest || at[-1] == ' ') && strchr(" ", at[strlen(word)]);
}

static void set_unknown(struct hip_access *a)
{
	a->why = "an access with an unknown operand";
}

/*
 * Parses operand number *next and increments *next. The operand must be off, null, 0, or a register of a kind in
 * `files`, such as "sv". For any other operand the access becomes unknown.
 */
static struct hip_reg read_operand(struct hip_access *a, const struct operands *ops, uint32_t *next, const char *files)
{
	struct hip_reg reg = { 0 };
	const char *text = *next < ops->n ? ops->text[*next] : "";

	++*next;
	if (strcmp(text, "off") && strcmp(text, "null") && strcmp(text, "0") &&
	    !(hip_reg_read(text, &reg) && strchr(files, reg.file)))
		set_unknown(a);
	return reg;
}

static struct hip_reg sub_register(struct hip_reg reg, uint32_t first, uint32_t n)
{
	return (struct hip_reg){ reg.file, reg.first + first, n };
}

/* Sets the registers of the stored value. In a compare and swap, the new value precedes the compared value. */
static void set_value(struct hip_access *a, struct hip_reg data)
{
	uint32_t n = (a->bytes + 3) / 4;

	if (data.n != (a->op == GPUBPF_RMW_COMPARE ? 2 * n : n))
		set_unknown(a);
	a->value = sub_register(data, 0, n);
	if (a->op == GPUBPF_RMW_COMPARE)
		a->compared = sub_register(data, n, n);
}

/* Parses the operands of global_, flat_ and scratch_ instructions: [destination,] address [, value] [, scalar
 * address] */
static void read_vector(struct hip_access *a, const char *name, const struct operands *ops)
{
	bool flat = !strncmp(name, "flat_", 5), scratch = !strncmp(name, "scratch_", 8);
	uint32_t next = 0, fixed = flat ? 2 : 3;
	bool gives = a->access == GPUBPF_LOAD || (a->access == GPUBPF_ATOMIC && ops->n == fixed + 1);

	if (ops->n != fixed + (a->access == GPUBPF_ATOMIC && gives))
		return set_unknown(a);
	if (gives)
		a->old = read_operand(a, ops, &next, "va");
	a->vector = read_operand(a, ops, &next, "v");
	if (a->access != GPUBPF_LOAD)
		set_value(a, read_operand(a, ops, &next, "va"));
	if (!flat)
		a->scalar = read_operand(a, ops, &next, "s");
	a->offset = modifier(ops, "offset:");
	a->by = scratch ? HIP_AT_OFFSET : a->scalar.file ? HIP_AT_SCALAR : HIP_AT_VECTOR;
	if (a->vector.n != (a->by == HIP_AT_VECTOR     ? 2 :
			    scratch && !a->vector.file ? 0 :
							 1) ||
	    (a->scalar.file && a->scalar.n != (scratch ? 1 : 2)))
		set_unknown(a);
}

/* Parses the operands of buffer_ instructions: value, vector offset, descriptor, scalar offset */
static void read_buffer(struct hip_access *a, const struct operands *ops)
{
	uint32_t next = 0;
	struct hip_reg data = read_operand(a, ops, &next, "va");

	a->vector = read_operand(a, ops, &next, "v");
	a->descriptor = read_operand(a, ops, &next, "s");
	a->scalar = read_operand(a, ops, &next, "s");
	a->offset = modifier(ops, "offset:");
	a->by = HIP_AT_BUFFER;
	if (a->access == GPUBPF_STORE)
		set_value(a, data);
	if (a->access == GPUBPF_ATOMIC)
		a->why = "an atomic through a descriptor";
	else if (ops->n != 4 || has_word(ops, "idxen") || a->vector.file != (has_word(ops, "offen") ? 'v' : 0))
		set_unknown(a);
}

/* Parses the operands of an access to group memory: [destination,] address [, values] */
static void read_group(struct hip_access *a, const char *name, const struct operands *ops, const struct row *row,
		       uint32_t part)
{
	bool compares = a->op == GPUBPF_RMW_COMPARE, value_first = strstr(name, "cmpstore");
	uint32_t next = 0, values = a->access == GPUBPF_LOAD ? 0 : row->step || compares ? 2 : 1;
	struct hip_reg value[2] = { { 0 } };

	if (a->access == GPUBPF_LOAD || ops->n == values + 2)
		a->old = read_operand(a, ops, &next, "va");
	if (ops->n != next + 1 + values || has_word(ops, "gds"))
		return set_unknown(a);
	a->vector = read_operand(a, ops, &next, "v");
	for (uint32_t i = 0; i < values; i++)
		value[i] = read_operand(a, ops, &next, "va");
	a->by = HIP_AT_OFFSET;
	a->offset = row->step ? modifier(ops, part ? "offset1:" : "offset0:") * (int32_t)row->step :
				modifier(ops, "offset:");
	a->value = value[compares && !value_first ? 1 : row->step ? part : 0];
	if (compares)
		a->compared = value[value_first ? 1 : 0];
	if (values && a->value.n != (a->bytes + 3) / 4)
		set_unknown(a);
}

/* Parses the operands of a scalar load: destination, address, offset */
static void read_scalar(struct hip_access *a, const struct operands *ops)
{
	uint32_t next = 0;
	struct hip_reg added = { 0 };

	read_operand(a, ops, &next, "s");
	a->scalar = read_operand(a, ops, &next, "s");
	if (ops->n != 3 || a->scalar.n != 2)
		return set_unknown(a);
	if (hip_reg_read(ops->text[2], &added) && added.file == 's' && added.n == 1)
		a->vector = added;
	else if (strchr("-0123456789", ops->text[2][0]))
		a->offset = strtol(ops->text[2], NULL, 0);
	else if (strcmp(ops->text[2], "null"))
		set_unknown(a);
	a->offset += modifier(ops, "offset:");
	a->by = HIP_AT_SCALAR;
	a->once = true;
}

static void read_operands(struct hip_access *a, const char *name, const struct operands *ops, const struct row *row,
			  uint32_t part)
{
	a->high = a->access == GPUBPF_STORE && strstr(name, "d16_hi");
	if (row->unit == GROUP)
		read_group(a, name, ops, row, part);
	else if (row->unit == SCALAR)
		read_scalar(a, ops);
	else if (!strncmp(name, "buffer_", 7))
		read_buffer(a, ops);
	else
		read_vector(a, name, ops);
}

/* Returns the cache hints (enum gpubpf_mem_hint). On an atomic, glc and sc0 request the old value and are no hints
 * (RDNA3 and CDNA3 ISA guides). */
static uint32_t hint_of(enum gpubpf_mem_access access, const struct operands *ops)
{
	static const struct {
		const char *word;
		enum gpubpf_mem_hint hint;
		bool of_atomics;
	} hints[] = {
		{ "glc", GPUBPF_HINT_GLOBAL, false },
		{ "sc1", GPUBPF_HINT_GLOBAL, true },
		{ "slc", GPUBPF_HINT_STREAM, true },
		{ "nt", GPUBPF_HINT_STREAM, true },
		{ "th:TH_LOAD_NT", GPUBPF_HINT_STREAM, false },
		{ "th:TH_STORE_NT", GPUBPF_HINT_STREAM, false },
		{ "th:TH_LOAD_LU", GPUBPF_HINT_LAST, false },
		{ "th:TH_LOAD_HT", GPUBPF_HINT_KEEP, false },
		{ "th:TH_STORE_HT", GPUBPF_HINT_KEEP, false },
	};
	uint32_t all = 0;

	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (has_word(ops, hints[i].word) && (hints[i].of_atomics || access != GPUBPF_ATOMIC))
			all |= hints[i].hint;
	return all;
}

static const struct row *find_row(const char *name, const struct unit_row *unit)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].unit == unit->unit && !fnmatch(rows[i].pattern, name + strlen(unit->prefix), 0))
			return &rows[i];
	return NULL;
}

/* Returns true for instructions of the vector and scalar ALUs and for exports, which access no memory. */
static bool is_register_only(const char *name)
{
	return !strncmp(name, "v_", 2) || !strncmp(name, "s_", 2) || !strncmp(name, "exp", 3);
}

uint32_t hip_accesses(const char *name, const char *operands, struct hip_access accesses[HIP_MAX_ACCESSES])
{
	const struct unit_row *unit = units, *end = units + sizeof(units) / sizeof(*units);
	struct hip_access a = { .access = GPUBPF_ATOMIC, .spaces = GPUBPF_IN_ALL, .why = "an unknown instruction" };
	const struct row *row;
	struct operands ops;

	while (unit < end && strncmp(name, unit->prefix, strlen(unit->prefix)))
		unit++;
	if (unit == end && is_register_only(name))
		return 0;
	accesses[0] = a;
	row = unit < end ? find_row(name, unit) : NULL;
	if (!row)
		return 1;
	if (row->none)
		return 0;
	split(operands, &ops);
	for (uint32_t i = 0; i < (row->step ? 2 : 1); i++) {
		a = (struct hip_access){ .access = row->access,
					 .op = row->op,
					 .bytes = row->bytes,
					 .why = row->why,
					 .spaces = row->spaces & UNIT ? (row->spaces & ~UNIT) | unit->spaces :
									row->spaces };
		if (!a.why)
			read_operands(&a, name, &ops, row, i);
		if (has_word(&ops, "lds")) {
			a.spaces |= GPUBPF_IN(SHARED);
			a.why = "a load that goes to shared memory";
		}
		a.hint = hint_of(a.access, &ops);
		accesses[i] = a;
	}
	return row->step ? 2 : 1;
}
