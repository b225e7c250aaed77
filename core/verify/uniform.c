/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: computes which registers and stack slots are uniform, that is equal in all lanes of a block or a warp.
 * Before: the walk has stored the facts.
 * After: each register has a level at each instruction: uniform in the block, uniform in the warp, or varying. A stack
 * slot has the lowest level of all stores to it.
 * Requires: the control flow graph of cfg.c.
 *
 * This is a forward analysis to the fixed point. Control flow has a level too. Between a branch on a varying condition
 * and its immediate post-dominator, lanes have diverged, and results computed there vary. This includes loops that
 * lanes leave at different times. Sources: Karrenberg and Hack, "Improving Performance of OpenCL on CPUs", CC 2012
 * (data, sync and temporal divergence); LLVM's uniformity analysis.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simt.h"

#define NO_EXIT UINT32_MAX

static const struct gpubpf_insn_facts *get_facts(const struct simt *s, uint32_t pc)
{
	return &s->v->facts->insn[pc];
}

static bool reached(const struct simt *s, uint32_t pc)
{
	return s->v->aux[pc].walked != 0;
}

static uint8_t get_least(uint8_t a, uint8_t b)
{
	uint8_t level = (a & LEVEL) < (b & LEVEL) ? a & LEVEL : b & LEVEL;

	return level | ((a | b) & LANE_ID);
}

/*
 * Stores the successors in the same function, and returns their number. The successor of a call is the next
 * instruction.
 */
static int list_successors(const struct simt *s, uint32_t pc, uint32_t to[2])
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];

	switch (insn->kind) {
	case GPUBPF_INSN_EXIT:
		return 0;
	case GPUBPF_INSN_JUMP:
		to[0] = insn->target;
		return 1;
	case GPUBPF_INSN_JCOND:
		to[0] = pc + 1;
		to[1] = insn->target;
		return 2;
	default:
		to[0] = insn_next(s->v, pc);
		return 1;
	}
}

/*
 * Finds the nearest common post-dominator of two instructions. Repeatedly replaces the instruction with the smaller
 * number, which is further from the exits, by its post-dominator.
 */
static uint32_t find_meeting_block(const struct simt *s, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (a != NO_EXIT && (b == NO_EXIT || s->order[a] < s->order[b]))
			a = s->join[a];
		while (b != NO_EXIT && (a == NO_EXIT || s->order[b] < s->order[a]))
			b = s->join[b];
	}
	return a;
}

/* The reversed control flow graph: the predecessors of pc are from[first[pc]] to from[first[pc + 1] - 1]. */
struct reversed {
	uint32_t *first, *from, *list, count;
};

static int reverse(const struct simt *s, struct reversed *g)
{
	uint32_t n = s->v->n, to[2];

	g->first = calloc(n + 2, sizeof(*g->first));
	g->from = malloc(2 * (size_t)n * sizeof(*g->from));
	g->list = malloc(n * sizeof(*g->list));
	if (!g->first || !g->from || !g->list)
		return -ENOMEM;
	for (uint32_t pc = 0; pc < n; pc++)
		for (int k = s->v->insns[pc].kind == GPUBPF_INSN_HI ? 0 : list_successors(s, pc, to); k > 0; k--)
			g->first[to[k - 1] + 2]++;
	for (uint32_t pc = 0; pc < n; pc++)
		g->first[pc + 2] += g->first[pc + 1];
	for (uint32_t pc = 0; pc < n; pc++)
		for (int k = s->v->insns[pc].kind == GPUBPF_INSN_HI ? 0 : list_successors(s, pc, to); k > 0; k--)
			g->from[g->first[to[k - 1] + 1]++] = pc;
	return 0;
}

