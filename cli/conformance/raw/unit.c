/* SPDX-License-Identifier: Apache-2.0 */
/* Combines one-thread programs into one unit. Each program gets a separate map for its memory and its result. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "raw.h"
#include "emit.h"

static uint32_t ninsns(const struct conformance_case *c)
{
	return c->unit.progs->ninsns;
}

/* Create the map of a case. Its only value is a struct gpubpf_run followed by the case's memory. */
static int make_map(const struct conformance_case *c, uint32_t i, struct gpubpf_map *map)
{
	struct gpubpf_run *run;

	*map = (struct gpubpf_map){
		.type = gpubpf_map_type_find(BPF_MAP_TYPE_ARRAY),
		.key_size = 4,
		.max_entries = 1,
		.value_size = (uint32_t)(GPUBPF_RUN_MEM + c->mem_size),
	};
	snprintf(map->name, sizeof(map->name), "run%u", i);
	map->init = run = calloc(1, map->value_size);
	if (!run)
		return -ENOMEM;
	run->mem_size = c->mem_size;
	run->budget = CONFORMANCE_BUDGET;
	memcpy((uint8_t *)run + GPUBPF_RUN_MEM, c->mem, c->mem_size);
	return 0;
}

/* Return the instructions of all programs in one array, or NULL if memory is exhausted. */
static struct gpubpf_raw_insn *join(struct conformance_case *const *cases, uint32_t n, uint32_t *begin, uint32_t *total)
{
	struct gpubpf_raw_insn *insns;

	*total = 0;
	for (uint32_t i = 0; i < n; i++)
		*total += ninsns(cases[i]);
	insns = calloc(*total, sizeof(*insns));
	*total = 0;
	for (uint32_t i = 0; insns && i < n; i++) {
		begin[i] = *total;
		memcpy(insns + *total, cases[i]->insns, ninsns(cases[i]) * sizeof(*insns));
		*total += ninsns(cases[i]);
	}
	return insns;
}

int conformance_unit(struct conformance_case *const *cases, uint32_t n, const char *kernel, struct gpubpf_unit *unit,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_map maps[CONFORMANCE_TOGETHER] = { 0 };
	uint32_t begin[CONFORMANCE_TOGETHER], total;
	struct gpubpf_raw_insn *insns = join(cases, n, begin, &total);
	int err = insns ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++)
		err = make_map(cases[i], i, &maps[i]);
	if (!err)
		err = gpubpf_unit_raws(insns, total, begin, n, maps, n, unit, diag);
	for (uint32_t i = 0; i < n; i++)
		free((void *)maps[i].init);
	free(insns);
	for (uint32_t i = 0; err >= 0 && i < n; i++)
		snprintf(unit->progs[i].pattern, sizeof(unit->progs[i].pattern), "%s", kernel);
	return err < 0 ? err : 0;
}
