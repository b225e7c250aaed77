/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds a probe as a { } block. At the block's end, the lanes that entered it together are converged again.
 * Before: the probe's PTX, which may have loops in which lanes diverge.
 * After: the text has the block, and control continues after it.
 * Requires: for instruction probes, the predicate that ptx_declare_opaque_false() declares.
 */
#include "edit.h"

#include "backends/cuda/ptx/analysis/params.h"

#define ACTIVE_LANES "%%gpubpf_here" /* mask of the lanes that enter the probe */
#define OPAQUE_FALSE "%%gpubpf_nobody" /* a predicate that is false for every lane, but ptxas cannot prove this */

void ptx_declare_opaque_false(struct ptx_splice *in, struct ptx_text *text)
{
	ptx_addf(text, &in->err, "\n.reg .pred " OPAQUE_FALSE ";\n{\n.reg .b32 %%gpubpf_below, %%gpubpf_above;\n");
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_below, %%lanemask_lt;\nmov.u32 %%gpubpf_above, %%lanemask_gt;\n");
	ptx_addf(text, &in->err, "setp.eq.u32 " OPAQUE_FALSE ", %%gpubpf_above, %%gpubpf_below;\n}\n");
}

bool ptx_needs_reconvergence(const struct cuda_probe *probe)
{
	return probe->may_diverge && !probe->ends_thread;
}

/*
 * Emits a branch over the probe that no lane takes, because a wait alone does not reconverge the lanes. The assembler
 * ptxas adds YIELD to loops that read memory which other threads write. At YIELD, BSYNC releases the lanes that wait
 * after the loop (seen on an H200), so the code after the loop runs diverged. A bar.warp.sync makes the lanes wait once
 * more but does not reconverge them. They reconverge at the target of the branch on OPAQUE_FALSE, because no lane
 * yields between the bar.warp.sync and that target.
 */
uint32_t ptx_begin_reconverge(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	ptx_addf(text, &in->err, "{\n");
	if (!ptx_needs_reconvergence(probe))
		return 0;
	if (!probe->is_insn_probe)
		ptx_declare_opaque_false(in, text);
	ptx_addf(text, &in->err,
		 ".reg .b32 " ACTIVE_LANES ";\n@" OPAQUE_FALSE " bra $gpubpf_met_%u;\nactivemask.b32 " ACTIVE_LANES ";\n",
		 ++in->labels);
	return in->labels;
}

void ptx_end_reconverge(struct ptx_splice *in, struct ptx_text *text, uint32_t meeting)
{
	if (meeting)
		ptx_addf(text, &in->err, "bar.warp.sync " ACTIVE_LANES ";\n$gpubpf_met_%u:\n", meeting);
	ptx_addf(text, &in->err, "}\n");
}

void ptx_add_probe(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	ptx_add(text, &in->err, "{\n", 2);
	ptx_add(text, &in->err, probe->body, probe->body_size);
	ptx_add(text, &in->err, "\n}\n", 3);
}

void ptx_add_converged(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t meeting = ptx_begin_reconverge(in, text, probe);

	ptx_add_probe(in, text, probe);
	ptx_end_reconverge(in, text, meeting);
}

void ptx_check_params(struct ptx_splice *in, const struct cuda_probe *probe, uint32_t function, uint32_t node)
{
	uint32_t param;

	if (!probe->reads_params)
		return;
	for (uint32_t i = 0; (param = cuda_param_node(in->m, function, i)) != PTX_NONE; i++)
		if (ptx_declaration(in->m, node, in->m->nodes[param].name) != param)
			ptx_refuse(in,
				   "the probe reads arguments, but a block of the function redeclares the parameter's name %.*s",
				   in->m->tokens[in->m->nodes[param].name].len,
				   ptx_token_text(in->m, in->m->nodes[param].name));
}