/* Numbers instructions in post-order of a depth-first search from one exit, along the reversed edges. */
static void number(struct simt *s, struct reversed *g, uint32_t exit)
{
	uint32_t n = 0;

	s->work[n++] = exit;
	s->seen[exit] = 1;
	s->mark[exit] = g->first[exit];
	while (n) {
		uint32_t pc = s->work[n - 1];

		if (s->mark[pc] < g->first[pc + 1]) {
			uint32_t next = g->from[s->mark[pc]++];

			if (s->seen[next])
				continue;
			s->seen[next] = 1;
			s->mark[next] = g->first[next];
			s->work[n++] = next;
			continue;
		}
		n--;
		g->list[g->count++] = pc;
		s->order[pc] = g->count;
	}
}

static bool find_join(struct simt *s, uint32_t pc)
{
	uint32_t to[2], join = NO_EXIT;
	int k = list_successors(s, pc, to);
	bool any = false;

	for (int i = 0; i < k; i++) {
		if (!s->seen[to[i]])
			continue;
		join = any ? find_meeting_block(s, join, to[i]) : to[i];
		any = true;
	}
	if (s->seen[pc] && s->join[pc] == join)
		return false;
	s->seen[pc] = 1;
	s->join[pc] = join;
	return true;
}

/*
 * Computes immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm", 2001.
 */
static int find_joins(struct simt *s)
{
	struct reversed g = { NULL };
	bool changed = true;
	int err = reverse(s, &g);

	for (uint32_t pc = 0; err >= 0 && pc < s->v->n; pc++) {
		s->join[pc] = NO_EXIT;
		if (s->v->insns[pc].kind == GPUBPF_INSN_EXIT)
			number(s, &g, pc);
	}
	memset(s->seen, 0, s->v->n);
	while (err >= 0 && changed) {
		changed = false;
		for (uint32_t i = g.count; i-- > 0;)
			changed |= find_join(s, g.list[i]);
	}
	free(g.first);
	free(g.from);
	free(g.list);
	memset(s->mark, 0, s->v->n * sizeof(*s->mark));
	return err;
}

/* Lowers the level of all instructions between a branch and its immediate post-dominator to at most `level`. */
static void lower_region(struct simt *s, uint32_t branch, uint8_t level)
{
	uint32_t n = 0, to[2], end = s->join[branch];
	int k = list_successors(s, branch, to);

	s->stamp++;
	for (int i = 0; i < k; i++)
		if (to[i] != end && s->mark[to[i]] != s->stamp) {
			s->mark[to[i]] = s->stamp;
			s->work[n++] = to[i];
		}
	while (n) {
		uint32_t pc = s->work[--n];

		if (s->control[pc] > level) {
			s->control[pc] = level;
			s->changed = true;
		}
		s->budget--;
		k = list_successors(s, pc, to);
		for (int i = 0; i < k; i++)
			if (to[i] != end && s->mark[to[i]] != s->stamp) {
				s->mark[to[i]] = s->stamp;
				s->work[n++] = to[i];
			}
	}
}

static uint8_t *get_slots(struct simt *s, const struct gpubpf_access *a, int *first, int *last, int *frames)
{
	*first = (GPUBPF_STACK_SIZE + a->off_min) / 8;
	*last = (GPUBPF_STACK_SIZE + a->off_max + (int)a->size_max - 1) / 8;
	if (*last > MAX_SLOTS - 1)
		*last = MAX_SLOTS - 1;
	*frames = a->frame == GPUBPF_ANY_FRAME ? GPUBPF_STACK_ROWS : 1;
	return s->slot[a->frame == GPUBPF_ANY_FRAME ? 0 : a->frame];
}

static uint8_t get_stack_level(struct simt *s, const struct gpubpf_access *a)
{
	int first, last, frames;
	uint8_t *slot = get_slots(s, a, &first, &last, &frames), level = SAME_BLOCK;

	for (int f = 0; f < frames; f++)
		for (int k = first; k <= last; k++)
			level = get_least(level, slot[f * MAX_SLOTS + k]);
	return level;
}

static void lower_stack_level(struct simt *s, const struct gpubpf_access *a, uint8_t level)
{
	int first, last, frames;
	uint8_t *slot = get_slots(s, a, &first, &last, &frames);

	for (int f = 0; f < frames; f++)
		for (int k = first; k <= last; k++) {
			uint8_t to = get_least(slot[f * MAX_SLOTS + k], level);

			if (to == slot[f * MAX_SLOTS + k])
				continue;
			slot[f * MAX_SLOTS + k] = to;
			s->changed = true;
		}
}

