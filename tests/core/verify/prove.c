/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of a debug build checks the verifier's facts at run time. True facts must pass, and the interpreter
 * must detect each kind of false fact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"
#include "core/model/diag.h"
#include "core/interp/interp.h"
#include "tests/tap.h"

static const char *const source[] = {
	"r6 = map[counts][0]", /* 0, 1 */
	"r7 = 0",              /* 2 */
	"again:",
	"r2 = *(u64 *)(r6 +8)", /* 3 */
	"r2 += 1",             /* 4 */
	"*(u64 *)(r6 +8) = r2", /* 5 */
	"r7 += 1",             /* 6 */
	"if r7 < 4 goto again", /* 7 */
	"*(u32 *)(r10 -8) = 0", /* 8 */
	"r1 = map[counts]",    /* 9, 10 */
	"r2 = r10",            /* 11 */
	"r2 += -8",            /* 12 */
	"call map_lookup_elem", /* 13 */
	"if r0 == 0 goto out", /* 14 */
	"r3 = 5",              /* 15 */
	"lock *(u64 *)(r0 +16) += r3", /* 16 */
	"out:",
	"r0 = 7",              /* 17 */
	"exit",                /* 18 */
};

struct world {
	struct assembly assembly;
	struct gpubpf_insn insns[ASM_MAX];
	struct gpubpf_map map;
	struct gpubpf_prog prog;
	struct gpubpf_unit unit;
	struct gpubpf_layout layout;
	void *arena;
};

static bool build(struct world *w, struct gpubpf_diag *diag)
{
	static const struct gpubpf_layout_opts opts = { .replicas = 1, .threads = 64 };

	w->map = (struct gpubpf_map){ .name = "counts", .key_size = 4, .value_size = 48, .max_entries = 1,
				      .type = gpubpf_map_type_find(2) };
	w->assembly.maps = &w->map;
	w->assembly.nmaps = 1;
	for (size_t i = 0; i < sizeof(source) / sizeof(source[0]); i++)
		if (!asm_line(&w->assembly, source[i]))
			return false;
	w->prog = (struct gpubpf_prog){ .name = "facts", .insns = w->insns, .ninsns = w->assembly.n };
	w->unit = (struct gpubpf_unit){ .maps = &w->map, .nmaps = 1, .progs = &w->prog, .nprogs = 1 };
	if (!asm_finish(&w->assembly) || gpubpf_insn_decode(w->assembly.insns, w->assembly.n, w->insns, diag) < 0 ||
	    gpubpf_layout_compute(&w->unit, &opts, &w->layout, diag) < 0)
		return false;
	w->arena = aligned_alloc(GPUBPF_ARENA_ALIGN, w->layout.size);
	return w->arena && gpubpf_verify(&w->unit, &w->prog, NULL, diag) == 0;
}

/* Run the program. Returns GPUBPF_OK, or the error with which the interpreter refused the run. */
static enum gpubpf_error run(struct world *w)
{
	static const struct gpubpf_ctx ctx = { .work_dim = 1, .grid_dim = { 1, 1, 1 }, .block_dim = { 1, 1, 1 } };
	struct gpubpf_interp_job job = { .unit = &w->unit, .prog = &w->prog, .ctx = &ctx, .arena = w->arena,
					 .layout = &w->layout };
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	memset(w->arena, 0, w->layout.size);
	gpubpf_arena_init(w->arena, &w->unit, &w->layout);
	return gpubpf_interp_run(&job, &result, &diag) < 0 ? diag.code : GPUBPF_OK;
}

#define FALSE_FACT(w, what, field, value) do {                        \
	__typeof__(field) was = field;                                \
	(field) = (value);                                            \
	ok(run(w) == GPUBPF_E_FACT, "a false fact is found: %s", what); \
	(field) = was;                                                \
} while (0)

static void false_facts(struct world *w)
{
	struct gpubpf_facts *f = w->prog.facts;
	struct gpubpf_insn_facts *in = f->insn;

	FALSE_FACT(w, "the space of a load", in[3].mem.spaces, GPUBPF_SPACE_STACK);
	FALSE_FACT(w, "the map", in[3].mem.map, 1);
	FALSE_FACT(w, "the range", in[3].mem.off_max, 7);
	FALSE_FACT(w, "the size", in[3].mem.size_max, 4);
	FALSE_FACT(w, "the range of a stack access", in[8].mem.off_min, -4);
	FALSE_FACT(w, "the frame", in[8].mem.frame, 1);
	FALSE_FACT(w, "the alignment", in[8].mem.align, 64);
	FALSE_FACT(w, "the memory of an argument", in[13].call->arg[1].spaces, GPUBPF_SPACE_MAP_VALUE);
	FALSE_FACT(w, "a constant", in[15].value, 6);
	FALSE_FACT(w, "a branch that is always taken", in[14].flags, in[14].flags | GPUBPF_FACT_ALWAYS);
	FALSE_FACT(w, "a branch that is never taken", in[7].flags, in[7].flags | GPUBPF_FACT_NEVER);
	FALSE_FACT(w, "an instruction that nothing reaches", in[17].flags, 0);
	FALSE_FACT(w, "the trips of a loop", in[7].trips, 2);
	FALSE_FACT(w, "the load of a sum in place", in[5].other, 16);
	FALSE_FACT(w, "values are only added to", f->map_use[0], GPUBPF_USE_ADD);
	FALSE_FACT(w, "values are never added to", f->map_use[0], GPUBPF_USE_READ | GPUBPF_USE_WRITE);
	FALSE_FACT(w, "the worst case", f->cost.insns, 10);
	FALSE_FACT(w, "the frames", f->frames, 0);
}

int main(void)
{
	static struct world w;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (!ok(build(&w, &diag), "the program is proven")) {
		note("%s%s", w.assembly.error, diag.what);
		return done();
	}
	ok(w.prog.facts->insn[5].flags & GPUBPF_FACT_RMW_ADD, "it adds in place");
	ok(w.prog.facts->insn[7].trips == 3, "its loop has three trips back");
	ok(run(&w) == GPUBPF_OK, "its facts hold");
#ifdef NDEBUG
	skip("false facts", "this build does not prove facts again");
#else
	false_facts(&w);
#endif
	gpubpf_facts_destroy(w.prog.facts);
	gpubpf_layout_finish(&w.layout);
	free(w.arena);
	return done();
}
