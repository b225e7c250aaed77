/* SPDX-License-Identifier: Apache-2.0 */
/* Checks rules for lanes that run together, and records which results and jumps are uniform (equal in all lanes). */
#include "core/model/places.h"
#include "simt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F_NO_PREALLOC 1u   /* BPF_F_NO_PREALLOC of uapi/linux/bpf.h */
#define MANY_BYTES 64      /* minimum bytes of events from one lane that cause a warning */

int warn(struct verifier *v, uint32_t pc, const char *text, ...)
{
	const struct gpubpf_line *line = gpubpf_prog_line(v->prog, pc);
	struct gpubpf_facts *f = v->facts;
	struct gpubpf_warning *w = realloc(f->warnings, (f->nwarnings + 1) * sizeof(*w));
	int used = 0;
	va_list ap;

	if (!w)
		return -ENOMEM;
	f->warnings = w;
	w = &w[f->nwarnings++];
	w->pc = pc;
	w->harmless = false;
	if (line)
		used = snprintf(w->text, sizeof(w->text), "line %u: ", line->line);
	va_start(ap, text);
	vsnprintf(w->text + used, sizeof(w->text) - (size_t)used, text, ap);
	va_end(ap);
	return 0;
}

static const struct gpubpf_map *map_of(const struct verifier *v, int map)
{
	return map >= 0 ? &v->unit->maps[map] : NULL;
}

static const char *name_of(const struct gpubpf_map *map)
{
	return map ? map->name : "(several maps)";
}

static void set_flags(struct simt *s, uint32_t pc)
{
	uint32_t *flags = &s->v->facts->insn[pc].flags;
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	uint8_t level = uniform_result(s, pc) & LEVEL;

	if (level >= SAME_WARP)
		*flags |= GPUBPF_FACT_WARP_UNIFORM;
	if (level == SAME_BLOCK)
		*flags |= GPUBPF_FACT_BLOCK_UNIFORM;
	if (s->control[pc] == VARYING)
		*flags |= GPUBPF_FACT_DIVERGENT;
	if ((insn->kind == GPUBPF_INSN_STORE || insn->kind == GPUBPF_INSN_ATOMIC) &&
	    (uniform_reg(s, pc, insn->dst) & LEVEL) >= SAME_WARP)
		*flags |= GPUBPF_FACT_SAME_ADDRESS;
}

/* Marks the last warning as harmless: it is only for information. */
static int harmless(const struct verifier *v, int err)
{
	struct gpubpf_facts *f = v->facts;

	if (!err)
		f->warnings[f->nwarnings - 1].harmless = true;
	return err;
}

static int warn_private_add(struct simt *s, uint32_t pc, const struct gpubpf_map *map)
{
	return harmless(s->v, warn(s->v, pc,
				   "adds to a value of map %s without an atomic operation; this is harmless, because "
				   "each thread has its own value",
				   name_of(map)));
}

static int check_store(struct simt *s, uint32_t pc)
{
	const struct gpubpf_insn_facts *f = &s->v->facts->insn[pc];
	const struct gpubpf_map *map = map_of(s->v, f->mem.map);

	if (!(f->flags & GPUBPF_FACT_RMW_ADD))
		return 0;
	if (map && (map->type->flags & GPUBPF_MAP_THREAD))
		return warn_private_add(s, pc, map);
	return warn(s->v, pc,
		    "adds to a value of map %s without an atomic operation, so additions of other "
		    "threads are lost; use __sync_fetch_and_add()",
		    name_of(map));
}

static int check_atomic(struct simt *s, uint32_t pc)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	const struct gpubpf_access *a = &s->v->facts->insn[pc].mem;
	uint8_t address = uniform_reg(s, pc, insn->dst) & LEVEL;
	bool is_add = insn->op == GPUBPF_ATOMIC_ADD ||
		      (insn->op == GPUBPF_ATOMIC_FETCH_ADD && !(s->v->aux[pc + 1].live >> insn->src & 1));

	const struct gpubpf_map *map = map_of(s->v, a->map);
	int err;

	if (!(a->spaces & GPUBPF_SPACE_MAP_VALUE) || address == VARYING || is_add)
		return 0;
	err = warn(s->v, pc,
		   "all threads of a warp do this atomic operation on one address of map %s, so the "
		   "hardware serializes them",
		   name_of(map));
	return map && map->scratch ? harmless(s->v, err) : err;
}

static int check_delete(struct simt *s, uint32_t pc)
{
	const struct gpubpf_map *map = map_of(s->v, s->v->facts->insn[pc].call->map);
	int err;

	if (map && (map->map_flags & F_NO_PREALLOC))
		return gpubpf_diag_set(s->v->diag, GPUBPF_E_SIMT_FREE, pc,
				       "deletes from map %s, which frees elements (BPF_F_NO_PREALLOC) while other threads use them",
				       map->name);
	if (map && (map->type->flags & GPUBPF_MAP_U32KEY))
		return warn(s->v, pc, "elements of map %s, an array, cannot be deleted: the call fails", map->name);
	if (map && map->own_keys)
		return harmless(s->v, warn(s->v, pc,
					   "deletes from map %s, whose keys each belong to one thread (GPUBPF_OWN_KEYS): "
					   "this is harmless",
					   name_of(map)));
	err = warn(s->v, pc,
		   "a deleted element of map %s may be reused for another key while another thread holds its address; %s",
		   name_of(map),
		   map && map->name[0] == '@' ? "put gid into the key, or use the key bid with the filter /lid == 0/" :
						"if each thread uses only its own keys, write GPUBPF_OWN_KEYS after the "
						"map's definition");
	return map && map->scratch ? harmless(s->v, err) : err;
}