static bool is_argument(uint32_t off)
{
	return off < offsetof(struct gpubpf_ctx, launch) ||
	       (off >= offsetof(struct gpubpf_ctx, arg) && off < offsetof(struct gpubpf_ctx, kernel_name));
}

static uint8_t get_ctx_level(const struct simt *s, const struct gpubpf_access *a)
{
	enum gpubpf_where where = gpubpf_place_kind(s->v->prog->site)->where;
	uint32_t off = (uint32_t)a->off_min;

	if (off >= offsetof(struct gpubpf_ctx, thread_idx) && off < offsetof(struct gpubpf_ctx, global_offset))
		return VARYING | LANE_ID;
	if (off >= offsetof(struct gpubpf_ctx, global_linear) && off < offsetof(struct gpubpf_ctx, arg))
		return VARYING | LANE_ID;
	/* the arguments of a called function may differ between lanes */
	if (where >= GPUBPF_WHERE_FUNCTION && is_argument(off))
		return VARYING;
	/* the operands of the place begin at this offset of the context */
	if (off >= offsetof(struct gpubpf_ctx, result))
		return VARYING;
	return SAME_BLOCK;
}

static uint8_t load_level(struct simt *s, uint32_t pc, uint8_t address)
{
	const struct gpubpf_access *a = &get_facts(s, pc)->mem;

	switch (a->spaces) {
	case GPUBPF_SPACE_STACK:
		return get_least(address & LEVEL, get_stack_level(s, a));
	case GPUBPF_SPACE_CTX:
		return get_ctx_level(s, a);
	case GPUBPF_SPACE_MAP_VALUE:
		return a->map >= 0 && s->v->unit->maps[a->map].rdonly ? address & LEVEL : VARYING;
	default:
		return VARYING;
	}
}

/* Returns the level of the memory to which a pointer argument points. */
static uint8_t get_memory_level(struct simt *s, const struct gpubpf_access *a)
{
	return a->spaces == GPUBPF_SPACE_STACK ? get_stack_level(s, a) : VARYING;
}

/*
 * Returns the level of the address that a look-up returns. The address in a map of maps varies, because the host may
 * replace an element between the look-ups of two lanes.
 */
static uint8_t lookup_level(struct simt *s, const struct gpubpf_call_facts *c)
{
	const struct gpubpf_map *map = c->map >= 0 ? &s->v->unit->maps[c->map] : NULL;

	if (!map || c->element ||
	    (map->type->flags & (GPUBPF_MAP_U32KEY | GPUBPF_MAP_THREAD | GPUBPF_MAP_OF_MAPS)) != GPUBPF_MAP_U32KEY)
		return VARYING;
	return get_memory_level(s, &c->arg[1]) & LEVEL;
}

/* Returns the level of the helper's result, or of the memory that the helper writes. */
static uint8_t get_output_level(struct simt *s, const struct gpubpf_helper *h, const struct gpubpf_call_facts *c)
{
	switch (h->level) {
	case GPUBPF_LEVEL_VARY:
		break;
	case GPUBPF_LEVEL_LANE:
		return VARYING | LANE_ID;
	case GPUBPF_LEVEL_KEY:
		return lookup_level(s, c);
	case GPUBPF_LEVEL_WARP:
		return SAME_WARP;
	case GPUBPF_LEVEL_BLOCK:
		return SAME_BLOCK;
	}
	return VARYING;
}

static uint8_t call_level(struct simt *s, uint32_t pc, uint8_t control)
{
	const struct gpubpf_call_facts *c = get_facts(s, pc)->call;
	const struct gpubpf_helper *h = gpubpf_helper_find((uint32_t)s->v->insns[pc].imm);
	uint8_t level = get_output_level(s, h, c);
	bool writes = false;

	for (int i = 0; i < 5; i++) {
		writes |= c->arg[i].write;
		if (c->arg[i].write && (c->arg[i].spaces & GPUBPF_SPACE_STACK))
			lower_stack_level(s, &c->arg[i], get_least(level, control));
	}
	if (c->key.spaces)
		lower_stack_level(s, &c->key, VARYING);
	return writes ? VARYING : level;
}

