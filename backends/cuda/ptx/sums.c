/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that a function's probes keep in registers (core/lower/llvm_sums.c): 0 at its top, and added wherever it is left.
 * What lanes had kept that never leave, for a fault or a trap ended the kernel, is lost.
 */
#include <assert.h>
#include <inttypes.h>
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

struct parts {
	unsigned bytes, map, off;
};

static struct parts parts_of(const struct cuda_sum *sum)
{
	struct parts p;

	if (sscanf(sum->name, "%u_%u_%u", &p.bytes, &p.map, &p.off) != 3)
		assert(!"core/lower/llvm_sums.c names it so");
	return p;
}

/* Is it the first of its map's? */
static bool is_first(const struct ptx_splice *in, uint32_t i)
{
	uint32_t k = 0;

	while (parts_of(&in->sums[k]).map != parts_of(&in->sums[i]).map)
		k++;
	return k == i;
}

/* Where the multiprocessor's values of the map begin: gpubpf_array_address() (maps/array.h). It is known long before the
 * function is left; a lane that goes on at another multiprocessor adds to this one's, which is as good. */
static void begin_map(struct ptx_splice *in, struct ptx_text *text, uint32_t map)
{
	const struct gpubpf_map_layout *l = &in->at.job->layouts[map];

	ptx_addf(text, &in->err, "\n.reg .b64 %" CUDA_AT "%u;\n{\n.reg .b32 %%gpubpf_n;\n.reg .b64 %%gpubpf_d;\n", map);
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%smid;\nmin.u32 %%gpubpf_n, %%gpubpf_n, %u;\n", l->copies - 1);
	ptx_addf(text, &in->err, "cvt.u64.u32 %%gpubpf_d, %%gpubpf_n;\nmul.lo.s64 %%gpubpf_d, %%gpubpf_d, %" PRIu64 ";\n", l->copy_stride);
	ptx_addf(text, &in->err, "ld.const.u64 %" CUDA_AT "%u, [gpubpf_arena];\n", map);
	ptx_addf(text, &in->err, "add.s64 %" CUDA_AT "%u, %" CUDA_AT "%u, %%gpubpf_d;\n}", map, map);
}

void ptx_begin_sums(struct ptx_splice *in, struct ptx_text *text)
{
	for (uint32_t i = 0; i < in->nsums; i++) {
		const char *name = in->sums[i].name;

		if (is_first(in, i))
			begin_map(in, text, parts_of(&in->sums[i]).map);
		ptx_addf(text, &in->err, "\n.reg .b64 %" CUDA_SUM "%s;\nmov.b64 %" CUDA_SUM "%s, 0;", name, name);
	}
}

/* Adds gpubpf_d to the multiprocessor's summand. */
static void add_to_summand(struct ptx_splice *in, struct ptx_text *text, const struct cuda_sum *sum)
{
	struct parts p = parts_of(sum);

	ptx_addf(text, &in->err, "add.s64 %%gpubpf_to, %" CUDA_AT "%u, %" PRIu64 ";\n", p.map, in->at.job->layouts[p.map].data + p.off);
	if (p.bytes == 4)
		ptx_addf(text, &in->err, "cvt.u32.u64 %%gpubpf_n, %%gpubpf_d;\n");
	ptx_addf(text, &in->err, "red.relaxed.gpu.global.add.u%u [%%gpubpf_to], %%gpubpf_%s;\n", 8 * p.bytes, p.bytes == 4 ? "n" : "d");
}

/* Lanes that leave together with the same sum add it once. */
static void add_sum(struct ptx_splice *in, struct ptx_text *text, const struct cuda_sum *sum)
{
	uint32_t each = ++in->labels, over = ++in->labels;

	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_w, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, ".reg .b64 %%gpubpf_d, %%gpubpf_to;\nmov.b64 %%gpubpf_d, %" CUDA_SUM "%s;\n", sum->name);
	ptx_addf(text, &in->err, "setp.eq.s64 %%gpubpf_p, %%gpubpf_d, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", over);
	ptx_addf(text, &in->err, "activemask.b32 %%gpubpf_w;\nmatch.all.sync.b64 %%gpubpf_n|%%gpubpf_p, %%gpubpf_d, %%gpubpf_w;\n");
	ptx_addf(text, &in->err, "@!%%gpubpf_p bra $gpubpf_over_%u;\n", each);
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%lanemask_lt;\nand.b32 %%gpubpf_n, %%gpubpf_n, %%gpubpf_w;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 %%gpubpf_p, %%gpubpf_n, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", over);
	ptx_addf(text, &in->err, "popc.b32 %%gpubpf_n, %%gpubpf_w;\ncvt.u64.u32 %%gpubpf_to, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "mul.lo.s64 %%gpubpf_d, %%gpubpf_d, %%gpubpf_to;\n$gpubpf_over_%u:\n", each);
	add_to_summand(in, text, sum);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", over);
}

void ptx_end_sums(struct ptx_splice *in, struct ptx_text *text)
{
	for (uint32_t i = 0; i < in->nsums; i++)
		add_sum(in, text, &in->sums[i]);
}
