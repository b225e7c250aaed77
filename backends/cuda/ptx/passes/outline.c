/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: turns probes into functions if their inlined copies would exceed the text limit.
 * Before: a probe's text is inlined at every place.
 * After: every place calls a function in the prelude.
 * Requires: can_outline(): the probe uses no parameters, accumulators or other registers of the kernel.
 */
#include "outline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/lower/lower.h"

/* limit for all copies of the probes in bytes; BENCH.md lists assembly times of larger texts */
#define MAX_TEXT_BYTES (1u << 20)

/* Returns true if the probe can become a function, which cannot access the kernel's parameters or registers. */
static bool can_outline(const struct cuda_probe *probe)
{
	return probe->is_insn_probe && !probe->reads_params && !probe->ends_thread && !probe->registers.nsums &&
	       !probe->reads_acc_mode && !probe->registers.nmap_bases && !probe->reads_place_const &&
	       !probe->reads_taken_mask;
}

static size_t count_inlined_bytes(const struct gpubpf_lower_job *job, const struct cuda_probe *probes, uint32_t site)
{
	size_t text = 0;

	for (uint32_t i = 0; i < job->ninsertions; i++)
		if (job->insertions[i].site == site)
			text += probes[site].body_size;
	return text;
}

bool cuda_probes_exceed_limit(const struct gpubpf_lower_job *job, const struct cuda_probe *probes)
{
	size_t text = 0;

	for (uint32_t i = 0; i < job->ninsertions; i++)
		if (probes[job->insertions[i].site].is_insn_probe)
			text += probes[job->insertions[i].site].body_size;
	return text > MAX_TEXT_BYTES;
}

static void emit_function(FILE *f, const struct cuda_probe *probe, uint32_t site)
{
	const char *before = "";

	fprintf(f, "\n.func gpubpf_shared_%u(", site);
	for (uint32_t word = 0; word < 64; word++)
		if (probe->reads >> word & 1) {
			fprintf(f, "%s.param .b64 gpubpf_word_%u", before, word);
			before = ", ";
		}
	fprintf(f, ")\n{\n");
	for (uint32_t word = 0; word < 64; word++)
		if (probe->reads >> word & 1)
			fprintf(f, ".reg .b64 %s%u;\nld.param.b64 %s%u, [gpubpf_word_%u];\n", CUDA_OPERAND, word,
				CUDA_OPERAND, word, word);
	if (probe->reads_sm)
		fprintf(f, ".reg .b32 %s;\nmov.u32 %s, %%smid;\n", CUDA_SM, CUDA_SM);
	if (probe->reads_lane)
		fprintf(f, ".reg .b32 %s;\nmov.u32 %s, %%laneid;\n", CUDA_LANE, CUDA_LANE);
	if (probe->reads_active_mask)
		fputs(CUDA_DECLARE_ACTIVE CUDA_READ_ACTIVE, f);
	fprintf(f, "{\n%.*s\n}\nret;\n}\n", (int)probe->body_size, probe->body);
}

/* Replaces the probe's text by a call of the probe's function. */
static int make_call(struct cuda_probe *probe, uint32_t site)
{
	const char *before = ", (";
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	for (uint32_t word = 0; word < 64; word++)
		if (probe->reads >> word & 1)
			fprintf(f, ".param .b64 gpubpf_given_%u;\nst.param.b64 [gpubpf_given_%u], %s%u;\n", word, word,
				CUDA_OPERAND, word);
	fprintf(f, "call gpubpf_shared_%u", site);
	for (uint32_t word = 0; word < 64; word++)
		if (probe->reads >> word & 1) {
			fprintf(f, "%sgpubpf_given_%u", before, word);
			before = ", ";
		}
	fprintf(f, "%s;", probe->reads ? ")" : "");
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	free(probe->body);
	probe->body = text;
	probe->body_size = size;
	probe->reads_sm = probe->reads_lane = probe->reads_active_mask = false;
	probe->may_diverge = true;
	return 0;
}

int cuda_outline_probes(const struct gpubpf_lower_job *job, struct cuda_probe *probes, char **prelude, size_t *size)
{
	size_t before = *size;
	char *text = NULL;
	int err = 0;
	FILE *f = open_memstream(&text, size);

	if (!f)
		return -ENOMEM;
	fwrite(*prelude, 1, before, f);
	for (uint32_t i = 0; !err && i < job->nsites; i++) {
		if (!can_outline(&probes[i]) || count_inlined_bytes(job, probes, i) <= MAX_TEXT_BYTES / 16)
			continue;
		emit_function(f, &probes[i], i);
		err = make_call(&probes[i], i);
	}
	if (fclose(f) && !err)
		err = -ENOMEM;
	free(*prelude);
	*prelude = text;
	return err;
}
