/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule_work.h"

#include <errno.h>
#include <stdlib.h>

static int run_passes(struct schedule *s, struct sass_insn *to, const struct sass_pinned_results *pinned)
{
	int err;

	sass_schedule_simplify(s);
	sass_schedule_find_order(s);
	sass_schedule_assign_boards(s);
	err = sass_schedule_alloc_registers(s, pinned);
	if (!err && !s->failed)
		sass_schedule_encode(s, to);
	return err;
}

static void close_schedule(struct schedule *s)
{
	if (s)
		sass_coloring_finish(&s->coloring);
	free(s);
}

/* Returns NULL if the allocation fails. */
static struct schedule *open_schedule(const struct sass_arch *arch, const struct sass_probe *probe)
{
	struct schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arch = arch;
	s->failed = !sass_schedule_is_straight(probe);
	if (!s->failed)
		sass_schedule_build_nodes(s, probe);
	return s;
}

static void store_result(struct schedule *s, struct sass_probe *probe, const struct sass_insn *to)
{
	memcpy(probe->insns, to, s->norder * sizeof(*to));
	probe->n = s->norder;
}

int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe)
{
	struct sass_insn *to = calloc(probe->n + 1, sizeof(*to));
	struct schedule *s = open_schedule(arch, probe);
	int err = s && to ? 0 : -ENOMEM;

	if (!err && !s->failed)
		err = run_passes(s, to, NULL);
	if (!err && !s->failed && s->coloring.regs <= probe->regs &&
	    sass_is_equivalent(probe->insns, probe->n, to, s->norder))
		store_result(s, probe, to);
	free(to);
	close_schedule(s);
	return err;
}

int sass_schedule_find_read(const struct sass_arch *arch, const struct sass_probe *probe,
			    const struct sass_pinned_results *pinned, bool is_read[SASS_STRAIGHT_MAX_INSNS])
{
	struct schedule *s = open_schedule(arch, probe);

	if (!s)
		return -ENOMEM;
	memset(is_read, 0, SASS_STRAIGHT_MAX_INSNS * sizeof(*is_read));
	if (!s->failed)
		sass_schedule_apply_known(s, pinned);
	for (uint32_t i = 0; !s->failed && i < s->n; i++)
		is_read[s->nodes[i].index] = sass_schedule_is_known_and_read(s, &s->nodes[i]);
	close_schedule(s);
	return 0;
}

/* Stores the registers of the results that stay in registers in pinned->reg[]. */
static void report_registers(const struct schedule *s, struct sass_pinned_results *pinned)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct node *node = &s->nodes[i];

		if (node->live_out)
			pinned->reg[node->index] = s->coloring.reg[node->value[0][0]];
	}
}

int sass_schedule_pinned(const struct sass_arch *arch, struct sass_probe *probe, struct sass_pinned_results *pinned)
{
	struct sass_insn *to = calloc(probe->n + 1, sizeof(*to));
	struct schedule *s = open_schedule(arch, probe);
	int err = s && to ? 0 : -ENOMEM;

	if (!err && !s->failed) {
		for (uint32_t i = 0; i < s->n; i++)
			s->nodes[i].live_out = pinned->live_out[s->nodes[i].index];
		sass_schedule_apply_known(s, pinned);
		err = run_passes(s, to, pinned);
	}
	if (!err && !s->failed)
		report_registers(s, pinned);
	if (!err)
		err = s->failed ? -EINVAL : 0;
	if (!err)
		store_result(s, probe, to);
	free(to);
	close_schedule(s);
	return err;
}
