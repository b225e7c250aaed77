/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CFI_INSNS 4096 /* limit of CFI instructions per function */
#define MAX_SAVED_ROWS 8   /* maximum nesting of DW_CFA_remember_state */
#define DWARF_REGISTERS 32 /* DWARF register numbers from this on are not supported */

/* Pointer encodings: the low four bits are the format, the next three bits are the base. */
enum {
	ENC_ABSOLUTE = 0x00,
	ENC_UDATA4 = 0x03,
	ENC_SDATA4 = 0x0b,
	ENC_SDATA8 = 0x0c,
	ENC_FROM_HERE = 0x10,
	ENC_FROM_HEADER = 0x30
};

enum {
	CFA_NOP = 0x00,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d,
	CFA_DEF_OFFSET = 0x0e,
	CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_ARGS_SIZE = 0x2e,
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};
enum { OP_DEREF = 0x06, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

/* -- bytes -- */

struct bytes {
	uint64_t at, end;
	bool bad;
};

static uint64_t get(struct bytes *b, uint32_t size)
{
	uint64_t v = 0;

	if (b->bad || b->end - b->at < size) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, (const void *)b->at, size);
	b->at += size;
	return v;
}

static uint64_t get_leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0, byte = 0x80;
	uint32_t shift = 0;

	for (; byte & 0x80; shift += 7) {
		byte = get(b, 1);
		if (shift > 56)
			b->bad = true;
		if (b->bad)
			return 0;
		v |= (byte & 0x7f) << shift;
	}
	return is_signed && byte & 0x40 ? v | ~0ull << shift : v;
}

/*
 * Read an offset and return it multiplied by `factor`. If the offset is too large for the 32 bits of a row, sets
 * b->bad.
 */
static int32_t get_offset(struct bytes *b, bool is_signed, int64_t factor)
{
	int64_t v = (int64_t)get_leb(b, is_signed);

	if (v > INT32_MAX / 16 || v < INT32_MIN / 16) {
		b->bad = true;
		return 0;
	}
	return (int32_t)(v * factor);
}

static uint64_t get_pointer(struct bytes *b, uint8_t encoding, uint64_t header)
{
	uint64_t here = b->at, v;

	switch (encoding & 0x0f) {
	case ENC_ABSOLUTE:
	case ENC_SDATA8:
		v = get(b, 8);
		break;
	case ENC_UDATA4:
		v = get(b, 4);
		break;
	case ENC_SDATA4:
		v = (uint64_t)(int64_t)(int32_t)get(b, 4);
		break;
	default:
		b->bad = true;
		return 0;
	}
	switch (encoding & 0xf0) {
	case 0:
		return v;
	case ENC_FROM_HERE:
		return v + here;
	case ENC_FROM_HEADER:
		return v + header;
	}
	b->bad = true;
	return 0;
}

/* Returns the bytes of a part whose four-byte length is at `at`. The part follows the length. */
static struct bytes get_sized_part(struct cfi_range range, uint64_t at)
{
	struct bytes b = { at, range.to, at < range.from || at > range.to };
	uint64_t size = get(&b, 4);

	b.bad |= !size || size > b.end - b.at;
	if (!b.bad)
		b.end = b.at + size;
	return b;
}

/* -- rows -- */

struct cie { /* common information entry (CIE): fields that the entries (FDEs) of several functions share */
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool has_aug_size; /* each FDE has augmentation data, and the size of that data before it */
	struct bytes steps;
};

struct walk {
	const struct cie *cie;
	struct cfi_row row, first, saved[MAX_SAVED_ROWS];
	uint32_t nsaved;
	uint64_t place; /* code address up to which CFI instructions were executed */
};

/* Returns the CFI_ number of a DWARF register, or CFI_REGISTERS for a register that calls do not preserve. */
static uint8_t number(uint64_t dwarf)
{
	static const uint8_t numbers[DWARF_REGISTERS] = {
		[3] = CFI_RBX + 1,  [6] = CFI_RBP + 1,  [7] = CFI_RSP + 1,  [12] = CFI_R12 + 1,
		[13] = CFI_R13 + 1, [14] = CFI_R14 + 1, [15] = CFI_R15 + 1, [16] = CFI_RETURN + 1,
	};

	return dwarf < DWARF_REGISTERS && numbers[dwarf] ? numbers[dwarf] - 1 : CFI_REGISTERS;
}

/*
 * Read the base register of a CFA rule. Returns CFI_REGISTERS for a register that is not tracked, for example in the
 * prologue of a function that realigns its stack.
 */
static uint8_t get_base(struct bytes *b)
{
	uint8_t base = number(get_leb(b, false));

	return base == CFI_RETURN ? CFI_REGISTERS : base;
}

