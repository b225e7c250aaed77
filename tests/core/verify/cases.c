/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the verifier's cases, one per file. Lines before "---" state the expectations, lines after it are the program
 * (asm.h).
 *
 *   # text                          purpose of the case
 *   map NAME TYPE KEY VALUE MAX [FLAGS]   TYPE: a number or a name of map_types.def
 *   rodata NAME "text" | HEX        a read-only map with this content as its only value
 *   opts WORD...                    kernel (verdicts on Linux kernel programs), leaks, exit, block (the place is
 *                                   gpu/block_begin/), place=NAME, cost=N, states=N, target=NAME (limits.def), stack=N,
 *                                   frames=N (the target's limits)
 *   accept | reject CODE text       the verdict; for a refusal its code and a part of the message
 *   remedy text                     a part of the remedy
 *   warn text | nowarn              a part of a warning; no warning at all
 *   fact PC NAME[=VALUE]            const=N, always, never, uniform, warp, varying, divergent, together, rmw,
 *                                   unreached, trips=N; for an access frame=N (255: any), map=N (65535: any)
 *   cost NAME=N                     insns, atomics, event_bytes, prints, loads, stores; warp_insns for 32 lanes
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"
#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/places.h"
#include "tests/cases.h"
#include "tests/tap.h"

#define MAX_MAPS 8
#define MAX_CHECKS 32

struct test_case {
	struct gpubpf_map maps[MAX_MAPS];
	uint32_t nmaps;
	struct gpubpf_verify_opts opts;
	struct gpubpf_limits limits;
	bool accept, verdict, nowarn;
	enum gpubpf_site site;
	char code[32], text[200], remedy[200];
	char checks[MAX_CHECKS][200];
	uint32_t nchecks;
	uint8_t content[MAX_MAPS][256];
	struct assembly program;
	struct gpubpf_insn insns[ASM_MAX];
	char problem[700];
};

static bool wrong(struct test_case *c, const char *what, const char *detail)
{
	snprintf(c->problem, sizeof(c->problem), "%.150s: %.500s", what, detail);
	return false;
}

static const struct gpubpf_map_type *type_of(const char *word)
{
	for (size_t i = 0; gpubpf_map_type_at(i); i++)
		if (!strcmp(gpubpf_map_type_at(i)->name, word))
			return gpubpf_map_type_at(i);
	return gpubpf_map_type_find((uint32_t)strtoul(word, NULL, 0));
}

static bool read_map(struct test_case *c, const char *line)
{
	struct gpubpf_map *m = &c->maps[c->nmaps];
	char type[32];

	if (c->nmaps == MAX_MAPS || sscanf(line, "map %63s %31s %u %u %u %u", m->name, type, &m->key_size, &m->value_size,
					   &m->max_entries, &m->map_flags) < 5)
		return wrong(c, "a map", line);
	m->type = type_of(type);
	c->nmaps++;
	return m->type || wrong(c, "a map type", line);
}

static bool read_rodata(struct test_case *c, const char *line)
{
	struct gpubpf_map *m = &c->maps[c->nmaps];
	uint8_t *to = c->content[c->nmaps];
	const char *p = strchr(line, '"');

	if (c->nmaps == MAX_MAPS || sscanf(line, "rodata %63s", m->name) != 1)
		return wrong(c, "rodata", line);
	if (p) {
		size_t n = strcspn(p + 1, "\"");

		memcpy(to, p + 1, n < 255 ? n : 255);
		m->value_size = (uint32_t)n + 1;
	} else {
		unsigned int byte;

		for (p = strrchr(line, ' ') + 1; sscanf(p, "%2x", &byte) == 1 && m->value_size < 256; p += 2)
			to[m->value_size++] = (uint8_t)byte;
	}
	m->type = gpubpf_map_type_find(2);
	m->key_size = 4;
	m->max_entries = 1;
	m->rdonly = m->global_data = true;
	m->init = to;
	c->nmaps++;
	return true;
}

static void read_limit(struct test_case *c, const char *word)
{
	const struct gpubpf_limits *target = strncmp(word, "target=", 7) ? NULL : gpubpf_limits_find(word + 7);

	if (target)
		c->opts.limits = target;
	if (strncmp(word, "stack=", 6) && strncmp(word, "frames=", 7))
		return;
	if (!c->opts.limits)
		c->limits = (struct gpubpf_limits){ "small", 8, GPUBPF_STACK_SIZE, GPUBPF_MAX_FRAMES };
	c->opts.limits = &c->limits;
	if (word[0] == 's')
		c->limits.stack = (uint32_t)strtoul(word + 6, NULL, 0);
	else
		c->limits.frames = (uint32_t)strtoul(word + 7, NULL, 0);
}

static void read_place(struct test_case *c, const char *name)
{
	for (uint32_t site = 1; site < GPUBPF_NSITES; site++)
		if (!strcmp(gpubpf_place_kind(site)->name, name))
			c->site = site;
}

static void read_opts(struct test_case *c, char *line)
{
	for (char *w = strtok(line + 4, " \n"); w; w = strtok(NULL, " \n")) {
		c->opts.any_ctx |= !strcmp(w, "kernel");
		c->opts.allow_kernel_helpers |= !strcmp(w, "kernel");
		c->opts.allow_ptr_leaks |= !strcmp(w, "leaks");
		c->opts.allow_exit_thread |= !strcmp(w, "exit");
		if (!strcmp(w, "block"))
			c->site = GPUBPF_SITE_BLOCK_BEGIN;
		if (!strncmp(w, "place=", 6))
			read_place(c, w + 6);
		if (!strncmp(w, "cost=", 5))
			c->opts.max_cost = strtoull(w + 5, NULL, 0);
		if (!strncmp(w, "states=", 7))
			c->opts.max_states = strtoull(w + 7, NULL, 0);
		read_limit(c, w);
	}
}

static bool read_header(struct test_case *c, char *line)
{
	line[strcspn(line, "\n")] = 0;
	if (!line[0] || line[0] == '#')
		return true;
	if (!strncmp(line, "map ", 4))
		return read_map(c, line);
	if (!strncmp(line, "rodata ", 7))
		return read_rodata(c, line);
	if (!strncmp(line, "opts ", 5))
		return read_opts(c, line), true;
	if (!strcmp(line, "accept"))
		return c->accept = c->verdict = true;
	if (sscanf(line, "reject %31s %199[^\n]", c->code, c->text) >= 1)
		return c->verdict = true;
	if (sscanf(line, "remedy %199[^\n]", c->remedy) == 1)
		return true;
	if (!strcmp(line, "nowarn"))
		return c->nowarn = true;
	if (c->nchecks == MAX_CHECKS)
		return wrong(c, "too many checks", line);
	snprintf(c->checks[c->nchecks++], sizeof(c->checks[0]), "%.190s", line);
	return true;
}

static bool read_case(struct test_case *c, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];
	bool program = false, good = true;

	if (!f)
		return wrong(c, path, strerror(errno));
	while (good && fgets(line, sizeof(line), f)) {
		if (!program && !strncmp(line, "---", 3)) {
			program = true;
			c->program.maps = c->maps;
			c->program.nmaps = c->nmaps;
		} else if (program) {
			good = asm_line(&c->program, line) || wrong(c, "assembler", c->program.error);
		} else {
			good = read_header(c, line);
		}
	}
	fclose(f);
	if (!good)
		return false;
	if (!c->verdict)
		return wrong(c, "no verdict", path);
	return asm_finish(&c->program) || wrong(c, "assembler", c->program.error);
}

