/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/facts.h"

#define THREADS 65536u           /* number of threads for which per-thread maps have values */
#define MAX_BLOCKS 65535u            /* maximum number of blocks for the word MOST in a case */
#define PRINT_BYTES (1u << 20)
#define RING_BYTES (1u << 16)

/* Return the limits of the target that a case names. A case may expect a refusal because of these limits. */
static const struct gpubpf_limits *limits_of(const struct grid *g)
{
	const char *at = NULL, *name;
	char buf[64];

	name = g->n == 1 ? grid_line(&g->suite->cases[*g->cases], "target", &at, buf, sizeof(buf)) : NULL;
	return name ? gpubpf_limits_find(name) : NULL;
}

static int verify_programs(struct grid *g, struct gpubpf_diag *diag)
{
	struct gpubpf_unit *unit = &g->loaded->unit;
	struct gpubpf_verify_opts opts = { .allow_exit_thread = true, .limits = limits_of(g) };

	g->map_use = calloc(unit->nmaps + 1, sizeof(*g->map_use));
	if (!g->map_use)
		return -ENOMEM;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		int err = gpubpf_verify(unit, &unit->progs[i], &opts, diag);

		if (err < 0)
			return err;
		for (uint32_t m = 0; m < unit->nmaps; m++)
			g->map_use[m] |= unit->progs[i].facts->map_use[m];
	}
	return 0;
}

int grid_load(struct grid *g, const struct suite *suite, const uint32_t *cases, uint32_t n, struct gpubpf_diag *diag)
{
	const char **paths = calloc(n, sizeof(*paths));
	struct gpubpf_load_opts opts = { .paths = paths, .npaths = n };
	int err;

	*g = (struct grid){ .suite = suite, .cases = cases, .n = n };
	for (uint32_t i = 0; paths && i < n; i++)
		paths[i] = suite->objects[suite->cases[cases[i]].object].path;
	err = paths ? gpubpf_load(&opts, &g->loaded, diag) : -ENOMEM;
	if (!err)
		err = verify_programs(g, diag);
	free(paths);
	return err;
}

int grid_layout(struct grid *g, uint32_t replicas, const uint32_t *places, struct gpubpf_diag *diag)
{
	struct gpubpf_layout_opts opts = { .replicas = replicas,
					   .threads = THREADS,
					   .print_bytes = PRINT_BYTES,
					   .ring_bytes = RING_BYTES,
					   .map_use = g->map_use,
					   .places = places };

	return gpubpf_layout_compute(&g->loaded->unit, &opts, &g->layout, diag);
}

void grid_finish(struct grid *g)
{
	gpubpf_layout_finish(&g->layout);
	free(g->map_use);
	if (!g->loaded)
		return;
	for (uint32_t i = 0; i < g->loaded->unit.nprogs; i++) {
		gpubpf_facts_destroy(g->loaded->unit.progs[i].facts);
		g->loaded->unit.progs[i].facts = NULL;
	}
	gpubpf_loaded_destroy(g->loaded);
}

const char *grid_line(const struct suite_case *c, const char *word, const char **at, char *buf, size_t size)
{
	const char *line = *at ? *at : c->expect;
	size_t n = strlen(word);

	for (; *line; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n");

		if (strncmp(line, word, n) || (line[n] != ' ' && line[n] != '\n'))
			continue;
		*at = line + length + 1;
		snprintf(buf, size, "%.*s", (int)(length - n), line + n);
		return buf + strspn(buf, " ");
	}
	return NULL;
}

const char *grid_workload(const struct suite_case *c, char *buf, size_t size)
{
	return grid_line(c, "workload", &(const char *){ NULL }, buf, size);
}

/*
 * Parse one size of a launch: a number, MOST or WARP. MOST is the device's maximum, but at most MAX_BLOCKS blocks, so
 * that a launch takes seconds. WARP is the number of lanes of the device's warps. +N or -N may follow MOST or WARP.
 */
static uint32_t parse_size(const char **text, uint32_t maximum, uint32_t warp)
{
	static const size_t length = sizeof("MOST") - 1;
	uint32_t size = 0;
	char *end;

	if (!strncmp(*text, "MOST", length))
		size = maximum;
	else if (!strncmp(*text, "WARP", length))
		size = warp;
	end = (char *)*text + (size ? length : 0);
	if (!size || *end == '+' || *end == '-') /* without + or -, a number after MOST or WARP is the next size */
		size += strtol(end, &end, 10);
	*text = end + strspn(end, ", ");
	return size ? size : 1;
}

void grid_launch_of(const struct suite_case *c, const struct gpubpf_device_caps *caps, struct grid_launch *launch)
{
	const char *at = NULL, *text;
	char buf[128];

	*launch = (struct grid_launch){ 3, { 1, 1, 1 }, { 1, 1, 1 }, 1 };
	text = grid_line(c, "launch", &at, buf, sizeof(buf));
	for (int d = 0; text && d < 3; d++)
		launch->grid[d] = parse_size(&text,
					     caps->max_blocks[d] && caps->max_blocks[d] < MAX_BLOCKS ? caps->max_blocks[d] :
												       MAX_BLOCKS,
					     caps->warp_size);
	for (int d = 0; text && d < 3; d++)
		launch->block[d] = parse_size(&text, caps->max_threads_per_block, caps->warp_size);
	text = grid_line(c, "launches", &(const char *){ NULL }, buf, sizeof(buf));
	if (text)
		launch->times = strtoul(text, NULL, 10);
}

uint64_t grid_pid_tgid(uint32_t nth)
{
	return GRID_PID_TGID + ((uint64_t)nth << GPUBPF_LAUNCH_LOW);
}

const char *grid_too_large(const struct suite_case *c, const struct gpubpf_device_caps *caps, char *buf, size_t size)
{
	struct grid_launch l;

	grid_launch_of(c, caps, &l);
	for (int d = 0; d < 3; d++)
		if (caps->max_blocks[d] && l.grid[d] > caps->max_blocks[d]) {
			snprintf(buf, size, "the device supports at most %u blocks in dimension %c",
				 caps->max_blocks[d], 'x' + d);
			return buf;
		}
	return NULL;
}

uint64_t grid_threads(const struct suite_case *c, const struct gpubpf_device_caps *caps)
{
	uint64_t threads = 1;
	struct grid_launch l;

	grid_launch_of(c, caps, &l);
	for (int d = 0; d < 3; d++)
		threads *= (uint64_t)l.grid[d] * l.block[d];
	return threads;
}

bool grid_runs_alone(const struct suite_case *c)
{
	char line[8];

	return grid_line(c, "apart", &(const char *){ NULL }, line, sizeof(line));
}

bool grid_is_refused(const struct suite_case *c)
{
	const char *at = NULL;
	char buf[256];

	return grid_line(c, "refused", &at, buf, sizeof(buf)) != NULL;
}
