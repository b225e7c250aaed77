/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: gives calls of kernel functions (kfuncs) the numbers of helpers.
 * Before: the image has passed gpubpf_precheck(). Its calls of kernel functions refer to external symbols.
 * After: a copy of the image has no external functions. A call has the number of the helper with the function's name,
 * or GPUBPF_KFUNC_UNKNOWN plus its index in l->kfuncs. A test for the function's existence is a constant.
 * Requires: libbpf has not opened the object. It would search the functions in the BTF of the running Linux kernel. That
 * kernel may lack them, and this process may not be allowed to read its BTF.
 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/model/diag.h"

#define CALL 0x85
#define IMM64 0x18
#define CALL_OF_KFUNC 2 /* BPF_PSEUDO_KFUNC_CALL */

struct image {
	struct gpubpf_loading *l;
	uint8_t *bytes; /* the copy */
	Elf64_Shdr *sections;
	uint32_t nsections, symtab;
	Elf64_Sym *symbols;
	uint32_t nsymbols;
	bool *replaced; /* [nsymbols] */
	bool *used;     /* [nsymbols]: the code refers to the symbol */
	bool *tested;   /* [nsymbols]: the object tests whether the function exists */
};

static void find_sections(struct image *m)
{
	const Elf64_Ehdr *header = (const void *)m->bytes;

	m->sections = (void *)(m->bytes + header->e_shoff);
	m->nsections = header->e_shnum;
	for (uint32_t i = 1; i < m->nsections; i++)
		if (m->sections[i].sh_type == SHT_SYMTAB)
			m->symtab = i;
	m->symbols = (void *)(m->bytes + m->sections[m->symtab].sh_offset);
	m->nsymbols = m->sections[m->symtab].sh_size / sizeof(*m->symbols);
}

static const char *symbol_name(const struct image *m, uint32_t symbol)
{
	const Elf64_Shdr *strings = &m->sections[m->sections[m->symtab].sh_link];

	return (const char *)m->bytes + strings->sh_offset + m->symbols[symbol].st_name;
}

static struct gpubpf_raw_insn *insn_of(const struct image *m, const Elf64_Shdr *relocations, const Elf64_Rel *rel)
{
	return (void *)(m->bytes + m->sections[relocations->sh_info].sh_offset + rel->r_offset);
}

static bool is_call_of_function(const struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel)
{
	return m->symbols[ELF64_R_SYM(rel->r_info)].st_shndx == SHN_UNDEF && insn_of(m, s, rel)->code == CALL;
}

static bool relocates_code(const struct image *m, const Elf64_Shdr *s)
{
	return s->sh_type == SHT_REL && m->sections[s->sh_info].sh_flags & SHF_EXECINSTR &&
	       m->sections[s->sh_info].sh_type == SHT_PROGBITS;
}

/* Calls fn for each relocation of code. If fn returns true, removes the relocation. */
static void each_relocation(struct image *m, bool (*fn)(struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel))
{
	for (uint32_t i = 1; i < m->nsections; i++) {
		Elf64_Shdr *s = &m->sections[i];
		Elf64_Rel *rel = (void *)(m->bytes + s->sh_offset);
		uint32_t n = relocates_code(m, s) ? s->sh_size / sizeof(*rel) : 0, kept = 0;

		for (uint32_t r = 0; r < n; r++)
			if (!fn(m, s, &rel[r]))
				rel[kept++] = rel[r];
		if (n)
			s->sh_size = kept * sizeof(*rel);
	}
}

static bool note_call(struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel)
{
	if (is_call_of_function(m, s, rel))
		m->replaced[ELF64_R_SYM(rel->r_info)] = true;
	return false;
}

static bool note_use(struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel)
{
	(void)s;
	m->used[ELF64_R_SYM(rel->r_info)] = true;
	return false;
}

/*
 * Returns true for an external symbol to which no code refers. Without optimization clang writes such symbols for
 * functions of headers that the program does not call, but no types, so libbpf would refuse the object.
 */
static bool is_unused(const struct image *m, uint32_t symbol)
{
	return m->symbols[symbol].st_shndx == SHN_UNDEF && !m->used[symbol];
}

static bool note_test(struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel)
{
	if (m->replaced[ELF64_R_SYM(rel->r_info)] && insn_of(m, s, rel)->code == IMM64)
		m->tested[ELF64_R_SYM(rel->r_info)] = true;
	return false;
}

int32_t gpubpf_kfunc_number(struct gpubpf_loading *l, const char *name)
{
	const struct gpubpf_helper *h = gpubpf_kfunc_find(name);

	if (h)
		return (int32_t)h->id;
	for (uint32_t i = 0; i < l->nkfuncs; i++)
		if (!strncmp(l->kfuncs[i], name, sizeof(l->kfuncs[i]) - 1))
			return (int32_t)(GPUBPF_KFUNC_UNKNOWN + i);
	if (l->nkfuncs == GPUBPF_MAX_KFUNCS)
		return GPUBPF_KFUNC_UNKNOWN;
	snprintf(l->kfuncs[l->nkfuncs], sizeof(l->kfuncs[0]), "%s", name);
	return (int32_t)(GPUBPF_KFUNC_UNKNOWN + l->nkfuncs++);
}

/*
 * Replaces a call, or a test for the function's existence. A call that follows such a test may be unreachable, so only
 * the verifier can refuse it.
 */
