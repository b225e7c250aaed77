/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: parses a twin's assembly text and assembles each distinct instruction once.
 * Before: the text of hip_stub_write().
 * After: struct hip_listing has the items of the text (struct hip_item), without offsets. hip_listing_place() sets the
 * offsets.
 * Requires: LLVM's assembler (hip_assemble()).
 */
#include "listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/object/assemble.h"
#include "core/model/diag.h"
#include "backends/hip/amdgpu/object/elf.h"

static uint32_t hash(const char *s, uint32_t length)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < length; i++)
		h = (h ^ (uint8_t)s[i]) * 16777619u;
	return h ^ h >> 15;
}

/* Returns the hash table slot that contains the string, or the empty slot to insert it. */
static uint32_t *slot_of(const struct hip_strings *all, const char *s, uint32_t length)
{
	for (uint32_t at = hash(s, length);; at++) {
		uint32_t *slot = &all->slots[at & (all->nslots - 1)];

		if (!*slot || (all->list[*slot - 1].length == length && !memcmp(all->list[*slot - 1].s, s, length)))
			return slot;
	}
}

static int grow(struct hip_strings *all)
{
	uint32_t room = all->room ? 2 * all->room : 1024;
	struct hip_string *list = realloc(all->list, room * sizeof(*list));
	uint32_t *slots = calloc(2 * room, sizeof(*slots));

	all->list = list ? list : all->list;
	if (!list || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(all->slots);
	all->slots = slots;
	all->nslots = 2 * room;
	all->room = room;
	for (uint32_t i = 0; i < all->n; i++)
		*slot_of(all, list[i].s, list[i].length) = i + 1;
	return 0;
}

/* Returns the index of a string in the list, and adds the string if it is new. Returns HIP_NONE if memory is
 * exhausted. */
static uint32_t intern_string(struct hip_strings *all, const char *s, uint32_t length)
{
	uint32_t *slot;

	if (all->n == all->room && grow(all) < 0)
		return HIP_NONE;
	slot = slot_of(all, s, length);
	if (!*slot) {
		all->list[all->n] = (struct hip_string){ .s = s, .length = length, .at = HIP_NONE, .islands = HIP_NONE };
		*slot = ++all->n;
	}
	return *slot - 1;
}

static int add_item(struct hip_listing *l, enum hip_item_kind kind, uint32_t what, uint32_t label)
{
	if (l->nitems == l->room) {
		uint32_t room = l->room ? 2 * l->room : 4096;
		struct hip_item *grown = realloc(l->items, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->items = grown;
		l->room = room;
	}
	l->items[l->nitems++] = (struct hip_item){ kind, what, label, 0, HIP_NONE };
	return 0;
}

static int add_insn(struct hip_listing *l, const char *line, uint32_t length)
{
	uint32_t insn = intern_string(&l->insns, line, length);

	return insn == HIP_NONE ? -ENOMEM : add_item(l, HIP_ITEM_INSN, insn, 0);
}

static int add_label(struct hip_listing *l, enum hip_item_kind kind, uint32_t what, const char *name, uint32_t length)
{
	uint32_t label = intern_string(&l->labels, name, length);

	return label == HIP_NONE ? -ENOMEM : add_item(l, kind, what, label);
}

static bool has_prefix(const char *line, uint32_t length, const char *with)
{
	return length >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* Returns true if the last operand of a move is a number that does not fit an inline constant. Such an instruction has
 * a literal word. */
static bool is_literal(const char *line, uint32_t length, const char *last, uint32_t *value)
{
	char *end;
	long long v;

	if (!has_prefix(line, length, "s_mov_b32 ") && !has_prefix(line, length, "v_mov_b32 "))
		return false;
	v = strtoll(last, &end, 0);
	*value = v;
	return end == line + length && (v < -16 || v > 64);
}

/* Adds an instruction. The last operand of a branch (the label) or of a move of a literal is recorded separately, so
 * that equal instructions are assembled only once. The operand does not change the instruction's size. */
static int read_insn(struct hip_listing *l, const char *line, uint32_t length)
{
	bool branch = has_prefix(line, length, "s_branch ") || has_prefix(line, length, "s_cbranch_") ||
		      has_prefix(line, length, "s_call_b64 ");
	const char *last = line + length;
	uint32_t insn, value;

	while (last > line && last[-1] != ' ')
		last--;
	if (!branch && !is_literal(line, length, last, &value))
		return add_insn(l, line, length);
	insn = intern_string(&l->insns, line, last - line);
	if (insn == HIP_NONE)
		return -ENOMEM;
	return branch ? add_label(l, HIP_ITEM_JUMP, insn, last, line + length - last) :
			add_item(l, HIP_ITEM_LITERAL, insn, value);
}

static int read_line(struct hip_listing *l, const char *line, uint32_t length)
{
	char *rest;
	uint32_t word;

	if (line[0] != '\t')
		return add_label(l, HIP_ITEM_LABEL, 0, line, length - 1);
	if (has_prefix(line, length, "\t.long "))
		return add_item(l, HIP_ITEM_WORD, strtoul(line + 7, NULL, 16), 0);
	if (has_prefix(line, length, "\t.branch ")) {
		word = strtoul(line + 9, &rest, 16);
		return add_label(l, HIP_ITEM_BRANCH, word, rest + 1, line + length - (rest + 1));
	}
	if (has_prefix(line, length, "\t.pool"))
		return add_item(l, HIP_ITEM_POOL, l->npools++, 0);
	if (has_prefix(line, length, "\t.p2align "))
		return add_item(l, HIP_ITEM_ALIGN, 0, 0);
	return read_insn(l, line + 1, length - 1);
}

static int read_lines(struct hip_listing *l, const struct gpubpf_blob *text)
{
	const char *line = text->data, *end = line + text->size, *next;
	int err = 0;

	for (; !err && line < end; line = next + 1) {
		next = memchr(line, '\n', end - line);
		if (!next)
			return -EINVAL;
		if (next > line)
			err = read_line(l, line, next - line);
	}
	return err;
}

/* Returns a placeholder for the last operand of an instruction that is recorded without it: a distance for a branch, a
 * literal for a move. Returns "" for other instructions. */
static const char *operand_of(const struct hip_string *insn)
{
	if (insn->s[insn->length - 1] != ' ')
		return "";
	return has_prefix(insn->s, insn->length, "s_mov") || has_prefix(insn->s, insn->length, "v_mov") ? "0x10101010" :
													  "0";
}

/* Writes the assembly text of the distinct instructions. A label gpubpf_<index> precedes each one. */
static int write_insns(const struct hip_listing *l, struct gpubpf_blob *out)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, &out->size);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->insns.n; i++) {
		const struct hip_string *insn = &l->insns.list[i];

		fprintf(f, "gpubpf_%u:\n\t%.*s%s\n", i, (int)insn->length, insn->s, operand_of(insn));
	}
	fprintf(f, "gpubpf_%u:\n", l->insns.n);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	out->data = text;
	return 0;
}

