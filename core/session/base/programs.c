/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterates over the programs of a session, and copies the session's unit for one twin. In this copy, only the programs
 * of that twin match kernels.
 */
#include "core/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gpubpf_links_make_unit(const struct gpubpf_session *s, const uint32_t *links, uint32_t n, struct gpubpf_unit *out)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct gpubpf_prog *progs = malloc((unit->nprogs + 1) * sizeof(*progs));

	if (!progs)
		return -ENOMEM;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		progs[i] = unit->progs[i];
		progs[i].site = GPUBPF_SITE_ENTRY;
		progs[i].pattern[0] = 0; /* matches no kernel */
	}
	for (uint32_t i = 0; i < n; i++)
		if (links[i] < unit->nprogs)
			progs[links[i]] = unit->progs[links[i]];
	*out = *unit;
	out->progs = progs;
	return 0;
}

const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s, const struct gpubpf_prog *prev)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	const struct gpubpf_prog *next = prev ? prev + 1 : unit ? unit->progs : NULL;

	while (unit && next < unit->progs + unit->nprogs && gpubpf_session_link(s, 0) &&
	       gpubpf_link_is_borrowed(gpubpf_session_link(s, next - unit->progs)))
		next++;
	return unit && next < unit->progs + unit->nprogs ? next : NULL;
}

const char *gpubpf_prog__name(const struct gpubpf_prog *prog)
{
	return prog->name;
}

const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog)
{
	return prog->section;
}

const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog)
{
	return prog->pattern;
}

uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = prog->session ? gpubpf_session_unit(prog->session) : NULL;

	for (uint32_t m = 0; unit && m < unit->nmaps; m++)
		for (uint32_t i = 0; unit->maps[m].object == prog->object && i < unit->maps[m].ntargets; i++)
			if (!strcmp(unit->maps[m].targets[i].name, prog->name))
				return unit->maps[m].targets[i].number;
	return 0;
}

uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog)
{
	return prog->ninsns;
}

uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog)
{
	return prog->facts ? prog->facts->cost.insns : 0;
}
