/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz-contain [SECONDS [SEED]]: runs random programs that the verifier accepts in the interpreter. Before every
 * instruction the concrete registers and stack must be inside one of the states that the verifier walked. A second
 * verification prunes states by their marks, and its facts must hold too. The test continues after SECONDS until it has
 * tried enough programs. A tenth of them must be accepted and run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/verify/verify.h"
#include "run.h"
#include "tests/tap.h"

#define MAX_STATES 4096
#define MIN_PROGRAMS 500 /* minimum number of programs that the test tries */

struct seen {                       /* a state that the verifier walked */
	struct seen *next;
	struct state *state;
};

struct check {
	struct run run;
	struct seen *seen[GEN_MAX_INSNS];
	uint16_t live[GEN_MAX_INSNS];
	uint32_t nseen;
	struct verifier keeper;     /* owns the memory of the copied states */
	/* executed instructions; programs checked against states; programs checked against facts */
	uint64_t checked, contained, proven;
	uint64_t before[GPUBPF_NREGS];
	uint32_t before_pc;
	uint64_t trail[2][GEN_MAX_INSNS]; /* a hash of each instruction's results, for each of two threads */
	int which;
};

static void record_state(void *arg, const struct verifier *v)
{
	struct check *r = arg;
	struct seen *s;

	r->live[v->pc] = v->aux[v->pc].live;
	if (r->nseen++ >= MAX_STATES)
		return;
	s = malloc(sizeof(*s));
	s->state = state_copy(&r->keeper, v->cur);
	s->next = r->seen[v->pc];
	r->seen[v->pc] = s;
}

static void forget_states(struct check *r)
{
	for (uint32_t pc = 0; pc < GEN_MAX_INSNS; pc++)
		while (r->seen[pc]) {
			struct seen *s = r->seen[pc];

			r->seen[pc] = s->next;
			state_free(&r->keeper, s->state);
			free(s);
		}
	r->nseen = 0;
}

static bool in_bounds(const struct bounds *b, uint64_t u, int64_t s)
{
	return u >= b->umin && u <= b->umax && s >= b->smin && s <= b->smax;
}

static bool in_scalar(const struct scalar *s, uint64_t value)
{
	return !((value ^ s->var.value) & ~s->var.mask) && in_bounds(&s->w64, value, (int64_t)value) &&
	       in_bounds(&s->w32, (uint32_t)value, (int32_t)value);
}

/*
 * Returns true if the address is in the state's range, relative to some element of the map. A variable part of 4096 or
 * more numbers is not checked.
 */
static bool in_value(const struct check *r, const struct reg *reg, uint64_t address)
{
	const struct gpubpf_map_layout *l = &r->run.layout.maps[reg->map];
	uint64_t first = (uintptr_t)r->run.arena + l->ctl, last = first + l->size;
	int64_t from = reg->s.w64.smin;
	uint64_t width = (uint64_t)reg->s.w64.smax - (uint64_t)from;

	for (uint64_t i = 0; i <= width && width < 4096; i++) {
		uint64_t varies = (uint64_t)from + i, base = address - varies - (uint64_t)(int64_t)reg->off;

		if (base >= first && base < last && base % 8 == 0 && in_scalar(&reg->s, varies))
			return true;
	}
	return width >= 4096;
}

static bool in_reg(const struct check *r, const struct reg *reg, uint64_t value)
{
	if (reg->or_null && !value)
		return true;
	switch (reg->type) {
	case R_SCALAR:
		return in_scalar(&reg->s, value);
	case R_CTX:
		return in_scalar(&reg->s, value - GPUBPF_PTR_CTX - (uint64_t)(int64_t)reg->off);
	case R_STACK:
		return in_scalar(&reg->s, value - GPUBPF_PTR_STACK - 512u * (reg->frame + 1u) - (uint64_t)(int64_t)reg->off);
	case R_MAP:
		return value == GPUBPF_PTR_MAP + (uint64_t)reg->map;
	case R_VALUE:
		return in_value(r, reg, value);
	default:
		return true;
	}
}

static bool in_slot(const struct check *r, const struct stack_slot *s, const uint8_t *bytes)
{
	unsigned int n = 0;
	uint64_t value = 0;

	for (unsigned int k = 0; k < 8; k++)
		if (s->kind[k] == B_ZERO && bytes[k])
			return false;
	while (n < 8 && s->kind[n] == B_SPILL)
		n++;
	memcpy(&value, bytes, n);
	return !n || in_reg(r, &s->reg, value);
}

/* Returns the register's number without the constant by which it differs from the registers that are linked with it. */
static uint64_t linked_base(const struct reg *r, uint64_t value)
{
	if (!r->linked)
		return value;
	value -= (uint64_t)(int64_t)r->off;
	return r->linked == 4 ? (uint32_t)value : value;
}

