/* SPDX-License-Identifier: Apache-2.0 */
#include "callees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "addresses.h"
#include "code.h"
#include "core/model/diag.h"

#define TEXT_PREFIX ".text."          /* a code section is named by this prefix and the name of its function */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

/* -- functions that are called by name -- */

struct text_walk {
	const struct sass_cubin *cubin;
	struct sass_texts *texts;
	uint8_t *found; /* found[i]: section i is in texts->section */
	struct gpubpf_diag *diag;
};

static void add_text(struct text_walk *f, uint32_t section)
{
	if (!f->found[section])
		f->texts->section[f->texts->n++] = section;
	f->found[section] = 1;
}

static int follow_relocation(void *arg, const struct sass_relocation *r)
{
	struct text_walk *f = arg;
	const struct sass_symbol *s = r->symbol < f->cubin->nsymbols ? &f->cubin->symbols[r->symbol] : NULL;

	f->texts->relocations++;
	if (!s || r->off % SASS_INSN)
		return refuse(f->diag, "the relocations of its code are invalid");
	if (r->type == SASS_RELOCATION_LOW || r->type == SASS_RELOCATION_HIGH)
		return 0;
	if (r->type != SASS_RELOCATION_CALL && s->head.st_other & SASS_STO_ENTRY &&
	    ELF64_ST_TYPE(s->head.st_info) == STT_FUNC)
		return refuse(f->diag,
			      "it launches %.100s itself (dynamic parallelism), which is possible only from its "
			      "original module",
			      s->name);
	if (r->type != SASS_RELOCATION_CALL)
		return refuse(f->diag, "its code has a relocation of unknown type %u", r->type);
	if (sass_is_system_call(s))
		return 0;
	if (!s->section || s->section == SASS_NONE || !(f->cubin->sections[s->section].head.sh_flags & SHF_EXECINSTR))
		return refuse(f->diag, "it calls %.100s, which is not in the image", s->name);
	add_text(f, s->section);
	return 0;
}

int sass_texts_find(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_texts *texts,
		    struct gpubpf_diag *diag)
{
	struct text_walk f = { c, texts, calloc(c->nsections, 1), diag };
	int err = 0;

	*texts = (struct sass_texts){ .section = calloc(c->nsections, sizeof(*texts->section)) };
	if (!f.found || !texts->section)
		err = -ENOMEM;
	else
		add_text(&f, k->text);
	for (uint32_t i = 0; !err && i < texts->n; i++)
		err = sass_relocations_each(c, texts->section[i], follow_relocation, &f);
	free(f.found);
	if (err < 0)
		sass_texts_finish(texts);
	return err;
}

void sass_texts_finish(struct sass_texts *texts)
{
	free(texts->section);
	*texts = (struct sass_texts){ 0 };
}

/* -- restrictions on callees -- */

/* If a function contains this instruction and a twin therefore cannot call the function, returns the reason as a clause
 * for messages. Otherwise returns NULL. A callee must not read constants of its module, because the twin is another
 * module. A callee must not end threads, because only the kernel's own exits have an exit probe. */
static const char *find_obstacle(struct sass_insn insn)
{
	int bank = sass_constant_bank(insn);

	if (bank == 3 || bank == 4)
		return "reads constants of its module";
	switch (sass_op(insn)->class) {
	case SASS_UNKNOWN:
		return "has an unknown instruction";
	case SASS_EXIT:
		return "ends threads";
	case SASS_MAXREG:
		return "changes the number of registers of its warp";
	case SASS_FIXED:
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
	case SASS_ASYNC:
	case SASS_SYNC:
	case SASS_INDIRECT:
	case SASS_BRANCH:
	case SASS_CALL_ABSOLUTE:
		break;
	}
	return NULL;
}

static int check_code(const struct sass_section *text, struct gpubpf_diag *diag)
{
	const char *name = text->name + (strncmp(text->name, TEXT_PREFIX, strlen(TEXT_PREFIX)) ? 0 : strlen(TEXT_PREFIX));

	if (!text->data || text->size % SASS_INSN)
		return refuse(diag, "it may call %.100s, whose code is truncated", name);
	for (size_t at = 0; at < text->size; at += SASS_INSN) {
		const char *what = find_obstacle(sass_read(text->data + at));

		if (what)
			return refuse(diag, "it may call %.100s, which %s", name, what);
	}
	return 0;
}

static bool is_function(const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_FUNC && s->section && s->section != SASS_NONE;
}

/* Checks that the kernel declares enough registers and stack for the functions that it may call. The linker usually
 * raises the kernel's numbers so that they suffice for its callees. The loader cannot do so for a twin, because it
 * sees only the twin. */
static int check_resources(const struct sass_cubin *c, const struct sass_kernel *k, const uint8_t *called,
			   struct gpubpf_diag *diag)
{
	const struct sass_section *info = &c->sections[sass_section_find(c, ".nv.info")];
	struct sass_item item;
	size_t at = 0;

	while (sass_item_next(info->data, info->size, &at, &item)) {
		uint32_t symbol = item.data && item.size == 8 ? sass_get32(item.data) : SASS_NONE;
		const struct sass_symbol *s = symbol < c->nsymbols ? &c->symbols[symbol] : NULL;
		bool stack = item.attr == SASS_ATTR_FRAME_SIZE || item.attr == SASS_ATTR_MIN_STACK_SIZE;

		if (!s || !is_function(s) || !called[s->section])
			continue;
		if ((item.attr == SASS_ATTR_REGCOUNT && sass_get32(item.data + 4) > k->regs) ||
		    (stack && sass_get32(item.data + 4) > k->stack))
			return refuse(diag,
				      "it may call %.100s, which needs more registers or stack than the kernel "
				      "has",
				      s->name);
	}
	return 0;
}

