/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <string.h>

#define NONE PTX_NONE
#define STATED UINT32_MAX
#define UNSAID PTX_BYTES_UNKNOWN, 0
#define TYPE PTX_BYTES_TYPE, 0
#define ROW PTX_BYTES_ROW, 0
#define COPIED PTX_BYTES_COPIED, 2
#define OPERAND(n) PTX_BYTES_OPERAND, n

/* a row of backends/cuda/ptx/ir/isa.def */
struct row {
	const char *opcode, *modifiers;
	uint32_t size; /* bytes of the opcode, without NUL */
	enum { ACCESS, UNSEEN, NO_ACCESS } what;
	const char *why; /* UNSEEN: noun phrase for the memory, part of a diagnostic */
	/*
	 * UNSEEN: bits GPUBPF_IN of the state spaces of the access. The value STATED means the spaces that the
	 * modifiers name.
	 */
	uint32_t spaces;
	/* ACCESS: index of the operand that is stored or that an atomic combines with memory, or NONE */
	uint32_t value;
	enum gpubpf_mem_access access;
	uint8_t address, space;
	enum ptx_bytes how;
	uint8_t bytes_operand;
};

#define ROW_OF(opcode, modifiers, access, address, space, how, bytes_operand, value) \
	{ opcode, modifiers, sizeof(opcode) - 1, ACCESS, NULL, 0, value, access, address, space, how, bytes_operand },
#define PTX_ACCESS(opcode, modifiers, access, address, space, bytes, value) \
	ROW_OF_BYTES(opcode, modifiers, GPUBPF_##access, address, space, bytes, value)
#define ROW_OF_BYTES(...) ROW_OF(__VA_ARGS__)
#define PTX_UNSEEN(opcode, modifiers, does, spaces, why) \
	{ opcode, modifiers, sizeof(opcode) - 1, UNSEEN, why, spaces, .access = GPUBPF_##does },
#define PTX_NO_ACCESS(opcode, modifiers) { opcode, modifiers, sizeof(opcode) - 1, NO_ACCESS },

static const struct row rows[] = {
#include "backends/cuda/ptx/ir/isa.def"
};

#define NROWS (sizeof(rows) / sizeof(*rows))

/* Returns true if the token is this modifier, perhaps with a part after "::". So ".shared" matches ".shared::cta". */
static bool is_word(const struct ptx_module *m, uint32_t token, const char *word, size_t n)
{
	const char *text = ptx_token_text(m, token);
	uint32_t len = m->tokens[token].len;

	return len >= n && !memcmp(text, word, n) && (len == n || (len > n + 1 && text[n] == ':' && text[n + 1] == ':'));
}

static bool has_modifier(const struct ptx_module *m, const struct ptx_node *insn, const char *word, size_t n)
{
	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		if (is_word(m, t, word, n))
			return true;
	return false;
}

bool ptx_has_modifiers(const struct ptx_module *m, uint32_t node, const char *modifiers)
{
	for (const char *at = modifiers; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (!has_modifier(m, &m->nodes[node], at, n))
			return false;
		at += n;
	}
	return true;
}

/* Returns the index of the first row of backends/cuda/ptx/ir/isa.def that matches the instruction, or NROWS. */
static size_t find_row(const struct ptx_module *m, uint32_t node)
{
	const struct ptx_token *name = &m->tokens[m->nodes[node].name];
	size_t i = 0;

	while (i < NROWS && (name->len != rows[i].size || memcmp(m->text + name->off, rows[i].opcode, rows[i].size) ||
			     !ptx_has_modifiers(m, node, rows[i].modifiers)))
		i++;
	return i;
}

bool ptx_is_known(const struct ptx_module *m, uint32_t node)
{
	return find_row(m, node) < NROWS;
}

uint32_t ptx_operand(const struct ptx_module *m, uint32_t node, uint32_t i)
{
	const struct ptx_node *insn = &m->nodes[node];
	uint32_t depth = 0;

	for (uint32_t t = insn->operands; t + 1 < insn->end; t++) {
		if (!depth && !i)
			return t;
		if (ptx_token_is(m, t, "[") || ptx_token_is(m, t, "{") || ptx_token_is(m, t, "("))
			depth++;
		else if (ptx_token_is(m, t, "]") || ptx_token_is(m, t, "}") || ptx_token_is(m, t, ")"))
			depth--;
		else if (!depth && ptx_token_is(m, t, ","))
			i--;
	}
	return PTX_NONE;
}

/* Returns the token of the i-th modifier that names a state space, and sets *spaces to that space. */
static uint32_t find_named_space(const struct ptx_module *m, const struct ptx_node *insn, uint32_t i, uint32_t *spaces)
{
	static const struct {
		const char *word;
		uint32_t spaces;
	} words[] = {
		{ ".global", GPUBPF_IN(GLOBAL) },
		{ ".shared", GPUBPF_IN(SHARED) },
		{ ".local", GPUBPF_IN(LOCAL) },
		{ ".const", GPUBPF_IN(CONSTANT) },
	};

	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (is_word(m, t, words[k].word, strlen(words[k].word)) && !i--) {
				*spaces = words[k].spaces;
				return t;
			}
	*spaces = GPUBPF_IN_ANY;
	return PTX_NONE;
}

/* Returns all state spaces that the modifiers name. Without such a modifier the access may be to any space. */
static uint32_t find_named_spaces(const struct ptx_module *m, const struct ptx_node *insn)
{
	uint32_t all = 0, spaces;

	for (uint32_t i = 0; find_named_space(m, insn, i, &spaces) != PTX_NONE; i++)
		all |= spaces;
	return all ? all : GPUBPF_IN_ANY;
}

uint32_t ptx_type_bytes(const struct ptx_module *m, uint32_t node)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} types[] = {
		{ ".b8", 1 },  { ".u8", 1 },  { ".s8", 1 },    { ".b16", 2 },    { ".u16", 2 },
		{ ".s16", 2 }, { ".f16", 2 }, { ".bf16", 2 },  { ".b32", 4 },    { ".u32", 4 },
		{ ".s32", 4 }, { ".f32", 4 }, { ".f16x2", 4 }, { ".bf16x2", 4 }, { ".b64", 8 },
		{ ".u64", 8 }, { ".s64", 8 }, { ".f64", 8 },   { ".b128", 16 },
	};
	const struct ptx_node *insn = &m->nodes[node];

	for (uint32_t t = insn->operands - 1; t > insn->name; t--)
		for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
			if (ptx_token_is(m, t, types[i].type))
				return types[i].bytes;
	return 0;
}

