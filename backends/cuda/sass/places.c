/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#define CONSTANTS 3                /* the bank */
#define OP_BAR 0x11d
#define OP_BAR_NUMBER 0xb1d        /* that is in bits 54..57 */
#define OP_UCGABAR 0x1c7
#define OP_SYNCS 0x1a7

static bool is_access(const struct sass_code *code, struct sass_place *p)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(p->kind);

	if (!sass_access_of(code->arch, sass_code_at(code, p->at), &p->access))
		return false;
	p->why = p->access.why;
	if (!p->why && p->access.spaces & ~k->spaces)
		p->why = "an access that may be of a space that is not asked for (gpu/mem.all/ takes it)";
	return k->spaces & p->access.spaces && k->accesses >> p->access.access & 1;
}

/* Of the bank that has variables: parameters, and what a compiler puts away, are no accesses. */
static bool is_constant(const struct sass_code *code, struct sass_place *p)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(p->kind);

	if (!(k->spaces & GPUBPF_IN(CONSTANT)) || !(k->accesses >> GPUBPF_LOAD & 1) ||
	    sass_constant_bank(sass_code_at(code, p->at)) != CONSTANTS)
		return false;
	p->access = (struct sass_access){ .spaces = GPUBPF_IN(CONSTANT), .second = SASS_PT };
	p->why = "a read of a constant";
	return true;
}

enum bar_mode { BAR_SYNC, BAR_ARRIVE, BAR_REDUCE, BAR_SCAN };

/* What waits for others of the block; of what waits for a cluster or at an object in memory it is not known which do. */
static bool is_wait(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);

	p->why = NULL;
	p->barrier = sass_field(insn, 54, 4);
	switch (sass_opcode(insn) & 0x1ff) {
	case OP_BAR:
		if (sass_opcode(insn) != OP_BAR_NUMBER)
			p->why = "a barrier whose number is in a register";
		return sass_field(insn, 77, 2) != BAR_ARRIVE;
	case OP_UCGABAR:
		p->why = "of a cluster's barrier";
		return true;
	case OP_SYNCS:
		p->why = "of a barrier in memory";
		return true;
	default:
		return false;
	}
}

static bool is(const struct sass_code *code, struct sass_place *p)
{
	if (sass_field(sass_code_at(code, p->at), 12, 4) == (SASS_PT | 8)) /* never carried out */
		return false;
	if (gpubpf_place_kind(p->kind)->spaces)
		return is_access(code, p) || is_constant(code, p);
	return (p->kind == GPUBPF_SITE_BARRIER || p->kind == GPUBPF_SITE_BARRIER_EXIT) && is_wait(code, p);
}

int sass_places_each(const struct sass_code *code, uint32_t kinds, int (*fn)(void *arg, const struct sass_place *place),
		     void *arg)
{
	int err = 0;

	kinds &= gpubpf_places_of(GPUBPF_WHERE_INSN);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		struct sass_place place = { .kind = kind };

		for (place.at = 0; kinds >> kind & 1 && !err && place.at < code->n; place.at++) {
			if (!is(code, &place))
				continue;
			err = fn(arg, &place);
			place.id++;
		}
	}
	return err;
}