static bool check_warning(struct test_case *c, const struct gpubpf_facts *f, const char *text)
{
	for (uint32_t i = 0; i < f->nwarnings; i++)
		if (strstr(f->warnings[i].text, text))
			return true;
	return wrong(c, "no such warning", text);
}

static bool check_fact(struct test_case *c, const struct gpubpf_facts *facts, const char *line)
{
	const struct gpubpf_insn_facts *f;
	unsigned int pc;
	char name[32];
	const char *equals = strchr(line, '=');
	uint64_t value = equals ? strtoull(equals + 1, NULL, 0) : 0;
	bool holds;

	if (sscanf(line, "fact %u %31[a-z]", &pc, name) != 2 || pc >= c->program.n)
		return wrong(c, "a fact", line);
	f = &facts->insn[pc];
	if (!strcmp(name, "const"))
		holds = (f->flags & GPUBPF_FACT_CONST) && f->value == value;
	else if (!strcmp(name, "trips"))
		holds = f->trips == (uint32_t)value;
	else if (!strcmp(name, "frame"))
		holds = f->mem.frame == (uint8_t)value;
	else if (!strcmp(name, "map"))
		holds = f->mem.map == (int16_t)value;
	else if (!strcmp(name, "always"))
		holds = f->flags & GPUBPF_FACT_ALWAYS;
	else if (!strcmp(name, "never"))
		holds = f->flags & GPUBPF_FACT_NEVER;
	else if (!strcmp(name, "uniform"))
		holds = f->flags & GPUBPF_FACT_BLOCK_UNIFORM;
	else if (!strcmp(name, "warp"))
		holds = (f->flags & GPUBPF_FACT_WARP_UNIFORM) && !(f->flags & GPUBPF_FACT_BLOCK_UNIFORM);
	else if (!strcmp(name, "varying"))
		holds = !(f->flags & GPUBPF_FACT_WARP_UNIFORM);
	else if (!strcmp(name, "divergent"))
		holds = f->flags & GPUBPF_FACT_DIVERGENT;
	else if (!strcmp(name, "together"))
		holds = !(f->flags & GPUBPF_FACT_DIVERGENT);
	else if (!strcmp(name, "rmw"))
		holds = f->flags & GPUBPF_FACT_RMW_ADD;
	else if (!strcmp(name, "plain"))
		holds = !(f->flags & (GPUBPF_FACT_RMW_ADD | GPUBPF_FACT_CONST));
	else if (!strcmp(name, "unreached"))
		holds = !(f->flags & GPUBPF_FACT_REACHED);
	else
		return wrong(c, "a fact", line);
	return holds || wrong(c, "does not hold", line);
}

