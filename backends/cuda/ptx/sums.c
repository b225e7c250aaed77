/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that a function's probes keep in registers (core/lower/llvm_sums.c): 0 at its top, and added wherever it is left.
 * What lanes had kept that never leave, for a fault or a trap ended the kernel, is lost.
 */
#include <stdio.h>
#include <string.h>

#include "edit.h"

static void note(struct ptx_splice *in, const struct cuda_sum *sum)
{
	uint32_t i = 0;

	while (i < in->nsums && strcmp(in->sums[i].name, sum->name))
		i++;
	if (i == CUDA_MAX_SUMS)
		ptx_refuse(in, "its probes keep more than %d sums", CUDA_MAX_SUMS);
	else if (i == in->nsums)
		in->sums[in->nsums++] = *sum;
}

void ptx_note_sums(struct ptx_splice *in)
{
	in->nsums = 0;
	for (uint32_t i = 0; i < in->nplaced; i++)
		for (uint32_t k = 0; in->placed[i].probe && k < in->placed[i].probe->nsums; k++)
			note(in, &in->placed[i].probe->sums[k]);
}

void ptx_begin_sums(struct ptx_splice *in, struct ptx_text *text)
{
	for (uint32_t i = 0; i < in->nsums; i++) {
		const char *name = in->sums[i].name;

		ptx_addf(text, &in->err, "\n.reg .b64 %" CUDA_SUM "%s, %" CUDA_TO "%s;", name, name);
		ptx_addf(text, &in->err, "\nmov.b64 %" CUDA_SUM "%s, 0;\nmov.b64 %" CUDA_TO "%s, 0;", name, name);
	}
}

static void add_to(struct ptx_splice *in, struct ptx_text *text, const char *name, const char *value)
{
	if (name[0] == '8')
		ptx_addf(text, &in->err, "red.relaxed.gpu.global.add.u64 [%" CUDA_TO "%s], %s;\n", name, value);
	else
		ptx_addf(text, &in->err, "cvt.u32.u64 %%gpubpf_n, %s;\nred.relaxed.gpu.global.add.u32 [%" CUDA_TO "%s], %%gpubpf_n;\n",
			 value, name);
}

/* Lanes that leave together with the same sum add it once; they all have the address of their multiprocessor's summand. */
static void add_sum(struct ptx_splice *in, struct ptx_text *text, const char *name)
{
	uint32_t each = ++in->labels, over = ++in->labels;
	char sum[60];

	snprintf(sum, sizeof(sum), "%" CUDA_SUM "%s", name);
	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_w, %%gpubpf_n;\n.reg .b64 %%gpubpf_d;\n");
	ptx_addf(text, &in->err, "setp.eq.s64 %%gpubpf_p, %s, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", sum, over);
	ptx_addf(text, &in->err, "activemask.b32 %%gpubpf_w;\nmatch.all.sync.b64 %%gpubpf_n|%%gpubpf_p, %s, %%gpubpf_w;\n", sum);
	ptx_addf(text, &in->err, "@!%%gpubpf_p bra $gpubpf_over_%u;\n", each);
	ptx_addf(text, &in->err, "popc.b32 %%gpubpf_n, %%gpubpf_w;\ncvt.u64.u32 %%gpubpf_d, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "mul.lo.s64 %%gpubpf_d, %%gpubpf_d, %s;\nmov.u32 %%gpubpf_n, %%lanemask_lt;\n", sum);
	ptx_addf(text, &in->err, "and.b32 %%gpubpf_n, %%gpubpf_n, %%gpubpf_w;\nsetp.ne.u32 %%gpubpf_p, %%gpubpf_n, 0;\n");
	ptx_addf(text, &in->err, "@%%gpubpf_p bra $gpubpf_over_%u;\n", over);
	add_to(in, text, name, "%gpubpf_d");
	ptx_addf(text, &in->err, "bra $gpubpf_over_%u;\n$gpubpf_over_%u:\n", over, each);
	add_to(in, text, name, sum);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", over);
}

void ptx_end_sums(struct ptx_splice *in, struct ptx_text *text)
{
	for (uint32_t i = 0; i < in->nsums; i++)
		add_sum(in, text, in->sums[i].name);
}
