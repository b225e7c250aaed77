/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that one lane of a block runs. The first is the one whose indices are 0, which every block has. The last is found
 * by counting: a word of shared memory has the lanes that have not left. All of a block's lanes meet once, at the
 * kernel's top, behind the word's first value; where they leave nothing waits, so that it is no matter how they part.
 */
#include "edit.h"

#define LANES "gpubpf_lanes"

/* What a launch adds to shared memory lies behind the kernel's own, where code may count on more than the alignment that it
 * declares: the most that hardware asks for is left as it is (the 1024 bytes of swizzled copies). */
void ptx_add_lanes(struct ptx_splice *in, struct ptx_text *text)
{
	uint32_t size = in->extern_shared ? 1024 : 4;

	if (in->counts_lanes)
		ptx_addf(text, &in->err, "\n.shared .align %u .b8 " LANES "[%u];", size, size);
}

/* %gpubpf_w is 0 in the first lane alone, or %gpubpf_p false. */
static void add_is_first(struct ptx_splice *in, struct ptx_text *text)
{
	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_w, %%gpubpf_n;\n");
	for (char axis = 'x'; axis <= 'z'; axis++) {
		ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%tid.%c;\n", axis);
		ptx_addf(text, &in->err, axis == 'x' ? "mov.b32 %%gpubpf_w, %%gpubpf_n;\n" :
						    "or.b32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\n");
	}
	ptx_addf(text, &in->err, "setp.ne.u32 %%gpubpf_p, %%gpubpf_w, 0;\n");
}

void ptx_begin_lanes(struct ptx_splice *in, struct ptx_text *text)
{
	if (!in->counts_lanes)
		return;
	ptx_addf(text, &in->err, "\n");
	add_is_first(in, text);
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_w, %%ntid.x;\n");
	for (char axis = 'y'; axis <= 'z'; axis++)
		ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%ntid.%c;\nmul.lo.u32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\n",
			 axis);
	ptx_addf(text, &in->err, "@!%%gpubpf_p st.shared.u32 [" LANES "], %%gpubpf_w;\nbar.sync 0;\n}\n");
}

void ptx_add_first(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t meeting = ptx_begin_meeting(in, text, probe), label = ++in->labels;

	add_is_first(in, text);
	ptx_addf(text, &in->err, "@%%gpubpf_p bra $gpubpf_over_%u;\n", label);
	ptx_add_probe(in, text, probe);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", label);
	ptx_end_meeting(in, text, meeting);
}

/* The lanes that come here together leave together: the lowest of them says so for all. */
void ptx_add_last(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t label = ++in->labels;

	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_w, %%gpubpf_n, %%gpubpf_o;\n");
	ptx_addf(text, &in->err, "activemask.b32 %%gpubpf_n;\nmov.u32 %%gpubpf_w, %%lanemask_lt;\n");
	ptx_addf(text, &in->err, "and.b32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\npopc.b32 %%gpubpf_n, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 %%gpubpf_p, %%gpubpf_w, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", label);
	ptx_addf(text, &in->err, "neg.s32 %%gpubpf_w, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "atom.shared.add.u32 %%gpubpf_o, [" LANES "], %%gpubpf_w;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 %%gpubpf_p, %%gpubpf_o, %%gpubpf_n;\n@%%gpubpf_p bra $gpubpf_over_%u;\n",
		 label);
	ptx_add_probe(in, text, probe);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", label);
}
