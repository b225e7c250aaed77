/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include "bits.h"

#define OPERATION(opcode) ((opcode) & 0x1ff)
#define UNIFORM_FORM 0x800         /* bit 11 of an opcode: an operand is a uniform register */
#define MIN_SM_DESCRIPTOR 80       /* from this architecture on, the uniform register of a global access is a memory
                                    * descriptor */
#define MIN_SM_DESCRIPTOR_BIT 100  /* from this architecture on, the bits that mark a descriptor are at other
                                    * positions */
#define MIN_SM_FLOAT_ATOMICS 90    /* from this architecture on, floating-point atomics have separate opcodes */

/* how the bits encode the size of an access */
enum size_encoding { DATA, INTEGER, FLOATING, COMPARED, COPIED };

static const struct row {
	uint16_t operation;
	enum { NONE, ACCESS, UNSEEN } what;
	enum gpubpf_mem_access access;
	uint32_t spaces;
	enum size_encoding width;
	uint8_t value; /* bit position of the field that names the register to store or combine; 0: none */
	const char *why;
} rows[] = {
#define SASS_ACCESS(operation, access, spaces, width, value) { operation, ACCESS, GPUBPF_##access, spaces, width, value, NULL },
#define SASS_UNSEEN(operation, access, spaces, why) { operation, UNSEEN, GPUBPF_##access, spaces, DATA, 0, why },
#define SASS_NO_ACCESS(number) { .operation = number },
#include "access.def"
};

static const struct row *find_row(uint32_t operation)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].operation == operation)
			return &rows[i];
	return NULL;
}

bool sass_access_known(uint32_t operation)
{
	return find_row(operation);
}

/* -- copies to shared memory -- */

#define OP_LDGSTS 0xfae
#define OP_LDGSTS_SUM 0xdae        /* LDGSTS that adds its uniform register to the destination address and has no
                                    * descriptor */

/* Is the LDGSTS in a known form? The known forms have a descriptor, or URZ and no descriptor, or a uniform register
 * that is added. From sm_100 on the field of URZ has 8 bits. */
static bool is_known_copy(const struct sass_arch *arch, struct sass_insn insn)
{
	bool described = sass_field(insn, 76, 1), newer = arch->sm >= MIN_SM_DESCRIPTOR_BIT;

	if (!(insn.mode & 1))
		return false;
	if (sass_opcode(insn) == OP_LDGSTS_SUM)
		return !described && !(newer && sass_field(insn, 70, 2));
	return sass_opcode(insn) == OP_LDGSTS &&
	       (described || ((insn.operand[3].reg & SASS_URZ) == SASS_URZ && (!newer || sass_field(insn, 70, 2) == 3)));
}

/* Decodes one of the two accesses of an LDGSTS: the store to shared memory if a->near is set, else the load. Bits
 * 32..43 are the offset of the load. Bits 44..63 are the offset of the store, which is added to the register in bits
 * 16..23. A lane whose second predicate is false reads nothing and stores zeros. Copies of fewer bytes (.ZFILL) and
 * copies with an ignored source use this. Returns NULL, or a clause for messages if the form is unknown. */
static const char *read_copy(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *a)
{
	unsigned size = arch->sm < MIN_SM_DESCRIPTOR_BIT ? sass_field(insn, 73, 3) - 4 : sass_field(insn, 74, 2);

	if (a->near) {
		a->address = insn.operand[0].reg;
		a->uniform = sass_opcode(insn) == OP_LDGSTS_SUM ? (insn.operand[3].reg & SASS_URZ) : SASS_URZ;
		a->scale = 1;
		a->offset = (int32_t)(sass_field(insn, 44, 20) << 12) >> 12;
	} else {
		a->address = insn.operand[1].reg;
		a->uniform = SASS_URZ;
		a->offset = (int32_t)(sass_field(insn, 32, 12) << 20) >> 20;
	}
	a->second = a->near ? SASS_PT : insn.in;
	a->bytes = 4u << (size & 3);
	a->old = SASS_RZ;
	if (!is_known_copy(arch, insn) || size > 2 || (!a->near && a->address != SASS_RZ && a->address % 2))
		return "an LDGSTS copy in an unknown form";
	return NULL;
}

/* -- the size in bytes, from bits 73..75 -- */