static bool replace(struct image *m, const Elf64_Shdr *s, const Elf64_Rel *rel)
{
	uint32_t symbol = ELF64_R_SYM(rel->r_info);
	struct gpubpf_raw_insn *insn = insn_of(m, s, rel);
	bool exists;

	if (!m->replaced[symbol])
		return false;
	exists = gpubpf_kfunc_find(symbol_name(m, symbol));
	insn->regs &= 0xf;
	if (insn->code == CALL)
		insn->imm = !exists && m->tested[symbol] ? GPUBPF_CORE_POISON :
							   gpubpf_kfunc_number(m->l, symbol_name(m, symbol));
	else
		insn->imm = exists;
	return true;
}

static bool is_replaced(const struct image *m, const char *name)
{
	for (uint32_t i = 1; i < m->nsymbols; i++)
		if (m->replaced[i] && !strcmp(symbol_name(m, i), name))
			return true;
	return false;
}

/* Returns true if the entry of the list of external symbols is a replaced function. */
static bool is_replaced_entry(const struct image *m, const struct btf *btf, const struct btf_var_secinfo *entry)
{
	const struct btf_type *t = btf__type_by_id(btf, entry->type);
	const char *name = t ? btf__name_by_offset(btf, t->name_off) : NULL;

	return name && is_replaced(m, name);
}

/*
 * Changes the list of external symbols in the types, in which libbpf requires an external symbol for each entry. An
 * entry of a replaced function becomes a copy of another entry. If all entries are replaced, libbpf does not read the
 * list; it reads only its size, which must not be 0.
 */
static void change_list(const struct image *m, const struct btf *btf, struct btf_type *list)
{
	struct btf_var_secinfo *entry = btf_var_secinfos(list);
	uint32_t n = btf_vlen(list), other = n;

	for (uint32_t i = 0; i < n && other == n; i++)
		if (!is_replaced_entry(m, btf, &entry[i]))
			other = i;
	if (other == n)
		list->size = n * sizeof(uint32_t);
	for (uint32_t i = 0; i < n && other < n; i++)
		if (is_replaced_entry(m, btf, &entry[i]))
			entry[i] = entry[other];
}

static int change_types(const struct image *m)
{
	const Elf64_Shdr *names = &m->sections[((const Elf64_Ehdr *)(const void *)m->bytes)->e_shstrndx], *s = NULL;
	const uint8_t *raw;
	struct btf *btf;
	uint32_t size;
	int id;

	for (uint32_t i = 1; i < m->nsections; i++)
		if (!strcmp((const char *)m->bytes + names->sh_offset + m->sections[i].sh_name, ".BTF"))
			s = &m->sections[i];
	if (!s)
		return 0;
	btf = btf__new(m->bytes + s->sh_offset, (uint32_t)s->sh_size);
	if (!btf)
		return gpubpf_log_refuse(m->l->diag, "the object's BTF cannot be read", -errno);
	id = btf__find_by_name_kind(btf, ".ksyms", BTF_KIND_DATASEC);
	raw = btf__raw_data(btf, &size);
	if (id > 0 && raw)
		change_list(m, btf,
			    (void *)(m->bytes + s->sh_offset +
				     ((const uint8_t *)btf__type_by_id(btf, (uint32_t)id) - raw)));
	btf__free(btf);
	return 0;
}

static int replace_all(struct image *m)
{
	bool any = false;

	find_sections(m);
	m->replaced = calloc(m->nsymbols + 1, sizeof(*m->replaced));
	m->tested = calloc(m->nsymbols + 1, sizeof(*m->tested));
	m->used = calloc(m->nsymbols + 1, sizeof(*m->used));
	if (!m->replaced || !m->tested || !m->used) {
		gpubpf_diag_set(m->l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for %u symbols", m->nsymbols);
		return -ENOMEM;
	}
	each_relocation(m, note_use);
	each_relocation(m, note_call);
	each_relocation(m, note_test);
	each_relocation(m, replace);
	for (uint32_t i = 1; i < m->nsymbols; i++) {
		m->replaced[i] |= is_unused(m, i);
		any |= m->replaced[i];
		if (m->replaced[i]) /* libbpf ignores local symbols */
			m->symbols[i].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
	}
	return any ? change_types(m) : 0;
}

int gpubpf_kfuncs_replace(struct gpubpf_loading *l)
{
	struct image m = { .l = l, .bytes = malloc(l->size + 1) };
	int err;

	if (!m.bytes) {
		gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for a copy of the object");
		return -ENOMEM;
	}
	memcpy(m.bytes, l->image, l->size);
	err = replace_all(&m);
	free(m.replaced);
	free(m.tested);
	free(m.used);
	l->linked = m.bytes;
	return err;
}

/* Returns the name of a function of the running Linux kernel by its BTF id, or NULL. The caller has libbpf's lock. */
static const char *name_of_id(int32_t id)
{
	static struct btf *kernel;
	const struct btf_type *t;

	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	t = kernel && id > 0 ? btf__type_by_id(kernel, (uint32_t)id) : NULL;
	return t && btf_is_func(t) ? btf__name_by_offset(kernel, t->name_off) : NULL;
}

void gpubpf_kfuncs_resolve(struct gpubpf_loading *l, struct gpubpf_sys_prog *prog)
{
	struct gpubpf_raw_insn *insn = (void *)prog->insns;
	const char *name;

	for (uint32_t pc = 0; pc < prog->ninsns; pc += insn[pc].code == IMM64 ? 2 : 1) {
		if (insn[pc].code != CALL || insn[pc].regs >> 4 != CALL_OF_KFUNC || insn[pc].off)
			continue;
		gpubpf_libbpf_lock();
		name = name_of_id(insn[pc].imm);
		gpubpf_libbpf_unlock();
		if (!name)
			continue;
		insn[pc].regs = 0;
		insn[pc].imm = gpubpf_kfunc_number(l, name);
	}
}
