/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the facts for lowering. Each visit of an instruction adds to the instruction's facts. If an earlier state
 * covers a path, the walk skips the path, and the path adds no facts. So a fact may use only values that are compared
 * when states are compared. Pointers are always compared, but a number is compared only if its precision mark is set. A
 * fact about a number is therefore stored as a note (struct value_note) until all marks are final.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

struct facts_block {
	struct gpubpf_facts facts;
	struct gpubpf_call_facts *calls;
};

static struct gpubpf_facts *make(const struct gpubpf_insn *insns, uint32_t n)
{
	struct facts_block *b = calloc(1, sizeof(*b));
	uint32_t ncalls = 0, k = 0;

	if (!b)
		return NULL;
	for (uint32_t pc = 0; pc < n; pc++)
		ncalls += insns[pc].kind == GPUBPF_INSN_CALL;
	b->facts.insn = calloc(n, sizeof(*b->facts.insn));
	b->facts.map_use = calloc(GPUBPF_MAX_MAPS, sizeof(*b->facts.map_use));
	b->calls = calloc(ncalls + 1, sizeof(*b->calls));
	if (!b->facts.insn || !b->facts.map_use || !b->calls) {
		gpubpf_facts_destroy(&b->facts);
		return NULL;
	}
	for (uint32_t pc = 0; pc < n; pc++) {
		b->facts.insn[pc].mem.map = GPUBPF_NO_MAP;
		if (insns[pc].kind != GPUBPF_INSN_CALL)
			continue;
		b->facts.insn[pc].call = &b->calls[k];
		b->calls[k].map = GPUBPF_NO_MAP;
		for (int i = 0; i < 5; i++)
			b->calls[k].arg[i].map = GPUBPF_NO_MAP;
		k++;
	}
	return &b->facts;
}

int facts_init(struct verifier *v)
{
	v->facts = make(v->insns, v->n);
	return v->facts ? 0 : -ENOMEM;
}

void facts_helper(struct gpubpf_facts *f, const struct gpubpf_helper *h)
{
	f->ends_thread |= h->class == GPUBPF_CLASS_ENDS;
	f->prints |= h->class == GPUBPF_CLASS_PRINT;
	f->clock |= h->op == GPUBPF_OP_CLOCK || h->op == GPUBPF_OP_LAUNCH_MARK ||
		    h->op == GPUBPF_OP_HOST_CALL; /* a wait is bounded by time */
	f->marks_launch |= h->op == GPUBPF_OP_LAUNCH_MARK;
	f->sm |= h->op == GPUBPF_OP_SM;
	/* the allocation table belongs to one process */
	f->pid |= h->op == GPUBPF_OP_PID || h->op == GPUBPF_OP_ALLOCATION || h->op == GPUBPF_OP_STACK_ID;
	f->allocations |= h->op == GPUBPF_OP_ALLOCATION;
	f->ctx_args |= h->op == GPUBPF_OP_DATA ? GPUBPF_DIRECT_ARGS : 0;
}

int gpubpf_facts_unproven(struct gpubpf_prog *prog)
{
	struct gpubpf_facts *f = make(prog->insns, prog->ninsns);

	for (uint32_t pc = 0; f && pc < prog->ninsns; pc++) {
		const struct gpubpf_helper *h = gpubpf_insn_helper(&prog->insns[pc]);

		/* unproven GPU programs call only helpers of these classes */
		if (h && (h->class == GPUBPF_CLASS_ENV || h->class == GPUBPF_CLASS_ENDS))
			facts_helper(f, h);
	}
	gpubpf_facts_destroy(prog->facts);
	prog->facts = f;
	return f ? 0 : -ENOMEM;
}

void gpubpf_facts_destroy(struct gpubpf_facts *facts)
{
	struct facts_block *b = (struct facts_block *)facts;

	if (!b)
		return;
	free(b->facts.insn);
	free(b->facts.map_use);
	free(b->facts.warnings);
	free(b->calls);
	free(b);
}

/* Returns true for memory that belongs to no map: the data buffer of a direct run, or the block of plain_mem. */
static bool is_outside_maps(const struct gpubpf_access *a)
{
	return a->spaces & GPUBPF_SPACE_MAP_VALUE && a->map == GPUBPF_NO_MAP;
}

static int16_t map_union(int16_t a, int16_t b)
{
	if (a == b || b == GPUBPF_NO_MAP)
		return a;
	return a == GPUBPF_NO_MAP ? b : GPUBPF_ANY_MAP;
}