static uint32_t get_vector_length(const struct ptx_module *m, const struct ptx_node *insn)
{
	return has_modifier(m, insn, ".v8", 3) ? 8 :
	       has_modifier(m, insn, ".v4", 3) ? 4 :
	       has_modifier(m, insn, ".v2", 3) ? 2 :
						 1;
}

static struct ptx_access describe_access(const struct ptx_module *m, uint32_t node, const struct row *row)
{
	const struct ptx_node *insn = &m->nodes[node];
	struct ptx_access a = { .access = row->access,
				.how = row->how,
				.count = 1,
				.address = ptx_operand(m, node, row->address),
				.value = row->value == NONE ? PTX_NONE : ptx_operand(m, node, row->value) };
	uint32_t bytes = ptx_type_bytes(m, node);

	a.space = find_named_space(m, insn, row->space, &a.spaces);
	if (a.how == PTX_BYTES_TYPE) {
		a.count = get_vector_length(m, insn);
		a.bytes = bytes * a.count;
		a.unseen = bytes ? NULL : "elements of a type that gpubpf does not know";
	} else if (a.how == PTX_BYTES_ROW) {
		a.bytes = 16;
	} else if (a.how != PTX_BYTES_UNKNOWN) {
		a.bytes_operand = ptx_operand(m, node, row->bytes_operand);
		a.unseen = a.bytes_operand == PTX_NONE ? "an unknown number of bytes" : NULL;
	}
	if (a.address == PTX_NONE || !ptx_token_is(m, a.address, "["))
		a.unseen = "memory whose address is in an unexpected operand";
	return a;
}

struct ptx_access ptx_describe_object(const struct ptx_module *m, uint32_t node, uint32_t operand)
{
	struct ptx_access a = { .address = operand, .value = PTX_NONE };

	a.space = find_named_space(m, &m->nodes[node], 0, &a.spaces);
	if (operand == PTX_NONE || !ptx_token_is(m, operand, "["))
		a.unseen = "memory whose address is in an unexpected operand";
	return a;
}

uint32_t ptx_accesses(const struct ptx_module *m, uint32_t node, struct ptx_access out[PTX_MAX_ACCESSES])
{
	const struct ptx_node *insn = &m->nodes[node];
	size_t first = find_row(m, node);
	uint32_t n = 0;

	if (first == NROWS) {
		out[0] = (struct ptx_access){ .access = GPUBPF_ATOMIC,
					      .spaces = GPUBPF_IN_ALL,
					      .unseen = "an unknown access" };
		return 1;
	}
	if (rows[first].what == NO_ACCESS)
		return 0;
	if (rows[first].what == UNSEEN) {
		uint32_t spaces = rows[first].spaces == STATED ? find_named_spaces(m, insn) : rows[first].spaces;

		out[0] = (struct ptx_access){ .access = rows[first].access, .spaces = spaces, .unseen = rows[first].why };
		return 1;
	}
	for (size_t i = first; i < NROWS && n < PTX_MAX_ACCESSES && rows[i].what == ACCESS; i++)
		if (!strcmp(rows[i].opcode, rows[first].opcode) && !strcmp(rows[i].modifiers, rows[first].modifiers))
			out[n++] = describe_access(m, node, &rows[i]);
	return n;
}
