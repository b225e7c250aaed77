/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of one kernel: the emulator checks each stub, and the checker must refuse each changed stub. */
#ifndef GPUBPF_TESTS_CUDA_SASS_CHANGES_H
#define GPUBPF_TESTS_CUDA_SASS_CHANGES_H

#include <stdlib.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "stub.h"

struct kernel_probes {
	const struct sass_code *code;
	struct sass_insn_probes around;
	struct sass_body bodies[2];
	enum gpubpf_site kind;
	bool has_unplaced;
	uint32_t met;
};

/* Skips most places of lines and of any instructions, because a kernel has many of them. */
static bool is_skipped(const struct kernel_probes *m, const struct sass_place *place)
{
	struct sass_insn insn = sass_code_at(m->code, place->at);
	bool many = m->kind == GPUBPF_SITE_INSN || m->kind == GPUBPF_SITE_LINE;
	bool rare = place->second != SASS_PT && place->guard != SASS_PT;

	return many && !rare && (place->why || !sass_operands_known(m->code->arch, insn) || sass_opcode(insn) == 0x918 || random_below(16));
}

static int collect_place(void *arg, const struct sass_place *place)
{
	struct kernel_probes *m = arg;

	m->met++;
	if (is_skipped(m, place))
		return 0;
	m->has_unplaced |= place->why != NULL || (gpubpf_place_kind(m->kind)->spaces && place->access.near && reads_address(m->kind)) ||
		     (!reads_address(m->kind) && is_generic(sass_code_at(m->code, place->at)));
	m->around.list = realloc(m->around.list, (m->around.n + 1) * sizeof(*m->around.list));
	if (!m->around.list)
		abort();
	m->around.list[m->around.n++] = (struct sass_insn_probe){
		*place, place->line, &m->bodies[sass_insn_probe_is_guarded(place)] };
	return 0;
}

static uint32_t listed, stubs, twice, elsewhere, right, refused, changed, seen;

static bool passes(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, const struct sass_twin *twin)
{
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return !sass_check(app, k, m->code, twin, &(struct sass_twin_contents){ 0 }, &m->around, &diag);
}

static uint32_t next_bssy(const uint8_t *text, uint32_t i, uint32_t n)
{
	while (i < n && sass_opcode(sass_read(text + i * SASS_INSN)) != SASS_OP_BSSY)
		i++;
	return i;
}

/* The checker must refuse a twin in which lanes that diverge in one stub reconverge in another stub. */
static void reconverge_elsewhere(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, struct sass_twin *twin,
				 uint8_t *text, uint32_t first, uint32_t n)
{
	struct sass_insn none = sass_nop(0, SASS_STALL_MAX), parts, meets;
	uint32_t from = next_bssy(text, first, n), other = next_bssy(text, from + 1, n), meeting, distance;

	while (other < n && sass_opcode(sass_read(text + (from + 1) * SASS_INSN)) == SASS_OP_BRA) {
		from = other;
		other = next_bssy(text, from + 1, n);
	}
	if (other >= n)
		return;
	parts = sass_read(text + from * SASS_INSN);
	meeting = from + sass_branch(m->code->arch, parts) / SASS_INSN;
	meets = sass_read(text + meeting * SASS_INSN);
	distance = other - from + sass_branch(m->code->arch, sass_read(text + other * SASS_INSN)) / SASS_INSN;
	sass_write(text + meeting * SASS_INSN, none);
	none = sass_with_branch(m->code->arch, parts, (int64_t)distance * SASS_INSN);
	sass_write(text + from * SASS_INSN, none);
	elsewhere++;
	changed++;
	seen += !passes(app, k, m, twin);
	sass_write(text + from * SASS_INSN, parts);
	sass_write(text + meeting * SASS_INSN, meets);
}