static void set(struct walk *w, uint64_t dwarf, struct cfi_where where)
{
	uint8_t reg = number(dwarf);

	if (reg < CFI_REGISTERS)
		w->row.reg[reg] = where;
}

static void restore(struct walk *w, uint64_t dwarf)
{
	uint8_t reg = number(dwarf);

	if (reg < CFI_REGISTERS)
		w->row.reg[reg] = w->first.reg[reg];
}

/*
 * Read a DWARF expression. Two forms are supported: a register plus an offset, and the memory word at that address
 * (then *loaded is true). Returns false for other forms.
 */
static bool get_expression(struct bytes *b, uint8_t *base, int32_t *offset, bool *loaded)
{
	uint64_t size = get_leb(b, false), end = b->at + size, op;

	if (b->bad || size > b->end - b->at)
		return false;
	op = get(b, 1);
	*base = op >= OP_BREG0 && op <= OP_BREG31 ? number(op - OP_BREG0) : CFI_REGISTERS;
	*offset = get_offset(b, true, 1);
	*loaded = b->at < end;
	if (*loaded && get(b, 1) != OP_DEREF)
		return false;
	return !b->bad && b->at == end && *base != CFI_REGISTERS && *base != CFI_RETURN;
}

static void set_expression(struct walk *w, struct bytes *b)
{
	uint64_t reg = get_leb(b, false);
	struct cfi_where where = { .how = CFI_AT_REGISTER };
	bool loaded;

	if (!get_expression(b, &where.base, &where.offset, &loaded) || loaded)
		b->bad = true;
	else
		set(w, reg, where);
}

static void push_row(struct walk *w, struct bytes *b)
{
	if (w->nsaved == MAX_SAVED_ROWS)
		b->bad = true;
	else
		w->saved[w->nsaved++] = w->row;
}

static void pop_row(struct walk *w, struct bytes *b)
{
	if (!w->nsaved)
		b->bad = true;
	else
		w->row = w->saved[--w->nsaved];
}

static void run_extended_insn(struct walk *w, struct bytes *b, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
		break;
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
		w->place += get(b, 1u << (op - CFA_ADVANCE1)) * w->cie->code_align;
		break;
	case CFA_OFFSET_EXTENDED:
		reg = get_leb(b, false);
		set(w, reg, (struct cfi_where){ .how = CFI_AT_CFA, .offset = get_offset(b, false, w->cie->data_align) });
		break;
	case CFA_RESTORE_EXTENDED:
		restore(w, get_leb(b, false));
		break;
	case CFA_UNDEFINED:
		set(w, get_leb(b, false), (struct cfi_where){ .how = CFI_LOST });
		break;
	case CFA_SAME:
		set(w, get_leb(b, false), (struct cfi_where){ .how = CFI_SAME });
		break;
	case CFA_REGISTER:
		set(w, get_leb(b, false), (struct cfi_where){ .how = CFI_LOST });
		get_leb(b, false);
		break;
	case CFA_REMEMBER:
		push_row(w, b);
		break;
	case CFA_RESTORE_STATE:
		pop_row(w, b);
		break;
	case CFA_DEF:
		w->row.base = get_base(b);
		w->row.offset = get_offset(b, false, 1);
		w->row.loaded = false;
		break;
	case CFA_DEF_REGISTER:
		w->row.base = get_base(b);
		break;
	case CFA_DEF_OFFSET:
		w->row.offset = get_offset(b, false, 1);
		break;
	case CFA_DEF_EXPRESSION:
		b->bad |= !get_expression(b, &w->row.base, &w->row.offset, &w->row.loaded);
		break;
	case CFA_EXPRESSION:
		set_expression(w, b);
		break;
	case CFA_ARGS_SIZE:
		get_leb(b, false);
		break;
	default:
		b->bad = true;
	}
}

/* Execute CFI instructions up to code address `place`. Returns false if an instruction is not supported. */
static bool run_insns(struct walk *w, struct bytes b, uint64_t place)
{
	for (uint32_t i = 0; i < MAX_CFI_INSNS && b.at < b.end && !b.bad && w->place <= place; i++) {
		uint8_t op = (uint8_t)get(&b, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case CFA_ADVANCE:
			w->place += low * w->cie->code_align;
			break;
		case CFA_OFFSET:
			set(w, low,
			    (struct cfi_where){ .how = CFI_AT_CFA, .offset = get_offset(&b, false, w->cie->data_align) });
			break;
		case CFA_RESTORE:
			restore(w, low);
			break;
		default:
			run_extended_insn(w, &b, op);
		}
	}
	return !b.bad && (b.at == b.end || w->place > place);
}

/* -- entries -- */