static int warn_outside(struct simt *s, uint32_t pc)
{
	const struct gpubpf_map *map = map_of(s->v, s->v->facts->insn[pc].call->map);

	if (!map)
		return 0; /* the map is not the same on all paths */
	return warn(s->v, pc,
		    "index %u is outside of map %s, whose last index is %u: the call fails, and nothing is counted; "
		    "use an index below %u, or raise max_entries",
		    s->v->aux[pc].index, name_of(map), map->max_entries - 1, map->max_entries);
}

static int check_call(struct simt *s, uint32_t pc)
{
	const struct gpubpf_helper *h = gpubpf_helper_find((uint32_t)s->v->insns[pc].imm);

	if (h->op == GPUBPF_OP_DELETE)
		return check_delete(s, pc);
	return s->v->aux[pc].outside ? warn_outside(s, pc) : 0;
}

static bool is_warp_size(int32_t imm)
{
	return imm == 31 || imm == 32 || imm == 63 || imm == 64;
}

/*
 * Warns if a program computes a warp or lane number from a thread number (% 32, / 32, & 31, >> 5), or compares a thread
 * number with a number of lanes.
 */
static int check_warp_size(struct simt *s, uint32_t pc)
{
	const struct gpubpf_insn *insn = &s->v->insns[pc];
	bool mask = insn->op == GPUBPF_AND && (insn->imm == 31 || insn->imm == 63);
	bool split = (insn->op == GPUBPF_DIV || insn->op == GPUBPF_MOD) && (insn->imm == 32 || insn->imm == 64);
	bool shift = insn->op == GPUBPF_RSH && (insn->imm == 5 || insn->imm == 6);
	bool alu = insn->kind == GPUBPF_INSN_ALU && (mask || split || shift);
	bool jump = insn->kind == GPUBPF_INSN_JCOND && is_warp_size(insn->imm);

	if (insn->reg || !(alu || jump) || !(uniform_reg(s, pc, insn->dst) & LANE_ID))
		return 0;
	return warn(s->v, pc, "assumes a warp of %d threads, but devices have warps of 1 to 64; use helpers 510 and 511",
		    alu && shift ? 1 << insn->imm : insn->imm + (insn->imm & 1));
}

static int check_insn(struct simt *s, uint32_t pc)
{
	int err = check_warp_size(s, pc);

	if (err < 0)
		return err;
	switch (s->v->insns[pc].kind) {
	case GPUBPF_INSN_STORE:
		return check_store(s, pc);
	case GPUBPF_INSN_ATOMIC:
		return check_atomic(s, pc);
	case GPUBPF_INSN_CALL:
		return check_call(s, pc);
	default:
		return 0;
	}
}

static bool outputs(const struct verifier *v, uint32_t pc, bool prints)
{
	const struct gpubpf_helper *h = gpubpf_helper_find((uint32_t)v->insns[pc].imm);

	if (v->insns[pc].kind != GPUBPF_INSN_CALL || !v->aux[pc].walked)
		return false;
	return prints ? h->class == GPUBPF_CLASS_PRINT : gpubpf_op_row(h->op)->use & GPUBPF_USE_OUTPUT;
}

static int check_volume(struct verifier *v)
{
	const struct gpubpf_cost *c = &v->facts->cost;
	bool blocks = v->prog->site == GPUBPF_SITE_BLOCK_BEGIN || v->prog->site == GPUBPF_SITE_BLOCK_END;
	const char *who = blocks ? "block" : "thread";
	uint32_t print = 0, event = 0;
	const struct gpubpf_map *map;
	int err;

	if (gpubpf_place_is_host(v->prog->site))
		return 0; /* the program runs once per call */
	while (c->prints && print < v->n && !outputs(v, print, true))
		print++;
	while (c->event_bytes && event < v->n && !outputs(v, event, false))
		event++;
	if (c->prints && print < v->n &&
	    warn(v, print, "prints up to %llu line%s per %s, so a launch of a million %ss may print %llu million lines",
		 (unsigned long long)c->prints, c->prints == 1 ? "" : "s", who, who, (unsigned long long)c->prints) < 0)
		return -ENOMEM;
	if (c->event_bytes < MANY_BYTES || event == v->n)
		return 0;
	map = map_of(v, v->facts->insn[event].call->map);
	err = warn(v, event, "emits up to %llu bytes of events per %s, which is %llu MiB for a launch of 2^20 %ss",
		   (unsigned long long)c->event_bytes, who, (unsigned long long)c->event_bytes, who);
	return map && map->few ? harmless(v, err) : err;
}

/*
 * Checks the program, which is proven safe, against the target's limits. The facts are attached to the program only for
 * this check, because they are not final yet.
 */
static int check_limits(struct verifier *v)
{
	struct gpubpf_prog proven = *v->prog;

	proven.facts = v->facts;
	return gpubpf_limits_check(&proven, v->opts.limits, v->diag);
}

int simt_check(struct verifier *v)
{
	struct simt s = { .v = v };
	int err;

	if (v->opts.any_ctx)
		return 0;
	err = uniform_find(&s);
	for (uint32_t pc = 0; err >= 0 && pc < v->n; pc++) {
		if (!v->aux[pc].walked)
			continue;
		set_flags(&s, pc);
		err = check_insn(&s, pc);
	}
	if (err >= 0)
		err = wait_check(&s);
	if (err >= 0)
		err = check_volume(v);
	if (err >= 0 && v->opts.limits)
		err = check_limits(v);
	uniform_finish(&s);
	return err;
}
