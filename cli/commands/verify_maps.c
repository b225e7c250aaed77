/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints how much device memory the maps of verified programs need, without a device. The layout of a map depends on
 * how the programs use the map. The number of replicas depends on the device's number of multiprocessors.
 */
#include "cli/cli.h"

#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/session/report/table.h"
#include "maps/impl.h"

#define MAX_ARENA_BYTES (16ull << 30)         /* maximum bytes of an arena (core/session/maps/arena.c) */

static const uint32_t units[] = { 1, 16, 132 };

#define COLUMNS (sizeof(units) / sizeof(units[0]))

static void gather_use(const struct gpubpf_unit *unit, uint32_t *use)
{
	for (uint32_t i = 0; i < unit->nprogs; i++)
		for (uint32_t m = 0; m < unit->nmaps; m++)
			use[m] |= unit->progs[i].facts->map_use[m];
}

static void print_table(const struct gpubpf_unit *unit, const struct gpubpf_layout *layouts)
{
	struct gpubpf_table table;

	gpubpf_table_init(&table, "MAP", "BYTES ON 1 MULTIPROCESSOR", "ON 16", "ON 132", NULL);
	for (uint32_t m = 0; m < unit->nmaps; m++) {
		if (unit->maps[m].prototype)
			continue;
		gpubpf_table_cell(&table, "%s", unit->maps[m].name);
		for (size_t c = 0; c < COLUMNS; c++)
			gpubpf_table_cell(&table, "%llu", (unsigned long long)gpubpf_map_bytes(&layouts[c].maps[m]));
	}
	gpubpf_table_cell(&table, "in all");
	for (size_t c = 0; c < COLUMNS; c++)
		gpubpf_table_cell(&table, "%llu", (unsigned long long)layouts[c].used);
	gpubpf_table_print(&table, stdout);
	gpubpf_table_finish(&table);
}

void cli_print_maps_memory(const struct gpubpf_unit *unit)
{
	struct gpubpf_layout layouts[COLUMNS] = { 0 };
	uint32_t use[GPUBPF_MAX_MAPS] = { 0 };
	struct gpubpf_diag diag;
	size_t done = 0;

	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (!unit->progs[i].facts)
			return; /* a program that was not verified may use the maps in other ways */
	if (!unit->nmaps)
		return;
	gather_use(unit, use);
	gpubpf_diag_init(&diag);
	for (; done < COLUMNS; done++) {
		struct gpubpf_layout_opts opts = { .replicas = units[done], .map_use = use, .max_size = MAX_ARENA_BYTES };

		if (gpubpf_layout_compute(unit, &opts, &layouts[done], &diag) < 0)
			break;
	}
	if (done == COLUMNS)
		print_table(unit, layouts);
	else
		printf("the maps do not fit a device of %u multiprocessors: %s: %s\n", units[done], diag.where, diag.what);
	while (done)
		gpubpf_layout_finish(&layouts[--done]);
}