void access_merge(struct gpubpf_access *to, const struct gpubpf_access *from)
{
	bool both_stack = to->spaces & from->spaces & GPUBPF_SPACE_STACK;
	/* no map stands for a map's values and other memory */
	bool mixed = (is_outside_maps(to) && from->map != GPUBPF_NO_MAP) ||
		     (is_outside_maps(from) && to->map != GPUBPF_NO_MAP);

	if (!to->spaces) {
		*to = *from;
		return;
	}
	if (both_stack && to->frame != from->frame)
		to->frame = GPUBPF_ANY_FRAME;
	else if (from->spaces & GPUBPF_SPACE_STACK)
		to->frame = from->frame;
	to->spaces |= from->spaces;
	to->align = to->align < from->align ? to->align : from->align;
	to->write |= from->write;
	to->map = mixed ? GPUBPF_ANY_MAP : map_union(to->map, from->map);
	to->off_min = to->off_min < from->off_min ? to->off_min : from->off_min;
	to->off_max = to->off_max > from->off_max ? to->off_max : from->off_max;
	to->size_min = to->size_min < from->size_min ? to->size_min : from->size_min;
	to->size_max = to->size_max > from->size_max ? to->size_max : from->size_max;
}

/*
 * Merges an access into an instruction's facts. If the map is the prototype of a map of maps, the value may belong to
 * any map with this prototype.
 */
static void access_add(const struct verifier *v, struct gpubpf_access *to, const struct gpubpf_access *from)
{
	struct gpubpf_access a = *from;

	if (a.map >= 0 && v->unit->maps[a.map].prototype)
		a.map = GPUBPF_ANY_MAP;
	access_merge(to, &a);
}

void facts_access(struct verifier *v, const struct gpubpf_access *a)
{
	access_add(v, &v->facts->insn[v->pc].mem, a);
}

void facts_arg(struct verifier *v, int i, const struct gpubpf_access *a)
{
	access_add(v, &v->facts->insn[v->pc].call->arg[i], a);
}

void facts_map_arg(struct verifier *v, int map)
{
	struct gpubpf_call_facts *c = v->facts->insn[v->pc].call;

	c->map = map_union(c->map, (int16_t)map);
	c->element |= map >= 0 && v->unit->maps[map].prototype;
}

static void record_value(struct verifier *v, const struct reg *r, int arg)
{
	if (!r->mark || mark_is_on(v, r->mark) || v->compare_all)
		return;
	if (v->nnotes == v->cap_notes) {
		uint32_t cap = v->cap_notes ? v->cap_notes * 2 : 64;
		struct value_note *notes = realloc(v->notes, cap * sizeof(*notes));

		if (!notes) {
			v->no_memory = true;
			return;
		}
		v->notes = notes;
		v->cap_notes = cap;
	}
	v->notes[v->nnotes++] = (struct value_note){ v->pc, r->mark, (int8_t)arg };
}

/*
 * Merges a number into a fact. *state is 0 before the first number, 1 if all numbers were equal so far, 2 if they
 * differ.
 */
static void see_value(struct verifier *v, const struct reg *r, uint8_t *state, uint64_t *value, int arg)
{
	bool known = r->type == R_SCALAR && scalar_is_const(&r->s);

	if (*state == 2)
		return;
	if (!known || (*state == 1 && *value != r->s.var.value)) {
		*state = 2;
		return;
	}
	*state = 1;
	*value = r->s.var.value;
	record_value(v, r, arg);
}

void facts_value(struct verifier *v, uint32_t pc, const struct reg *r)
{
	see_value(v, r, &v->aux[pc].value_state, &v->facts->insn[pc].value, -1);
}

void facts_konst(struct verifier *v, int i, const struct reg *r)
{
	see_value(v, r, &v->aux[v->pc].arg_state[i], &v->facts->insn[v->pc].call->konst[i], i);
}

static void confirm_values(struct verifier *v)
{
	for (uint32_t i = 0; i < v->nnotes; i++) {
		const struct value_note *n = &v->notes[i];

		if (mark_is_on(v, n->mark))
			continue;
		if (n->arg < 0)
			v->aux[n->pc].value_state = 2;
		else
			v->aux[n->pc].arg_state[n->arg] = 2;
	}
	for (uint32_t pc = 0; pc < v->n; pc++) {
		struct gpubpf_insn_facts *f = &v->facts->insn[pc];

		if (v->aux[pc].value_state == 1)
			f->flags |= GPUBPF_FACT_CONST;
		else
			f->value = 0;
		for (int i = 0; f->call && i < 5; i++)
			if (v->aux[pc].arg_state[i] == 1)
				f->call->konst_mask |= 1 << i;
			else
				f->call->konst[i] = 0;
	}
}