static void get_augmentation(struct cie *c, struct bytes *b, const char *augmentation)
{
	uint64_t size = get_leb(b, false), end = b->at + size;

	if (b->bad || size > b->end - b->at) {
		b->bad = true;
		return;
	}
	for (augmentation++; *augmentation && !b->bad; augmentation++) {
		if (*augmentation == 'R')
			c->encoding = (uint8_t)get(b, 1);
		else if (*augmentation == 'L')
			get(b, 1);
		else if (*augmentation == 'P')
			get_pointer(b, (uint8_t)get(b, 1) & 0x7f, 0);
		else
			b->bad = true; /* not supported: 'S' (a signal frame) or an unknown augmentation */
	}
	b->bad |= b->at > end;
	b->at = end;
	c->has_aug_size = true;
}

static bool get_cie(struct cfi_range range, uint64_t at, struct cie *c)
{
	struct bytes b = get_sized_part(range, at);
	uint64_t id = get(&b, 4), version = get(&b, 1);
	char augmentation[8] = "";

	for (uint32_t i = 0; i < sizeof(augmentation) && (augmentation[i] = (char)get(&b, 1)); i++)
		b.bad |= i + 1 == sizeof(augmentation);
	*c = (struct cie){ .encoding = ENC_ABSOLUTE };
	c->code_align = get_leb(&b, false);
	c->data_align = (int64_t)get_leb(&b, true);
	b.bad |= id || (version != 1 && version != 3) || (augmentation[0] && augmentation[0] != 'z') ||
		 c->code_align > 16 || c->data_align > 16 || c->data_align < -16;
	b.bad |= (version == 1 ? get(&b, 1) : get_leb(&b, false)) != 16; /* 16: return address */
	if (augmentation[0] && !b.bad)
		get_augmentation(c, &b, augmentation);
	c->steps = b;
	return !b.bad;
}

/*
 * Compute the row for code address `place` in the function that begins at `from`; b has the function's CFI
 * instructions.
 */
static bool walk_to(struct walk *w, uint64_t from, struct bytes b, uint64_t place)
{
	w->row.base = CFI_REGISTERS;
	w->place = from;
	if (!run_insns(w, w->cie->steps, UINT64_MAX))
		return false;
	w->first = w->row;
	w->place = from;
	return run_insns(w, b, place) && w->row.base != CFI_REGISTERS;
}

/*
 * Compute the row with a struct walk on the heap, because the struct is too large for the stack of a launching thread.
 */
static bool get_row(const struct cie *cie, uint64_t from, struct bytes b, uint64_t place, struct cfi_row *row)
{
	struct walk *w = calloc(1, sizeof(*w));
	bool found;

	if (!w)
		return false;
	w->cie = cie;
	found = walk_to(w, from, b, place);
	if (found)
		*row = w->row;
	free(w);
	return found;
}

static bool get_entry(struct cfi_range range, uint64_t at, uint64_t place, struct cfi_row *row)
{
	struct bytes b = get_sized_part(range, at);
	uint64_t here = b.at, back = get(&b, 4), from, size;
	struct cie cie;

	if (b.bad || !back || back > here - range.from || !get_cie(range, here - back, &cie))
		return false;
	from = get_pointer(&b, cie.encoding, 0);
	size = get_pointer(&b, cie.encoding & 0x0f, 0);
	if (cie.has_aug_size) {
		uint64_t more = get_leb(&b, false);

		b.bad |= more > b.end - b.at;
		b.at += b.bad ? 0 : more;
	}
	return !b.bad && place >= from && place - from < size && get_row(&cie, from, b, place, row);
}

/*
 * Binary search in the table that follows the header. Its entries are sorted pairs of 4-byte values: the start of a
 * function and the address of its FDE.
 */
bool cfi_find(struct cfi_range range, uint64_t header, uint64_t place, struct cfi_row *row)
{
	struct bytes b = { header, range.to, header < range.from || header > range.to };
	uint8_t version = (uint8_t)get(&b, 1), frame = (uint8_t)get(&b, 1), count = (uint8_t)get(&b, 1),
		table = (uint8_t)get(&b, 1);
	uint64_t n, below = 0;

	get_pointer(&b, frame, header);
	n = get_pointer(&b, count, header);
	if (b.bad || version != 1 || table != (ENC_FROM_HEADER | ENC_SDATA4) || n > (b.end - b.at) / 8)
		return false;
	for (uint64_t left = n; left;) {
		uint64_t half = left / 2;
		struct bytes one = { b.at + 8 * (below + half), b.end };

		if (get_pointer(&one, table, header) <= place) {
			below += half + 1;
			left -= half + 1;
		} else {
			left = half;
		}
	}
	if (!below)
		return false;
	b.at += 8 * (below - 1) + 4;
	return get_entry(range, get_pointer(&b, table, header), place, row);
}