static bool check_cost(struct test_case *c, const struct gpubpf_prog *prog, const char *line)
{
	const struct gpubpf_facts *f = prog->facts;
	struct gpubpf_cost warp;
	const struct {
		const char *name;
		uint64_t value;
	} costs[] = {
		{ "insns", f->cost.insns }, { "loads", f->cost.loads }, { "stores", f->cost.stores },
		{ "atomics", f->cost.atomics }, { "event_bytes", f->cost.event_bytes }, { "prints", f->cost.prints },
		{ "warp_insns", (gpubpf_cost_warp(prog, 32, &warp), warp.insns) },
	};
	unsigned long long want;
	char name[32], seen[64];

	if (sscanf(line, "cost %31[a-z_]=%llu", name, &want) != 2)
		return wrong(c, "a cost", line);
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		if (!strcmp(costs[i].name, name) && costs[i].value != want) {
			snprintf(seen, sizeof(seen), "%s is %llu", name, (unsigned long long)costs[i].value);
			return wrong(c, line, seen);
		}
	return true;
}

static bool check_accepted(struct test_case *c, const struct gpubpf_prog *prog)
{
	const struct gpubpf_facts *f = prog->facts;

	if (c->nowarn && f->nwarnings)
		return wrong(c, "an unexpected warning", f->warnings[0].text);
	for (uint32_t i = 0; i < c->nchecks; i++) {
		const char *line = c->checks[i];
		bool good = !strncmp(line, "warn ", 5) ? check_warning(c, f, line + 5) :
			    !strncmp(line, "fact ", 5) ? check_fact(c, f, line) :
			    !strncmp(line, "cost ", 5) ? check_cost(c, prog, line) : wrong(c, "what is", line);

		if (!good)
			return false;
	}
	return true;
}

static bool run_case(struct test_case *c, const char *path)
{
	struct gpubpf_prog prog = { .name = "case", .insns = c->insns };
	struct gpubpf_unit unit = { .maps = c->maps, .progs = &prog, .nprogs = 1 };
	static struct gpubpf_diag diag;
	bool good;
	int err;

	memset(c, 0, sizeof(*c));
	if (!read_case(c, path))
		return false;
	prog.insns = c->insns;
	prog.ninsns = c->program.n;
	prog.site = c->site;
	unit.nmaps = c->nmaps;
	gpubpf_diag_init(&diag);
	err = gpubpf_insn_decode(c->program.insns, c->program.n, c->insns, &diag);
	if (err >= 0)
		err = gpubpf_verify(&unit, &prog, &c->opts, &diag);
	if (err < 0 && c->accept)
		return wrong(c, gpubpf_error_name(diag.code), diag.what);
	if (err >= 0 && !c->accept) {
		gpubpf_facts_destroy(prog.facts);
		return wrong(c, "accepted, not refused with", c->code);
	}
	if (err < 0) {
		if (strcmp(gpubpf_error_name(diag.code), c->code))
			return wrong(c, gpubpf_error_name(diag.code), diag.what);
		if (!diag.remedy[0])
			return wrong(c, "no remedy for", diag.what);
		if (c->remedy[0] && !strstr(diag.remedy, c->remedy))
			return wrong(c, "another remedy", diag.remedy);
		return strstr(diag.what, c->text) || wrong(c, "another message", diag.what);
	}
	good = check_accepted(c, &prog);
	gpubpf_facts_destroy(prog.facts);
	return good;
}

/* Run one case. Prints a TAP line with the file's name, and what is wrong. */
static void run_file(const char *folder, const char *name)
{
	static struct test_case c;
	char path[1024];
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	good = run_case(&c, path);
	ok(good, "%s", name);
	if (!good)
		printf("# %s\n", c.problem);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		ok(run_each_case(argv[i], ".case", run_file) > 0, "%s holds cases", argv[i]);
	return done();
}
