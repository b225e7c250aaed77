/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load-show [--gpu] [--attach PROG=PATTERN]... FILE...: loads objects and prints their maps and programs as lines,
 * which the tests compare.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/model/diag.h"
#include "core/load/load.h"

static void show_map(const struct gpubpf_loaded *l, uint32_t i)
{
	const struct gpubpf_map *m = &l->unit.maps[i];
	char text[512];

	printf("map %u %s %s key %u value %u max %u flags 0x%x%s%s object %d\n", i, m->name, m->type->name,
	       m->key_size, m->value_size, m->max_entries, m->map_flags, m->rdonly ? " rdonly" : "",
	       m->global_data ? " data" : "", m->object);
	if (!m->init)
		return;
	gpubpf_typed_text(l->objects[m->object].btf, m->btf_value, NULL, m->init, m->value_size, text, sizeof(text));
	printf("  init %s\n", text);
}

static void show_insns(const struct gpubpf_prog *p)
{
	const struct gpubpf_line *last = NULL, *line;
	char text[160];

	for (uint32_t pc = 0; pc < p->ninsns; pc++) {
		line = gpubpf_prog_line(p, pc);
		if (line && line != last)
			printf("  line %u: %s\n", line->line, line->text);
		last = line;
		gpubpf_insn_format(&p->insns[pc], pc, text, sizeof(text));
		printf("  insn %u: %s\n", pc, text);
	}
}

static void show(const struct gpubpf_loaded *l)
{
	for (uint32_t i = 0; i < l->nnotes; i++)
		printf("note: %s\n", l->notes[i]);
	for (uint32_t i = 0; i < l->nobjects; i++)
		printf("object %u sha256 %s btf %s\n", i, l->objects[i].sha256, l->objects[i].btf ? "yes" : "no");
	for (uint32_t i = 0; i < l->nobjects; i++)
		for (uint32_t p = 0; p < l->objects[i].nhost; p++)
			printf("host: %s\n", l->objects[i].host[p]);
	for (uint32_t i = 0; i < l->unit.nmaps; i++)
		show_map(l, i);
	for (uint32_t i = 0; i < l->unit.nprogs; i++) {
		const struct gpubpf_prog *p = &l->unit.progs[i];

		printf("prog %u %s section %s pattern %s site %s object %d\n", i, p->name, p->section, p->pattern,
		       gpubpf_place_kind(p->site)->name, p->object);
		for (uint32_t f = 0; f < p->nfuncs; f++)
			printf("  func %s at %u\n", p->funcs[f].name, p->funcs[f].first);
		show_insns(p);
	}
}

static int refuse(const struct gpubpf_diag *diag)
{
	printf("error %s: %s: %s\n", gpubpf_error_name(diag->code), diag->where, diag->what);
	if (diag->line)
		printf("  at line %u: %s\n", diag->line, diag->source);
	printf("  try: %s\n", diag->remedy);
	return 1;
}

int main(int argc, char **argv)
{
	struct gpubpf_attach attach[16];
	struct gpubpf_load_opts opts = { .attach = attach };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;
	int i = 1;

	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		char *eq;

		if (!strcmp(argv[i], "--gpu")) {
			opts.all_gpu = true;
		} else if (i + 1 < argc && opts.nattach < 16 && (eq = strchr(argv[++i], '='))) {
			*eq = '\0';
			attach[opts.nattach++] = (struct gpubpf_attach){ argv[i], eq + 1 };
		}
	}
	opts.paths = (const char *const *)argv + i;
	opts.npaths = argc - i;
	gpubpf_diag_init(&diag);
	if (gpubpf_load(&opts, &loaded, &diag) < 0)
		return refuse(&diag);
	show(loaded);
	gpubpf_loaded_destroy(loaded);
	return 0;
}
