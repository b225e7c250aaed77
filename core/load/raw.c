/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a unit from raw instructions instead of an object, for tests and the conformance tool. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

static int check_maps(const struct gpubpf_prog *prog, uint32_t nmaps, struct gpubpf_diag *diag)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn *insn = &prog->insns[pc];

		if (insn->kind == GPUBPF_INSN_IMM64 &&
		    (insn->op == GPUBPF_IMM_MAP || insn->op == GPUBPF_IMM_MAP_VALUE) && (uint32_t)insn->imm >= nmaps)
			return gpubpf_diag_set(diag, GPUBPF_E_BAD_INSN, pc, "refers to map %d of %u", insn->imm, nmaps);
	}
	return 0;
}

/* Stores an allocated copy in the pointer at `to`. A copy of NULL is NULL. */
static int copy(const void *from, size_t size, void *to)
{
	void *made = from ? malloc(size) : NULL;

	if (made)
		memcpy(made, from, size);
	memcpy(to, &made, sizeof(made));
	return made || !from ? 0 : -ENOMEM;
}

static int copy_map(const struct gpubpf_map *from, struct gpubpf_map *to)
{
	int err;

	*to = *from;
	to->elements = NULL;
	to->targets = NULL;
	err = copy(from->init, from->value_size, &to->init);
	if (!err)
		err = copy(from->elements, from->nelements * sizeof(*from->elements), &to->elements);
	return err ? err : copy(from->targets, from->ntargets * sizeof(*from->targets), &to->targets);
}

static int copy_maps(const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit)
{
	int err = 0;

	unit->maps = calloc(nmaps + 1, sizeof(*maps));
	if (!unit->maps)
		return -ENOMEM;
	for (; !err && unit->nmaps < nmaps; unit->nmaps++)
		err = copy_map(&maps[unit->nmaps], &unit->maps[unit->nmaps]);
	return err;
}

static int make_prog(const struct gpubpf_raw_insn *insns, uint32_t n, struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	struct gpubpf_prog *prog = &unit->progs[unit->nprogs];
	int err;

	prog->insns = calloc((size_t)n + 1, sizeof(*prog->insns));
	if (!prog->insns)
		return -ENOMEM;
	prog->ninsns = n;
	prog->site = GPUBPF_SITE_ENTRY;
	snprintf(prog->name, sizeof(prog->name), "prog%u", unit->nprogs++);
	snprintf(prog->section, sizeof(prog->section), "gpu/entry/*");
	snprintf(prog->pattern, sizeof(prog->pattern), "*");
	err = gpubpf_insn_decode(insns, n, prog->insns, diag);
	if (err >= 0)
		err = check_maps(prog, unit->nmaps, diag);
	return err < 0 ? err : gpubpf_program_funcs(prog, diag);
}

static int make_progs(const struct gpubpf_raw_insn *insns, uint32_t n, const uint32_t *begin, uint32_t nprogs,
		      struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	int err = 0;

	unit->progs = calloc(nprogs, sizeof(*unit->progs));
	if (!unit->progs)
		return -ENOMEM;
	for (uint32_t i = 0; err >= 0 && i < nprogs; i++)
		err = make_prog(insns + begin[i], (i + 1 < nprogs ? begin[i + 1] : n) - begin[i], unit, diag);
	return err;
}

/* Adds to each program the programs that it may tail-call, as functions. */
static int link_tails(struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	struct gpubpf_loaded loaded = { .unit = *unit };
	struct gpubpf_loading l = { .out = &loaded, .diag = diag, .path = "raw" };
	uint32_t numbers[GPUBPF_MAX_PROGS];

	for (uint32_t i = 0; i < unit->nprogs; i++)
		numbers[i] = i + 1;
	return gpubpf_tails_link(&l, 0, numbers);
}

int gpubpf_unit_raws(const struct gpubpf_raw_insn *insns, uint32_t n, const uint32_t *begin, uint32_t nprogs,
		     const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	struct gpubpf_unit u = { 0 };
	bool names_programs = false;
	int err = nprogs && nprogs <= GPUBPF_MAX_PROGS ? copy_maps(maps, nmaps, &u) : -EINVAL;

	for (uint32_t i = 0; i < nmaps; i++)
		names_programs |= maps[i].ntargets != 0;
	if (err >= 0)
		err = make_progs(insns, n, begin, nprogs, &u, diag);
	if (err >= 0 && names_programs)
		err = link_tails(&u, diag);
	if (err == -ENOMEM)
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for a program");
	if (err < 0)
		gpubpf_unit_finish(&u);
	else
		*unit = u;
	return err;
}

int gpubpf_unit_raw(const struct gpubpf_raw_insn *insns, uint32_t n, const struct gpubpf_map *maps, uint32_t nmaps,
		    struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	const uint32_t begin = 0;

	return gpubpf_unit_raws(insns, n, &begin, 1, maps, nmaps, unit, diag);
}