/* Returns the size of the access; 0: unknown. */
static uint32_t access_bytes(const struct sass_arch *arch, enum size_encoding width, struct sass_insn insn)
{
	static const uint8_t data[] = { 1, 1, 2, 2, 4, 8, 16, 16 };
	static const uint8_t older[] = { 4, 4, 8, 4, 4, 8, 8, 0 }, newer[] = { 4, 4, 8, 8, 0, 0, 0, 0 };
	static const uint8_t floating[] = { 0, 4, 8, 16, 4, 8, 16, 8 }, compared[] = { 4, 4, 8, 0, 0, 0, 0, 0 };
	const uint8_t *table = width == DATA                   ? data :
			       width == FLOATING               ? floating :
			       width == COMPARED               ? compared :
			       arch->sm < MIN_SM_FLOAT_ATOMICS ? older :
								 newer;

	return table[sass_field(insn, 73, 3)];
}

/* -- the operation of an atomic access, from bits 87..90 -- */

/* Returns the operation of an atomic access; 0: unknown. */
static enum gpubpf_rmw atomic_op(enum size_encoding width, struct sass_insn insn)
{
	static const uint8_t ops[] = { GPUBPF_RMW_ADD, GPUBPF_RMW_MIN, GPUBPF_RMW_MAX,
				       GPUBPF_RMW_INC, GPUBPF_RMW_DEC, GPUBPF_RMW_AND,
				       GPUBPF_RMW_OR,  GPUBPF_RMW_XOR, GPUBPF_RMW_EXCHANGE };
	/* indices 1, 3 and 5 are half precision, which gets 0: unknown */
	static const uint8_t floating[] = { GPUBPF_RMW_ADD, 0, GPUBPF_RMW_MIN, 0, GPUBPF_RMW_MAX, 0, 0, 0 };
	bool narrow = width == FLOATING || OPERATION(sass_opcode(insn)) == 0x18e;
	uint32_t op = sass_field(insn, 87, narrow ? 3 : 4);

	if (width == COMPARED)
		return GPUBPF_RMW_COMPARE;
	if (width == FLOATING)
		return floating[op];
	return op < sizeof(ops) ? ops[op] : 0;
}

/* -- the address -- */

static bool has_offset_flag(uint32_t operation)
{
	return operation == 0x1a8 || operation == 0x1a3 || operation == 0x18a || operation == 0x1a2;
}

/* Is the uniform register the memory descriptor? The descriptor adds nothing to the address. */
static bool has_descriptor(const struct sass_arch *arch, enum size_encoding width, struct sass_insn insn)
{
	uint32_t operation = OPERATION(sass_opcode(insn));

	if (width == DATA)
		return sass_field(insn, 76, 1);
	if (arch->sm < MIN_SM_DESCRIPTOR_BIT)
		return operation == 0x1a3 || operation == 0x1a2 || operation == 0x1a6 || sass_field(insn, 71, 1);
	return has_offset_flag(operation) ? sass_field(insn, 76, 1) : sass_field(insn, 81, 1);
}

/* Does the instruction have a 32-bit offset at bit 32? This is so for LD and ST without a uniform register. The
 * value field of such an ST is at bit 64. */
static bool has_wide_offset(struct sass_insn insn)
{
	return sass_opcode(insn) == 0x385 || (sass_opcode(insn) == 0x980 && !(insn.mode & 1));
}

/* Returns the constant offset of the address. From sm_100 on the highest bit of the offset field of ATOMG and ATOM
 * is a flag, which is always set. */
static int32_t access_offset(const struct sass_arch *arch, struct sass_insn insn)
{
	uint32_t operation = OPERATION(sass_opcode(insn));
	bool marked = arch->sm >= MIN_SM_DESCRIPTOR_BIT && has_offset_flag(operation) && sass_opcode(insn) & UNIFORM_FORM;
	uint32_t off = sass_field(insn, 40, 24);

	if (has_wide_offset(insn))
		return sass_field(insn, 32, 32);

	return marked ? (int32_t)(off << 9) >> 9 : (int32_t)(off << 8) >> 8;
}

/* Returns the bit position of the field that names the register to store or combine; 0: none. */
static unsigned value_field(const struct row *row, struct sass_insn insn)
{
	return has_wide_offset(insn) && row->value ? 64 : row->value;
}

/* Decodes the address of a global or generic access. Returns NULL, or a clause for messages why the address is not
 * known. */
static const char *read_address(const struct sass_arch *arch, const struct row *row, struct sass_insn insn,
				struct sass_access *a)
{
	bool load = a->access == GPUBPF_LOAD, uniform = sass_opcode(insn) & UNIFORM_FORM && (insn.mode & 1);