/* Replaces each instruction of the stubs by a forbidden one, except instructions that only wait. */
static void change(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, struct sass_twin *twin)
{
	static const struct sass_word bad[] = {
		{ 0x0000000000007802, 0x000fe20000000f00 }, /* MOV R0, 0 */
		{ 0x0000000000047882, 0x000fe20000000000 }, /* UMOV UR4, 0 */
		{ 0x0000000000007348, 0x000fe20003800000 }, /* WARPSYNC R0 */
		{ 0x0000000000007947, 0x000fea0003800000 }, /* BRA to the next instruction */
	};
	struct sass_cubin made;
	struct gpubpf_diag diag;
	uint32_t first = UINT32_MAX, n;
	uint8_t *text;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(twin->cubin.data, twin->cubin.size, &made, &diag) < 0)
		abort();
	text = (uint8_t *)made.sections[made.kernels[0].text].data;
	n = made.sections[made.kernels[0].text].size / SASS_INSN;
	for (uint32_t i = 0; i < m->around.n; i++) {
		uint32_t at = m->around.list[i].place.at;
		uint32_t to = at + 1 + sass_branch(m->code->arch, sass_read(text + at * SASS_INSN)) / SASS_INSN;

		first = to < first ? to : first;
	}
	for (uint32_t i = first; i + 1 < n; i++) {
		struct sass_insn was = sass_read(text + i * SASS_INSN);

		if (sass_opcode(was) == SASS_OP_NOP)
			continue;
		if (sass_opcode(was) == SASS_OP_BRA && sass_branch(m->code->arch, was) == -SASS_INSN) /* end of section */
			break;
		for (size_t b = random_below(2); b < sizeof(bad) / sizeof(*bad); b += 2) {
			if (m->bodies[0].has_branches &&
			    /*
			     * the checker accepts this branch in a body with branches, because it leads to the next
			     * instruction
			     */
			    sass_opcode(sass_decode(bad[b])) == SASS_OP_BRA)
				continue;
			sass_write(text + i * SASS_INSN, sass_decode(bad[b]));
			changed++;
			seen += !passes(app, k, m, twin);
		}
		if (sass_opcode(was) == 0x803 || sass_opcode(was) == 0x804 || sass_opcode(was) == 0x945 || sass_opcode(was) == 0x941) {
			/*
			 * without this instruction, predicates are not saved or restored, or a convergence barrier is
			 * unmatched
			 */
			struct sass_insn none = sass_nop(0, SASS_STALL_MAX);

			sass_write(text + i * SASS_INSN, none);
			changed++;
			seen += !passes(app, k, m, twin);
		}
		sass_write(text + i * SASS_INSN, was);
	}
	reconverge_elsewhere(app, k, m, twin, text, first, n);
	sass_cubin_finish(&made);
}

static void graft(const struct sass_cubin *app, const struct sass_kernel *k, struct kernel_probes *m)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = sass_patch_kernel(m->code, k->regs, NULL, NULL, &m->around, &grafted, &diag);
	if (m->has_unplaced || m->code->calls || m->code->maxreg) {
		refused++;
		if (!err || !diag.what[0])
			ok(false, "%s is refused, and says why", app->symbols[k->symbol].name);
	} else if (err < 0) {
		ok(false, "%s: %s", app->symbols[k->symbol].name, diag.what);
	} else {
		for (uint32_t i = 0; i < m->around.n; i++, stubs++) {
			const struct sass_place *place = &m->around.list[i].place;

			twice += m->bodies[0].has_branches && place->guard != SASS_PT && place->second != SASS_PT;
			for (int again = 0; again < 4; again++)
				right += runs_right(m->code, &grafted, &m->around, i, k->regs);
		}
		err = sass_twin_write(app, k, m->code, &probes, &grafted, &twin, &diag);
		if (err < 0 || !passes(app, k, m, &twin))
			ok(false, "%s has a twin that passes: %s", app->symbols[k->symbol].name, diag.what);
		else if (m->around.n && (!changed || random_below(4) == 0))
			change(app, k, m, &twin);
	}
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
}

#endif