static void set_reg(uint8_t *out, unsigned int r, uint8_t level, uint8_t control)
{
	out[r] = get_least(level, control);
}

/* Computes the levels of the registers after the instruction. */
static void transfer(struct simt *s, uint32_t pc, const uint8_t *in, uint8_t *out)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	uint8_t control = s->control[pc], src = insn->reg ? in[insn->src] : SAME_BLOCK;

	memcpy(out, in, GPUBPF_NREGS);
	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		set_reg(out, insn->dst,
			insn->op == GPUBPF_MOV || insn->op == GPUBPF_MOVSX ? src : get_least(in[insn->dst], src), control);
		break;
	case GPUBPF_INSN_IMM64:
		set_reg(out, insn->dst, SAME_BLOCK, control);
		break;
	case GPUBPF_INSN_LOAD:
		if (reached(s, pc))
			set_reg(out, insn->dst, load_level(s, pc, in[insn->src]), control);
		break;
	case GPUBPF_INSN_STORE:
		if (reached(s, pc) && (get_facts(s, pc)->mem.spaces & GPUBPF_SPACE_STACK))
			lower_stack_level(s, &get_facts(s, pc)->mem,
					  get_least(get_least(in[insn->dst] & LEVEL, src), control));
		break;
	case GPUBPF_INSN_ATOMIC:
		if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
			out[GPUBPF_R0] = VARYING;
		else if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD)
			out[insn->src] = VARYING;
		if (reached(s, pc) && (get_facts(s, pc)->mem.spaces & GPUBPF_SPACE_STACK))
			lower_stack_level(s, &get_facts(s, pc)->mem, VARYING);
		break;
	case GPUBPF_INSN_CALL:
		if (reached(s, pc))
			set_reg(out, GPUBPF_R0, call_level(s, pc, control), control);
		break;
	default:
		break;
	}
}

static void flow(struct simt *s, uint32_t to, const uint8_t *regs)
{
	uint8_t *in = s->in + (size_t)to * GPUBPF_NREGS;

	for (int r = 0; r < GPUBPF_NREGS; r++) {
		uint8_t level = get_least(in[r], regs[r]);

		if (level != in[r]) {
			in[r] = level;
			s->changed = true;
		}
	}
}

/*
 * Propagates levels between a call and the called function. The function's arguments get the lowest level of all calls,
 * and its result has the lowest level of all its exits.
 */
static void flow_call(struct simt *s, uint32_t pc, uint8_t *regs)
{
	uint32_t f = s->v->aux[s->v->insns[pc].target].func;
	const struct func_info *fn = &s->v->funcs[f];

	flow(s, fn->first, regs);
	for (uint32_t at = fn->first; at < fn->end; at++)
		if (s->control[at] > s->control[pc]) {
			s->control[at] = s->control[pc];
			s->changed = true;
		}
	regs[GPUBPF_R0] = get_least(s->result[f], s->control[pc]);
}

static uint8_t get_condition_level(const struct simt *s, uint32_t pc, const uint8_t *in)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];

	if (insn->op == GPUBPF_MAY_GOTO)
		return VARYING;
	return insn->reg ? get_least(in[insn->dst], in[insn->src]) : in[insn->dst];
}

