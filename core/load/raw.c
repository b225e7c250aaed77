/* SPDX-License-Identifier: Apache-2.0 */
/* A unit made of raw instructions, without an object: tests and the conformance tool. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"

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

static int copy_maps(const struct gpubpf_map *maps, uint32_t nmaps, struct gpubpf_unit *unit)
{
	unit->maps = calloc(nmaps + 1, sizeof(*maps));
	if (!unit->maps)
		return -ENOMEM;
	for (uint32_t i = 0; i < nmaps; i++) {
		void *init = NULL;

		if (maps[i].init && !(init = malloc(maps[i].value_size)))
			return -ENOMEM;
		if (init)
			memcpy(init, maps[i].init, maps[i].value_size);
		unit->maps[i] = maps[i];
		unit->maps[i].init = init;
		unit->nmaps++;
	}
	return 0;
}

static int make_prog(const struct gpubpf_raw_insn *insns, uint32_t n, struct gpubpf_unit *unit,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_prog *prog;
	int err;

	unit->progs = prog = calloc(1, sizeof(*prog));
	if (!prog || !(prog->insns = calloc((size_t)n + 1, sizeof(*prog->insns))))
		return -ENOMEM;
	unit->nprogs = 1;
	prog->ninsns = n;
	prog->site = GPUBPF_SITE_ENTRY;
	snprintf(prog->name, sizeof(prog->name), "prog");
	snprintf(prog->section, sizeof(prog->section), "gpu/entry/*");
	snprintf(prog->pattern, sizeof(prog->pattern), "*");
	err = gpubpf_insn_decode(insns, n, prog->insns, diag);
	if (err >= 0)
		err = check_maps(prog, unit->nmaps, diag);
	return err < 0 ? err : gpubpf_program_funcs(prog, diag);
}

int gpubpf_unit_raw(const struct gpubpf_raw_insn *insns, uint32_t n, const struct gpubpf_map *maps, uint32_t nmaps,
		    struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	struct gpubpf_unit u = { 0 };
	int err = copy_maps(maps, nmaps, &u);

	if (err >= 0)
		err = make_prog(insns, n, &u, diag);
	if (err == -ENOMEM)
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for a program");
	if (err < 0)
		gpubpf_unit_finish(&u);
	else
		*unit = u;
	return err;
}
