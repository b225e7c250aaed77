/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "code_cfg.h"
#include "backends/cuda/sass/isa/print.h"
#include "core/lower/dump.h"

struct dump {
	const struct gpubpf_lower_job *job;
	FILE *to;
	char *text;
	size_t size;
};

/* Returns false if the job needs no dump after this pass, or if the memory runs out. */
static bool open_dump(struct dump *d, const struct gpubpf_lower_job *job, const char *pass)
{
	*d = (struct dump){ .job = job };
	if (job && gpubpf_dump_wants(job, pass))
		d->to = open_memstream(&d->text, &d->size);
	return d->to;
}

static void close_dump(struct dump *d)
{
	if (!fclose(d->to))
		gpubpf_dump_add(d->job, d->text, d->size);
	free(d->text);
}

static void print_range(FILE *to, const struct sass_arch *arch, struct sass_insns insns, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++) {
		fprintf(to, "%6u: ", i);
		sass_print_insn(to, *sass_insns_at(insns, i), arch ? sass_target_of(arch, insns.first, i) : -1);
	}
}

void sass_dump_insns(const struct gpubpf_lower_job *job, const char *pass, const char *title,
		     const struct sass_arch *arch, struct sass_insns insns, uint32_t n)
{
	struct dump d;

	if (!open_dump(&d, job, pass))
		return;
	fprintf(d.to, "%s:\n", title);
	print_range(d.to, arch, insns, 0, n);
	close_dump(&d);
}

void sass_dump_blocks(const struct gpubpf_lower_job *job, const char *title, const struct sass_code *code)
{
	const struct sass_insns insns = { code->insns, sizeof(*code->insns) };
	struct sass_cfg cfg;
	struct dump d;

	if (!open_dump(&d, job, "blocks"))
		return;
	fprintf(d.to, "%s:\n", title);
	if (!sass_cfg_of_code(&cfg, code))
		for (uint32_t b = 0; b < cfg.nblocks; b++) {
			sass_cfg_dump_block(&cfg, b, d.to);
			print_range(d.to, code->arch, insns, cfg.blocks[b].begin, cfg.blocks[b].end);
		}
	sass_cfg_finish(&cfg);
	close_dump(&d);
}