static bool linked_agree(const struct frame *f, const uint64_t *reg, uint16_t live)
{
	for (int a = 0; a < GPUBPF_R10; a++)
		for (int b = a + 1; b < GPUBPF_R10; b++) {
			const struct reg *x = &f->regs[a], *y = &f->regs[b];

			if (!(live >> a & live >> b & 1) || x->type != R_SCALAR || y->type != R_SCALAR || !x->id || x->id != y->id)
				continue;
			if (linked_base(x, reg[a]) != linked_base(y, reg[b]))
				return false;
		}
	return true;
}

static bool in_state(const struct check *r, const struct state *s, const struct gpubpf_interp_state *at, char *why)
{
	const struct frame *top = s->frame[s->nframes - 1];

	if (s->nframes != at->depth + 1)
		return false;
	for (int i = 0; i < GPUBPF_NREGS; i++)
		if ((r->live[at->pc] >> i & 1) && !in_reg(r, &top->regs[i], at->reg[i])) {
			sprintf(why, "r%d is 0x%llx", i, (unsigned long long)at->reg[i]);
			return false;
		}
	if (!linked_agree(top, at->reg, r->live[at->pc])) {
		strcpy(why, "linked registers differ");
		return false;
	}
	for (uint32_t f = 0; f < s->nframes; f++)
		for (uint32_t k = 0; k < s->frame[f]->nslots; k++)
			if (!in_slot(r, &s->frame[f]->slots[k], at->stack + 512 * (f + 1) - 8 * (k + 1))) {
				sprintf(why, "frame %u, r10-%u", f, 8 * (k + 1));
				return false;
			}
	return true;
}

static void check_state(void *arg, const struct gpubpf_interp_state *at)
{
	struct check *r = arg;
	char why[128] = "no state";

	if (r->run.problem[0])
		return;
	r->checked++;
	for (struct seen *s = r->seen[at->pc]; s; s = s->next)
		if (in_state(r, s->state, at, why))
			return;
	snprintf(r->run.problem, sizeof(r->run.problem), "instruction %u: outside of every state: %s", at->pc, why);
}

static bool in_access(const struct check *r, const struct gpubpf_access *a, uint64_t address, unsigned int width)
{
	if (address % a->align)
		return false;
	if (address >= GPUBPF_PTR_STACK && address < GPUBPF_PTR_CTX) {
		int64_t off = (int64_t)((address - GPUBPF_PTR_STACK) % 512) - 512;
		uint64_t frame = (address - GPUBPF_PTR_STACK) / 512;

		return (a->spaces & GPUBPF_SPACE_STACK) && off >= a->off_min && off <= a->off_max &&
		       (a->frame == GPUBPF_ANY_FRAME || a->frame == frame) && width >= a->size_min && width <= a->size_max;
	}
	if (address < GPUBPF_PTR_LIMIT)
		return a->spaces & GPUBPF_SPACE_CTX;
	return a->spaces & (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD);
}

/* Check the verifier's facts about the instruction that just ran. */
static bool fact_holds(const struct check *r, const struct gpubpf_interp_state *at)
{
	const struct gpubpf_insn *insn = &r->run.insns[r->before_pc];
	const struct gpubpf_insn_facts *f = &r->run.prog.facts->insn[r->before_pc];
	bool writes = insn->kind == GPUBPF_INSN_ALU || insn->kind == GPUBPF_INSN_LOAD;
	bool memory = insn->kind == GPUBPF_INSN_LOAD || insn->kind == GPUBPF_INSN_STORE || insn->kind == GPUBPF_INSN_ATOMIC;

	if (writes && (f->flags & GPUBPF_FACT_CONST) && at->reg[insn->dst] != f->value)
		return false;
	if (insn->kind == GPUBPF_INSN_JCOND && insn->target != r->before_pc + 1) {
		if ((f->flags & GPUBPF_FACT_ALWAYS) && at->pc != insn->target)
			return false;
		if ((f->flags & GPUBPF_FACT_NEVER) && at->pc == insn->target)
			return false;
	}
	return !memory || in_access(r, &f->mem, r->before[insn->kind == GPUBPF_INSN_LOAD ? insn->src : insn->dst] +
						(uint64_t)(int64_t)insn->off, insn->width);
}

/* Add the result of the last instruction to its hash: a number, or the direction of a branch. */
static void leave_trail(struct check *r, const struct gpubpf_interp_state *at)
{
	const struct gpubpf_insn *insn = &r->run.insns[r->before_pc];
	uint64_t *trail = &r->trail[r->which][r->before_pc];
	uint64_t made = insn->kind == GPUBPF_INSN_JCOND ? at->pc : at->reg[insn->kind == GPUBPF_INSN_CALL ? 0 : insn->dst];

	if (insn->kind != GPUBPF_INSN_STORE && insn->kind != GPUBPF_INSN_ATOMIC && insn->kind != GPUBPF_INSN_EXIT)
		*trail = (*trail + made + 1) * 0x9e3779b97f4a7c15ull;
}