static void visit(struct simt *s, uint32_t pc)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	const uint8_t *in = s->in + (size_t)pc * GPUBPF_NREGS;
	uint8_t out[GPUBPF_NREGS], level;
	uint32_t to[2];
	int k = list_successors(s, pc, to);

	transfer(s, pc, in, out);
	if (insn->kind == GPUBPF_INSN_CALL_LOCAL)
		flow_call(s, pc, out);
	if (insn->kind == GPUBPF_INSN_EXIT) {
		uint8_t *result = &s->result[s->v->aux[pc].func];

		level = get_least(*result, get_least(out[GPUBPF_R0], s->control[pc]));
		s->changed |= level != *result;
		*result = level;
	}
	if (insn->kind == GPUBPF_INSN_JCOND && v_took_both_edges(s->v, pc)) {
		level = get_least(get_condition_level(s, pc, in), s->control[pc]) & LEVEL;
		if (level < s->branch[pc]) {
			s->branch[pc] = level;
			lower_region(s, pc, level);
		}
	}
	for (int i = 0; i < k; i++)
		flow(s, to[i], out);
}

/* Marks callbacks as divergent, because the number of iterations may differ between lanes. */
static void lower_callbacks(struct simt *s)
{
	for (uint32_t f = 0; f < s->v->nfuncs; f++) {
		const struct func_info *fn = &s->v->funcs[f];

		if (!fn->called_back)
			continue;
		memset(s->control + fn->first, VARYING, fn->end - fn->first);
		memset(s->in + (size_t)fn->first * GPUBPF_NREGS, VARYING, GPUBPF_NREGS);
	}
}

static void set_all_varying(struct simt *s)
{
	memset(s->control, VARYING, s->v->n);
	memset(s->branch, VARYING, s->v->n);
	memset(s->in, VARYING, (size_t)s->v->n * GPUBPF_NREGS);
}

int uniform_find(struct simt *s)
{
	uint32_t n = s->v->n;

	s->in = malloc((size_t)n * GPUBPF_NREGS);
	s->control = malloc(n);
	s->branch = malloc(n);
	s->seen = calloc(n, 1);
	s->result = malloc(s->v->nfuncs);
	s->join = malloc(n * sizeof(*s->join));
	s->order = calloc(n, sizeof(*s->order));
	s->work = malloc(n * sizeof(*s->work));
	s->mark = calloc(n, sizeof(*s->mark));
	if (!s->in || !s->control || !s->branch || !s->seen || !s->result || !s->join || !s->order || !s->work ||
	    !s->mark || find_joins(s) < 0)
		return -ENOMEM;
	memset(s->in, SAME_BLOCK, (size_t)n * GPUBPF_NREGS);
	memset(s->control, SAME_BLOCK, n);
	memset(s->branch, SAME_BLOCK, n);
	memset(s->result, SAME_BLOCK, s->v->nfuncs);
	memset(s->slot, SAME_BLOCK, sizeof(s->slot));
	lower_callbacks(s);
	s->budget = 50000000;
	for (s->changed = true; s->changed && s->budget > 0;) {
		s->changed = false;
		for (uint32_t pc = 0; pc < n; pc++)
			if (s->v->insns[pc].kind != GPUBPF_INSN_HI)
				visit(s, pc);
		s->budget -= n;
	}
	if (s->changed)
		set_all_varying(s);
	return 0;
}

void uniform_finish(struct simt *s)
{
	free(s->in);
	free(s->control);
	free(s->branch);
	free(s->seen);
	free(s->result);
	free(s->join);
	free(s->order);
	free(s->work);
	free(s->mark);
}

uint8_t uniform_reg(const struct simt *s, uint32_t pc, unsigned int r)
{
	return s->in[(size_t)pc * GPUBPF_NREGS + r];
}

/* Returns the level of the instruction's result, which is a register or the condition of a jump. */
uint8_t uniform_result(struct simt *s, uint32_t pc)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	const uint8_t *in = s->in + (size_t)pc * GPUBPF_NREGS;
	uint8_t out[GPUBPF_NREGS];

	transfer(s, pc, in, out);
	switch (insn->kind) {
	case GPUBPF_INSN_ALU:
	case GPUBPF_INSN_IMM64:
	case GPUBPF_INSN_LOAD:
		return out[insn->dst];
	case GPUBPF_INSN_CALL:
		return out[GPUBPF_R0];
	case GPUBPF_INSN_JCOND:
		return get_least(get_condition_level(s, pc, in), s->control[pc]);
	default:
		return VARYING;
	}
}