#define FOLLOWED 3 /* value of called[]: the function is called, and add_called() has followed its calls */

struct callee_walk {
	const struct sass_cubin *cubin;
	uint32_t section; /* index of the section whose relocations are being walked */
	uint8_t *called;
};

/* Marks the function whose address the relocation takes, as a possible target of calls through pointers. Skips an
 * address in the middle of the same function, because it is the return address of a call. */
static int add_address_taken(void *arg, const struct sass_relocation *r)
{
	const struct callee_walk *p = arg;
	const struct sass_symbol *s = r->symbol < p->cubin->nsymbols ? &p->cubin->symbols[r->symbol] : NULL;

	if (r->type != SASS_RELOCATION_CALL && s && s->section && s->section != SASS_NONE &&
	    (s->section != p->section || !r->addend))
		p->called[s->section] |= (p->cubin->sections[s->section].head.sh_flags & SHF_EXECINSTR) != 0;
	return 0;
}

/* Marks the function that the relocation of a call instruction names. */
static int add_called(void *arg, const struct sass_relocation *r)
{
	const struct callee_walk *p = arg;
	const struct sass_symbol *s = r->symbol < p->cubin->nsymbols ? &p->cubin->symbols[r->symbol] : NULL;

	if (r->type == SASS_RELOCATION_CALL && s && s->section && s->section != SASS_NONE && !sass_is_system_call(s))
		p->called[s->section] |= 1;
	return 0;
}

/* Marks in called[] the functions that a call through a pointer may reach. Such a function has its address in code or
 * data and is not a kernel. Also marks the functions that these functions call by name. */
static void find_address_taken(const struct sass_cubin *c, uint8_t *called)
{
	struct callee_walk p = { .cubin = c, .called = called };
	bool more = true;

	for (p.section = 1; p.section < c->nsections; p.section++)
		if (c->sections[p.section].head.sh_flags & SHF_ALLOC)
			sass_relocations_each(c, p.section, add_address_taken, &p);
	for (uint32_t i = 0; i < c->nkernels; i++)
		called[c->kernels[i].text] = 0;
	while (more) {
		more = false;
		for (p.section = 1; p.section < c->nsections; p.section++) {
			if (called[p.section] != 1)
				continue;
			called[p.section] = FOLLOWED;
			more = true;
			sass_relocations_each(c, p.section, add_called, &p);
		}
	}
}

enum sass_finding { SASS_ADDRESS_TAKEN = 1, SASS_MAY_BE_CALLED = 2 };

static int add_all_address_taken(const struct sass_cubin *c, uint8_t *called)
{
	uint8_t *pointed = c->section_results->pointed ? NULL : calloc(c->nsections, 1);

	if (!c->section_results->pointed && !pointed)
		return -ENOMEM;
	if (pointed)
		find_address_taken(c, pointed);
	for (uint32_t i = 1; i < c->nsections; i++) {
		c->section_results->section[i] |= pointed && pointed[i] ? SASS_ADDRESS_TAKEN : 0;
		called[i] |= c->section_results->section[i] & SASS_ADDRESS_TAKEN;
	}
	for (uint32_t i = 0; i < c->nkernels; i++)
		called[c->kernels[i].text] = 0;
	c->section_results->pointed = true;
	free(pointed);
	return 0;
}

/* Checks that a twin may call the function in the section. Does not repeat an earlier successful check. */
static int check_section(const struct sass_cubin *c, uint32_t section, struct gpubpf_diag *diag)
{
	int err = c->section_results->section[section] & SASS_MAY_BE_CALLED ? 0 : check_code(&c->sections[section], diag);

	if (!err)
		c->section_results->section[section] |= SASS_MAY_BE_CALLED;
	return err;
}

/* Sets (*called)[section] to a nonzero value for the section of each function that the kernel may call. The caller
 * frees *called. */
static int find_called(const struct sass_cubin *c, const struct sass_kernel *k, bool by_pointer, uint8_t **called,
		       struct gpubpf_diag *diag)
{
	struct sass_texts texts;
	int err;

	*called = calloc(c->nsections, 1);
	if (!*called)
		return -ENOMEM;
	err = sass_texts_find(c, k, &texts, diag);
	if (err < 0)
		return err;
	for (uint32_t i = 1; i < texts.n; i++)
		(*called)[texts.section[i]] = 1;
	sass_texts_finish(&texts);
	return by_pointer ? add_all_address_taken(c, *called) : 0;
}

int sass_callees_check(const struct sass_cubin *c, const struct sass_kernel *k, bool by_pointer, struct gpubpf_diag *diag)
{
	uint8_t *called;
	int err = find_called(c, k, by_pointer, &called, diag);

	for (uint32_t i = 1; !err && i < c->nsections; i++)
		if (called[i])
			err = check_section(c, i, diag);
	if (!err)
		err = check_resources(c, k, called, diag);
	free(called);
	return err;
}

static bool reads_shared_size(const struct sass_section *text)
{
	for (size_t at = 0; text->data && at + SASS_INSN <= text->size; at += SASS_INSN)
		if (sass_reads_shared_size(sass_read(text->data + at)))
			return true;
	return false;
}

int sass_callees_check_shared_size(const struct sass_cubin *c, const struct sass_kernel *k, bool by_pointer,
				   struct gpubpf_diag *diag)
{
	uint8_t *called;
	int err = find_called(c, k, by_pointer, &called, diag);

	for (uint32_t i = 1; !err && i < c->nsections; i++)
		if ((called[i] || i == k->text) && reads_shared_size(&c->sections[i]))
			err = refuse(diag, "it reads the size of its shared memory, which gpu/block_end/ enlarges");
	free(called);
	return err;
}