/*
 * How a register's value depends on one load in the same basic block. SUMMED is the loaded value plus a number, OTHER
 * any other value computed from the loaded value.
 */
enum derived { UNRELATED, LOADED, SUMMED, OTHER };

static enum derived add_derived(enum derived d, enum derived s)
{
	if (d == UNRELATED)
		return s == LOADED ? SUMMED : s;
	return s != UNRELATED ? OTHER : d == LOADED ? SUMMED : d;
}

static void follow_alu(const struct gpubpf_insn *insn, enum derived *of)
{
	enum derived s = insn->reg ? of[insn->src] : UNRELATED;

	if (insn->op == GPUBPF_MOV)
		of[insn->dst] = s;
	else if (insn->op == GPUBPF_ADD)
		of[insn->dst] = add_derived(of[insn->dst], s);
	else if (insn->op == GPUBPF_MOVSX)
		of[insn->dst] = s ? OTHER : UNRELATED;
	else if (of[insn->dst] || s)
		of[insn->dst] = OTHER;
}

/*
 * Finds a store that writes the sum of the value loaded at pc and a number back to the same address. Returns the
 * store's pc, or 0.
 */
static uint32_t find_rmw(const struct verifier *v, uint32_t pc)
{
	const struct gpubpf_insn *load = &v->insns[pc];
	enum derived of[GPUBPF_NREGS] = { UNRELATED };

	if (load->dst == load->src || load->sext || load->ordered)
		return 0;
	of[load->dst] = LOADED;
	for (uint32_t at = pc + 1; at < v->n && !v->aux[at].leader; at++) {
		const struct gpubpf_insn *insn = &v->insns[at];

		if (insn->ordered)
			return 0;
		switch (insn->kind) {
		case GPUBPF_INSN_ALU:
			if (insn->width < load->width && insn->op == GPUBPF_ADD && of[insn->dst])
				return 0;
			follow_alu(insn, of);
			break;
		case GPUBPF_INSN_LOAD:
		case GPUBPF_INSN_IMM64:
			of[insn->dst] = UNRELATED;
			break;
		case GPUBPF_INSN_HI:
			continue;
		case GPUBPF_INSN_STORE:
			if (insn->dst == load->src && insn->off == load->off && insn->width == load->width)
				return insn->reg && of[insn->src] == SUMMED ? at : 0;
			if (!(v->facts->insn[at].mem.spaces & ~GPUBPF_SPACE_STACK))
				continue;
			return 0;
		default:
			return 0;
		}
		if (insn->dst == load->src)
			return 0;
	}
	return 0;
}

static void find_rmws(struct verifier *v)
{
	for (uint32_t pc = 0; pc < v->n; pc++) {
		const struct gpubpf_access *mem = &v->facts->insn[pc].mem;
		uint32_t store;

		if (v->insns[pc].kind != GPUBPF_INSN_LOAD || mem->spaces != GPUBPF_SPACE_MAP_VALUE)
			continue;
		store = find_rmw(v, pc);
		if (!store || v->facts->insn[store].mem.spaces != GPUBPF_SPACE_MAP_VALUE)
			continue;
		v->facts->insn[store].flags |= GPUBPF_FACT_RMW_ADD;
		v->facts->insn[store].other = pc;
		for (uint32_t m = 0; m < v->unit->nmaps; m++)
			if (mem->map == (int)m ||
			    (mem->map == GPUBPF_ANY_MAP && (v->facts->map_use[m] & GPUBPF_USE_WRITE)))
				v->facts->map_use[m] |= GPUBPF_USE_RMW;
	}
}

int facts_finish(struct verifier *v)
{
	uint64_t most = 0;

	v->facts->cost = v->worst.cost;
	for (uint32_t pc = 0; pc < v->n; pc++) {
		struct gpubpf_insn_facts *f = &v->facts->insn[pc];

		if (v->aux[pc].walked)
			f->flags |= GPUBPF_FACT_REACHED;
		if (v->aux[pc].walked && v->insns[pc].kind == GPUBPF_INSN_IMM64)
			v->facts->insn[pc + 1].flags |= GPUBPF_FACT_REACHED;
		if (v->aux[pc].seen == 2)
			f->flags |= GPUBPF_FACT_ALWAYS;
		if (v->aux[pc].seen == 1)
			f->flags |= GPUBPF_FACT_NEVER;
		if (v->aux[pc].loop)
			f->trips = v->worst.trips[v->aux[pc].loop - 1];
		if (v->aux[pc].walked > most) {
			most = v->aux[pc].walked;
			v->facts->cost.hot_pc = pc;
		}
	}
	confirm_values(v);
	find_rmws(v);
	return 0;
}