	a->address = insn.operand[1].reg;
	a->uniform = SASS_URZ;
	a->offset = access_offset(arch, insn);
	if (!(insn.modifiers & 1) || (a->address != SASS_RZ && a->address % 2))
		return "an access with a 32-bit address";
	if (load && sass_field(insn, 64, 4))
		return "a load under a second predicate";
	if (!uniform)
		return NULL;
	if (arch->sm >= MIN_SM_DESCRIPTOR)
		return has_descriptor(arch, row->width, insn) ?
			       NULL :
			       "an access whose address is a sum with a uniform register";
	a->uniform = sass_field(insn, load ? 32 : 64, 6);
	if (a->uniform != SASS_URZ && (a->address != SASS_RZ || a->uniform % 2))
		return "an access whose address is a sum with a uniform register";
	return NULL;
}

/* Decodes the address of an access to shared or local memory. The address is a register times the scale in bits 78
 * and 79, plus a uniform register, plus a signed offset of 24 bits. Returns NULL, or a clause for messages why the
 * address is not known. */
static const char *read_near_address(const struct row *row, struct sass_insn insn, struct sass_access *a)
{
	static const uint8_t scales[] = { 1, 4, 8, 16 };
	bool load = a->access == GPUBPF_LOAD;

	a->near = true;
	a->address = insn.operand[1].reg;
	a->uniform = (insn.mode & 1) ? sass_field(insn, load ? 32 : 64, 6) : SASS_URZ;
	a->scale = scales[sass_field(insn, 78, 2)];
	a->offset = (int32_t)(sass_field(insn, 40, 24) << 8) >> 8;
	if (row->width == COMPARED && insn.in)
		return "an atomic operation that the kernel repeats until it succeeds";
	if (a->scale > 1 && !(a->spaces & GPUBPF_IN(SHARED)))
		return "an access in an unknown form";
	return NULL;
}

static bool is_generic_atomic(uint32_t operation)
{
	return operation == 0x18a || operation == 0x18b || operation == 0x1a2;
}

/* Checks an atomic operation on a generic address. In shared memory the operation may complete only for some lanes.
 * It then writes a predicate, and the following instructions handle the other lanes. Returns NULL, or a clause for
 * messages why the access is not known exactly. */
static const char *read_generic(const struct row *row, struct sass_insn insn)
{
	if (insn.out != SASS_PT)
		return "an atomic operation at a generic address, which other instructions may have to complete";
	return row->width == COMPARED && insn.in ? "an atomic operation that the kernel repeats until it succeeds" : NULL;
}

/* Does the atomic write the old value to a register? ATOMG, ATOMS and ATOM do; RED has no destination. */
static bool returns_old_value(struct sass_insn insn)
{
	uint32_t operation = OPERATION(sass_opcode(insn));

	return operation == 0x1a8 || operation == 0x1a9 || operation == 0x1a3 || operation == 0x18c ||
	       operation == 0x18d || is_generic_atomic(operation);
}

static const char *read_access(const struct sass_arch *arch, const struct row *row, struct sass_insn insn,
			       struct sass_access *a)
{
	const char *why;

	a->bytes = access_bytes(arch, row->width, insn);
	a->op = a->access == GPUBPF_ATOMIC ? atomic_op(row->width, insn) : 0;
	a->value = row->value ? sass_field(insn, value_field(row, insn), 8) : 0;
	a->nvalue = row->value ? (a->bytes + 3) / 4 : 0;
	a->operand = row->width == COMPARED ? insn.operand[2].reg : a->value;
	a->old = returns_old_value(insn) ? insn.operand[0].reg : SASS_RZ;
	if (!a->bytes || (a->access == GPUBPF_ATOMIC && !a->op))
		return "an atomic operation in an unknown form";
	if (is_generic_atomic(row->operation) && (why = read_generic(row, insn)))
		return why;
	return row->spaces & GPUBPF_IN(GLOBAL) ? read_address(arch, row, insn, a) : read_near_address(row, insn, a);
}

bool sass_decode_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *a)
{
	const struct row *row = find_row(OPERATION(sass_opcode(insn)));

	if (!row || row->what == NONE || insn.guard == (SASS_PT | 8)) /* never executes */
		return false;
	*a = (struct sass_access){ .access = row->access, .spaces = row->spaces, .second = SASS_PT, .why = row->why };
	if (row->what == ACCESS)
		a->why = row->width == COPIED ? read_copy(arch, insn, a) : read_access(arch, row, insn, a);
	return true;
}

bool sass_decode_second_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *a)
{
	struct sass_access first;
	const struct row *row = find_row(OPERATION(sass_opcode(insn)));

	if (!sass_decode_access(arch, insn, &first) || row->width != COPIED)
		return false;
	*a = (struct sass_access){ .access = GPUBPF_STORE, .spaces = GPUBPF_IN(SHARED), .near = true };
	a->why = read_copy(arch, insn, a);
	return true;
}