/* Check that two threads of a warp, or of a block, had equal results at each instruction with this fact (uniform). */
static void check_uniform(struct check *r, uint32_t flag)
{
	for (uint32_t pc = 0; pc < r->run.prog.ninsns && !r->run.problem[0]; pc++)
		if ((r->run.prog.facts->insn[pc].flags & flag) && r->trail[0][pc] != r->trail[1][pc])
			snprintf(r->run.problem, sizeof(r->run.problem), "instruction %u: not uniform in a %s", pc,
				 flag == GPUBPF_FACT_WARP_UNIFORM ? "warp" : "block");
}

static void check_facts(void *arg, const struct gpubpf_interp_state *at)
{
	struct check *r = arg;
	const struct gpubpf_insn_facts *f = &r->run.prog.facts->insn[at->pc];
	const struct gpubpf_insn *insn = &r->run.insns[at->pc];

	if (r->run.problem[0])
		return;
	r->checked++;
	if (r->before_pc != UINT32_MAX)
		leave_trail(r, at);
	if (!(f->flags & GPUBPF_FACT_REACHED))
		snprintf(r->run.problem, sizeof(r->run.problem), "instruction %u: said not to be reached", at->pc);
	else if (r->before_pc != UINT32_MAX && !fact_holds(r, at))
		snprintf(r->run.problem, sizeof(r->run.problem), "instruction %u: a fact does not hold", r->before_pc);
	for (int i = 0; insn->kind == GPUBPF_INSN_CALL && i < 5; i++)
		if ((f->call->konst_mask >> i & 1) && at->reg[i + 1] != f->call->konst[i])
			snprintf(r->run.problem, sizeof(r->run.problem), "instruction %u: argument %d is not the constant", at->pc, i + 1);
	memcpy(r->before, at->reg, sizeof(r->before));
	r->before_pc = at->pc;
}

static bool verify(struct check *r, const struct watch *watch)
{
	static const struct gpubpf_verify_opts opts = { .max_cost = UINT64_MAX, .max_states = 20000, .allow_ptr_leaks = true };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return verify_watched(&r->run.unit, &r->run.prog, &opts, watch, &diag) == 0;
}

/* Run the program for thread 0 and for the thread other, with the same memory and arguments. */
static void run_two(struct check *r, struct gen *g, uint32_t other)
{
	uint64_t rng = g->rng;

	memset(r->trail, 0, sizeof(r->trail));
	for (r->which = 0; r->which < 2; r->which++) {
		g->rng = rng;
		r->before_pc = UINT32_MAX;
		r->run.thread = r->which ? other : 0;
		run_once(&r->run, g, check_facts, r);
	}
	check_uniform(r, other < 32 ? GPUBPF_FACT_WARP_UNIFORM : GPUBPF_FACT_BLOCK_UNIFORM);
	r->run.thread = 0;
}

/* false: found a problem */
static bool try_program(struct check *r, struct gen *g)
{
	struct watch watch = { record_state, r, true };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_insn_decode(g->insns, g->n, r->run.insns, &diag) < 0)
		return true;
	r->run.prog.ninsns = g->n;
	if (verify(r, &watch) && r->nseen < MAX_STATES) {
		for (int i = 0; i < 4; i++)
			run_once(&r->run, g, check_state, r);
		r->contained++;
	}
	forget_states(r);
	if (!r->run.problem[0] && verify(r, NULL)) {
		for (int i = 0; i < 4; i++)
			run_two(r, g, i % 2 ? 37 : 5);
		r->proven++;
	}
	return !r->run.problem[0];
}

static void show(const struct gen *g, struct check *r, uint64_t seed)
{
	char text[128];

	printf("# seed %llu: %s\n", (unsigned long long)seed, r->run.problem);
	for (uint32_t pc = 0; pc < g->n; pc++) {
		gpubpf_insn_format(&r->run.insns[pc], pc, text, sizeof(text));
		printf("# %3u: %s\n", pc, text);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20, first = seed;
	time_t end = time(NULL) + (time_t)seconds;
	static struct check r;
	static struct gen g;
	int problems = 0;

	if (!ok(run_setup(&r.run), "maps are laid out"))
		return done();
	for (; (seconds ? time(NULL) < end || seed - first < MIN_PROGRAMS : seed == first) && problems < 3; seed++) {
		gen_program(&g, seed);
		if (seed % 4 == 0)
			gen_mutate(&g);
		r.run.problem[0] = 0;
		if (!try_program(&r, &g)) {
			show(&g, &r, seed);
			problems++;
		}
	}
	printf("# seeds %llu to %llu, %llu instructions checked\n", (unsigned long long)first, (unsigned long long)seed,
	       (unsigned long long)r.checked);
	ok(!problems, "concrete runs stay inside the verifier's states and facts");
	if (seed - first >= MIN_PROGRAMS)
		ok(r.contained >= (seed - first) / 10 && r.proven >= (seed - first) / 10,
		   "%llu programs were run against states, %llu against facts, at least a tenth",
		   (unsigned long long)r.contained, (unsigned long long)r.proven);
	run_finish(&r.run);
	return done();
}
