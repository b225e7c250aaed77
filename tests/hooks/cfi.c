/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests hooks/unwind/cfi.c on unwind tables that the test assembles byte by byte. They have encodings that compilers
 * seldom emit, or are invalid as in a damaged file. Each case has the CFI instructions of one function. The expected
 * result is the row at the function's last address.
 */
#include <string.h>

#include "hooks/unwind/cfi.h"
#include "tests/tap.h"

#define BEGINS 0x1000      /* address of the function, relative to the header of the table */
#define SIZE 0x100
#define WITH(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

struct table {
	uint8_t bytes[256];
	size_t n, common, entry, header;
};

static void append(struct table *t, uint64_t v, size_t size)
{
	memcpy(t->bytes + t->n, &v, size);
	t->n += size;
}

static void append_steps(struct table *t, size_t part, const uint8_t *steps, size_t n)
{
	memcpy(t->bytes + t->n, steps, n);
	t->n += n;
	memcpy(t->bytes + part, &(uint32_t){ (uint32_t)(t->n - part - 4) }, 4);
}

/*
 * Make a table with these CFI instructions. Initially the CFA is RSP + 8, the return address is at CFA - 8 and RBX at
 * CFA - 16. The function's FDE is last, so that an instruction past its end leaves the table.
 */
static void make(struct table *t, const uint8_t *steps, size_t n)
{
	static const uint8_t common[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x00, 0x0c, 7, 8, 0x90, 1, 0x83, 2 };

	memset(t, 0, sizeof(*t));
	t->header = t->n;
	append(t, 1 | 0x03 << 8 | 0x03 << 16 | 0x3b << 24, 4);
	append(t, 0, 4);
	append(t, 1, 4);
	append(t, BEGINS, 4);
	append(t, 0, 4);
	t->common = t->n;
	append(t, 0, 8);
	append_steps(t, t->common, common, sizeof(common));
	t->entry = t->n;
	append(t, 0, 4);
	append(t, t->entry + 4 - t->common, 4);
	append(t, (uintptr_t)t->bytes + t->header + BEGINS, 8);
	append(t, SIZE, 8);
	append(t, 0, 1);
	append_steps(t, t->entry, steps, n);
	memcpy(t->bytes + 16, &(uint32_t){ (uint32_t)(t->entry - t->header) }, 4);
}

static bool find(const struct table *t, struct cfi_row *row)
{
	uint64_t from = (uintptr_t)t->bytes, header = from + t->header;

	return cfi_find((struct cfi_range){ from, from + t->n }, header, header + BEGINS + SIZE - 1, row);
}

static bool row_of(const uint8_t *steps, size_t n, struct cfi_row *row)
{
	struct table t;

	make(&t, steps, n);
	return find(&t, row);
}

static bool is_at(struct cfi_where w, int32_t offset)
{
	return w.how == CFI_AT_CFA && w.offset == offset;
}

static void registers(void)
{
	struct cfi_row row;

	ok(row_of(WITH(0x00), &row) && row.base == CFI_RSP && row.offset == 8 && is_at(row.reg[CFI_RETURN], -8) &&
	   is_at(row.reg[CFI_RBX], -16) && row.reg[CFI_RBP].how == CFI_SAME, "what functions share is each one's");
	ok(row_of(WITH(0x83, 4, 0x41, 0x86, 3), &row) && is_at(row.reg[CFI_RBX], -32) && is_at(row.reg[CFI_RBP], -24), "and may change");
	ok(row_of(WITH(0x83, 4, 0x86, 3, 0x41, 0xc3), &row) && is_at(row.reg[CFI_RBX], -16) && is_at(row.reg[CFI_RBP], -24),
	   "a register that is restored is where it was when the function began");
	ok(row_of(WITH(0x83, 4, 0x86, 3, 0x41, 0x06, 3, 0x06, 6), &row) && is_at(row.reg[CFI_RBX], -16) && row.reg[CFI_RBP].how == CFI_SAME,
	   "so is one of the extended form");
	ok(row_of(WITH(0x0a, 0x83, 4, 0x0e, 32, 0x0b), &row) && is_at(row.reg[CFI_RBX], -16) && row.offset == 8, "a row that is put back");
	ok(!row_of(WITH(0x0b), &row), "what was not remembered is not put back");
}

static void expressions(void)
{
	struct cfi_row row;

	ok(row_of(WITH(0x0f, 2, 0x76, 16), &row) && row.base == CFI_RBP && row.offset == 16 && !row.loaded, "a frame by an expression");
	ok(row_of(WITH(0x0f, 3, 0x76, 0x78, 0x06), &row) && row.base == CFI_RBP && row.offset == -8 && row.loaded, "one that is loaded");
	ok(!row_of(WITH(0x0f, 4, 0x76, 0x78, 0x06, 0x06), &row), "one that goes on behind that is not known");
	ok(!row_of(WITH(0x0f, 3, 0x76, 16, 0x96), &row), "nor one that does something else");
	ok(!row_of(WITH(0x0f, 2, 0x76, 0x80, 0x01, 0x00), &row), "nor one whose offset is longer than it");
	ok(!row_of(WITH(0x0f, 9, 0x76, 16), &row), "nor one that is longer than the function's part");
	ok(row_of(WITH(0x10, 3, 2, 0x76, 0x70), &row) && row.reg[CFI_RBX].how == CFI_AT_REGISTER && row.reg[CFI_RBX].base == CFI_RBP &&
	   row.reg[CFI_RBX].offset == -16, "a register by an expression");
	ok(!row_of(WITH(0x10, 3, 3, 0x76, 0x70, 0x06), &row), "which is not loaded twice");
}

/* Returns true if the record is still valid after its length was replaced. */
static bool with_length(struct table *t, size_t part, uint32_t length)
{
	struct cfi_row row;

	memcpy(t->bytes + part, &length, 4);
	return find(t, &row);
}

static void lengths(void)
{
	struct table t;
	uint32_t room;

	make(&t, WITH(0x00, 0x00));
	room = (uint32_t)(t.n - t.entry - 4);
	ok(with_length(&t, t.entry, room), "a function's part ends where the table does");
	ok(!with_length(&t, t.entry, room + 1), "not a byte behind it");
	ok(!with_length(&t, t.entry, 0xffffffff), "nor is it of the long form");
	ok(!with_length(&t, t.entry, 0), "nor the end of all");
	make(&t, WITH(0x00, 0x00));
	ok(!with_length(&t, t.common, (uint32_t)(t.n - t.common - 3)), "what functions share does not end there either");
}

int main(void)
{
	registers();
	expressions();
	lengths();
	return done();
}