/* Finds the offset and size of each assembled instruction in the object, by the labels of write_insns(). */
static int find_insns(struct hip_listing *l, const struct hip_elf *elf, struct gpubpf_diag *diag)
{
	struct hip_symbols symbols = hip_elf_symbols(elf, SHT_SYMTAB);
	uint32_t n = l->insns.n, found = 0, number, section = 0;
	const uint8_t *bytes = NULL;
	uint64_t end = 0;
	Elf64_Shdr head;
	Elf64_Sym symbol;
	const char *name;

	for (uint32_t i = 0; hip_elf_symbol(&symbols, i, &symbol, &name); i++) {
		if (sscanf(name, "gpubpf_%u", &number) != 1 || number > n)
			continue;
		found++;
		section = symbol.st_shndx;
		if (number == n)
			end = symbol.st_value;
		else
			l->insns.list[number].at = symbol.st_value;
	}
	if (found != n + 1 || !hip_elf_section(elf, section, &head, &bytes) || !bytes || end > head.sh_size)
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the assembled instructions lack a label");
	for (uint32_t i = 0; i < n; i++)
		l->insns.list[i].size = (i + 1 < n ? l->insns.list[i + 1].at : end) - l->insns.list[i].at;
	l->code_size = end;
	l->code = malloc(end + 1);
	if (!l->code)
		return -ENOMEM;
	memcpy(l->code, bytes, end);
	return 0;
}

static int assemble(struct hip_listing *l, struct gpubpf_diag *diag)
{
	struct gpubpf_blob text, object = { 0 };
	struct hip_elf elf;
	int err = write_insns(l, &text);

	if (err < 0)
		return err;
	err = hip_assemble(l->draft->isa, l->draft->wave32, text.data, text.size, &object, diag);
	if (!err)
		err = hip_elf_open(object.data, object.size, &elf, diag);
	if (!err)
		err = find_insns(l, &elf, diag);
	free(object.data);
	free(text.data);
	return err;
}

/* Turns items of kind JUMP into BRANCH: replaces the index of the instruction by its encoded word. */
static void make_branches(struct hip_listing *l)
{
	for (uint32_t i = 0; i < l->nitems; i++) {
		struct hip_item *item = &l->items[i];

		if (item->kind != HIP_ITEM_JUMP)
			continue;
		item->kind = HIP_ITEM_BRANCH;
		memcpy(&item->what, l->code + l->insns.list[item->what].at, sizeof(item->what));
	}
}

int hip_listing_read(const struct hip_draft *draft, const struct gpubpf_blob *text, struct hip_listing *l,
		     struct gpubpf_diag *diag)
{
	int err;

	*l = (struct hip_listing){ .draft = draft };
	err = read_lines(l, text);
	l->pools = err ? NULL : calloc(l->npools + 1, sizeof(*l->pools));
	if (!err && !l->pools)
		err = -ENOMEM;
	if (!err)
		err = assemble(l, diag);
	if (!err)
		make_branches(l);
	return err;
}

void hip_listing_finish(struct hip_listing *l)
{
	free(l->insns.list);
	free(l->insns.slots);
	free(l->labels.list);
	free(l->labels.slots);
	free(l->items);
	free(l->pools);
	free(l->islands);
	free(l->code);
	free(l->bytes);
	*l = (struct hip_listing){ 0 };
}

uint32_t hip_listing_find(const struct hip_listing *l, const char *name)
{
	uint32_t *slot = l->labels.n ? slot_of(&l->labels, name, strlen(name)) : NULL;

	return slot && *slot ? l->labels.list[*slot - 1].at : HIP_NONE;
}
