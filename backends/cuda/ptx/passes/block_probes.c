/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds the probes at the beginning and end of a block. One lane of the block runs each probe.
 *
 * 1. The first lane, whose indices are all 0, runs the block-begin probe.
 * 2. If ptx_can_sync_before_exit() is true, the first lane also runs the block-end probe. All lanes of the block
 *    synchronize at a barrier before they exit. In a one-dimensional launch only the first warp waits there.
 * 3. Otherwise the last lane that exits runs the block-end probe. A word in shared memory counts the lanes that have
 *    not exited. The first lane sets this word at the kernel's top, and all lanes of the block then synchronize.
 *    No lane waits at an exit, so lanes may exit at different times.
 *
 * The function ptx_can_sync_before_exit() requires a kernel with one exit instruction and without instructions at which
 * a lane waits for others.
 */
#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/ptx/analysis/control.h"
#include "core/lower/lower.h"
#include "edit.h"

#define LANE_COUNT "gpubpf_lanes"
#define OTHERS "%" CUDA_NOT_LEADER /* for use in a printf format */
#define CTAID "%" CUDA_CTAID
#define BLOCK_SITES (GPUBPF_SITE_BIT(BLOCK_BEGIN) | GPUBPF_SITE_BIT(BLOCK_END))

/* largest number of instructions of a kernel in which one more read of a special register is a noticeable cost */
#define MAX_SHORT_INSNS 256

bool ptx_is_short(const struct ptx_splice *in)
{
	uint32_t n = 0;

	PTX_FOR_EACH_NODE(in->m, in->kernel_node, node)
	n += in->m->nodes[node].kind == PTX_INSN;
	return n <= MAX_SHORT_INSNS;
}

bool ptx_is_branch_to_exit(const struct ptx_place *place)
{
	return place->kind == GPUBPF_SITE_BLOCK_END && place->node != place->exit;
}

/* Returns true if all lanes exit by the same instruction, and that instruction has no predicate. */
static bool has_single_exit(struct ptx_splice *in)
{
	struct ptx_place *places = NULL;
	uint32_t n = 0, exits = 0;
	bool guarded = false;

	if (ptx_places(in->m, in->kernel_node, GPUBPF_SITE_BIT(BLOCK_END), &places, &n) < 0)
		in->err = -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (places[i].kind != GPUBPF_SITE_BLOCK_END || ptx_is_branch_to_exit(&places[i]))
			continue;
		exits++;
		guarded |= places[i].node != PTX_NONE && in->m->nodes[places[i].node].guard != PTX_NONE;
	}
	free(places);
	return exits == 1 && !guarded;
}

/*
 * Returns true if a lane may wait for other lanes at the instruction, or in a function that it calls. Lanes that exited
 * do not delay this wait. But lanes that wait at our barrier before the exit do, so both would wait forever.
 */
static bool may_sync(const struct ptx_splice *in, uint32_t node)
{
	static const char *const syncs[] = { "bar", "barrier", "mbarrier", "call" };
	enum ptx_control_kind kind = ptx_control(in->m, node).kind;

	for (uint32_t i = 0; i < sizeof(syncs) / sizeof(syncs[0]); i++)
		if (ptx_word_is(in, in->m->nodes[node].name, syncs[i]))
			return true;
	return kind == PTX_WAITS || kind == PTX_UNKNOWN || ptx_has_modifier(in, &in->m->nodes[node], ".sync");
}

static bool never_syncs(const struct ptx_splice *in)
{
	PTX_FOR_EACH_NODE(in->m, in->kernel_node, node)
	if (in->m->nodes[node].kind == PTX_INSN && may_sync(in, node))
		return false;
	return true;
}

bool ptx_can_sync_before_exit(struct ptx_splice *in)
{
	/* a probe of any other kind may end the thread, so lanes might not reach the barrier */
	const uint32_t allowed = GPUBPF_SITE_BIT(ENTRY) | BLOCK_SITES;

	for (uint32_t i = 0; i < in->at.job->nsites; i++)
		if (!(allowed >> in->at.job->sites[i].site & 1))
			return false;
	return has_single_exit(in) && never_syncs(in);
}

/*
 * Declares the word in shared memory that counts lanes. Dynamic shared memory follows this word, and a kernel may rely
 * on a larger alignment there than it declares. If there is dynamic shared memory, the word therefore takes 1024 bytes,
 * the largest alignment that hardware requires (swizzled copies).
 */
void ptx_declare_lane_count(struct ptx_splice *in, struct ptx_text *text)
{
	uint32_t size = in->has_extern_shared ? 1024 : 4;

	if (in->counts_exits)
		ptx_addf(text, &in->err, "\n.shared .align %u .b8 " LANE_COUNT "[%u];", size, size);
}

/* Returns the last axis along which a launch may have more than one thread. */
static char find_last_axis(const struct ptx_splice *in)
{
	return in->flat ? 'x' : 'z';
}

/*
 * Computes OTHERS, which is true for all lanes except the block's first. The probes at the block's beginning and end
 * both use it. One read of an index is slow, but three reads at once take hardly longer. All lanes also read %ctaid.x
 * here; nearly all kernels read it anyway.
 */
void ptx_begin_block_probes(struct ptx_splice *in, struct ptx_text *text)
{
	bool reads = false, any = in->counts_exits;

	for (uint32_t i = 0; i < in->nplaced; i++)
		if (in->placed[i].probe && BLOCK_SITES >> in->placed[i].place.kind & 1) {
			any = true;
			reads |= in->placed[i].probe->reads_ctaid;
		}
	in->has_ctaid = in->flat;
	if (reads)
		ptx_addf(text, &in->err, "\n.reg .b32 " CTAID "x;\nmov.u32 " CTAID "x, %%ctaid.x;");
	if (reads && !in->flat)
		ptx_addf(text, &in->err,
			 "\n.reg .b32 " CTAID "y, " CTAID "z;\nmov.u32 " CTAID "y, 0;\nmov.u32 " CTAID "z, 0;");
	if (!any)
		return;
	ptx_addf(text, &in->err,
		 "\n.reg .pred " OTHERS ";\n{\n.reg .b32 %%gpubpf_w, %%gpubpf_n;\nmov.u32 %%gpubpf_w, %%tid.x;\n");
	for (char axis = 'y'; axis <= find_last_axis(in); axis++)
		ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%tid.%c;\nor.b32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\n",
			 axis);
	ptx_addf(text, &in->err, "setp.ne.u32 " OTHERS ", %%gpubpf_w, 0;\n}");
}

static void read_ctaid(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	if (probe->reads_ctaid && !in->has_ctaid)
		ptx_addf(text, &in->err, "mov.u32 " CTAID "y, %%ctaid.y;\nmov.u32 " CTAID "z, %%ctaid.z;\n");
}

/* Opens a PTX block whose code only the first lane executes. The other lanes branch to its end, $gpubpf_over_<label>. */
static void begin_first(struct ptx_splice *in, struct ptx_text *text, uint32_t label)
{
	ptx_addf(text, &in->err, "{\n@" OTHERS " bra $gpubpf_over_%u;\n", label);
}

static void end_first(struct ptx_splice *in, struct ptx_text *text, uint32_t label)
{
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", label);
}

void ptx_init_lane_count(struct ptx_splice *in, struct ptx_text *text)
{
	uint32_t label = ++in->labels;

	if (!in->counts_exits)
		return;
	ptx_addf(text, &in->err, "\n");
	begin_first(in, text, label);
	ptx_addf(text, &in->err, ".reg .b32 %%gpubpf_w, %%gpubpf_n;\nmov.u32 %%gpubpf_w, %%ntid.x;\n");
	for (char axis = 'y'; axis <= find_last_axis(in); axis++)
		ptx_addf(text, &in->err,
			 "mov.u32 %%gpubpf_n, %%ntid.%c;\nmul.lo.u32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\n", axis);
	ptx_addf(text, &in->err, "st.shared.u32 [" LANE_COUNT "], %%gpubpf_w;\n");
	end_first(in, text, label);
	ptx_addf(text, &in->err, "bar.sync 0;\n");
}

void ptx_emit_first_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t allowed = ptx_begin_reconverge(in, text, probe), label = ++in->labels;

	if (!probe->reads_not_leader)
		begin_first(in, text, label);
	read_ctaid(in, text, probe);
	ptx_add_probe(in, text, probe);
	if (!probe->reads_not_leader)
		end_first(in, text, label);
	ptx_end_reconverge(in, text, allowed);
	in->has_ctaid |= probe->reads_ctaid && ptx_is_short(in);
}

/*
 * Makes the first warp wait until all other warps of the block have arrived. In a one-dimensional launch the first lane
 * is in the warp of lanes 0 to 31. The other warps arrive at the barrier and return, because the block-end probe is all
 * that follows.
 */
static void emit_first_warp_wait(struct ptx_splice *in, struct ptx_text *text)
{
	uint32_t label = ++in->labels;

	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_w;\n.reg .b32 %%gpubpf_n;\nmov.u32 %%gpubpf_n, %%tid.x;\n");
	ptx_addf(text, &in->err, "setp.lt.u32 %%gpubpf_w, %%gpubpf_n, 32;\nmov.u32 %%gpubpf_n, %%ntid.x;\n");
	ptx_addf(text, &in->err, "add.u32 %%gpubpf_n, %%gpubpf_n, 31;\nand.b32 %%gpubpf_n, %%gpubpf_n, 0xffffffe0;\n");
	ptx_addf(text, &in->err, "@%%gpubpf_w bra $gpubpf_waits_%u;\nbarrier.arrive 0, %%gpubpf_n;\nret;\n", label);
	ptx_addf(text, &in->err, "$gpubpf_waits_%u:\nbarrier.sync 0, %%gpubpf_n;\n}\n", label);
}

/*
 * Adds the block-end probe after a barrier of all lanes; after the probe the lanes exit. Special registers are read
 * before the barrier, so that the wait hides the latency of these reads.
 */
static void add_after_barrier(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe, uint32_t label)
{
	read_ctaid(in, text, probe);
	in->has_ctaid |= probe->reads_ctaid;
	if (in->flat)
		emit_first_warp_wait(in, text);
	else
		ptx_addf(text, &in->err, "bar.sync 0;\n");
	if (probe->reads_not_leader) {
		ptx_add_probe(in, text, probe);
		return;
	}
	begin_first(in, text, label);
	ptx_add_probe(in, text, probe);
	end_first(in, text, label);
}

/*
 * Adds the block-end probe. Without a barrier, the lowest of the lanes that exit together subtracts their number from
 * the count of lanes in shared memory. If the result is 0, this lane runs the probe.
 */
void ptx_emit_last_lane(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t label = ++in->labels;

	if (in->syncs_before_exit) {
		add_after_barrier(in, text, probe, label);
		return;
	}
	ptx_addf(text, &in->err, "{\n.reg .pred " OTHERS ";\n.reg .b32 %%gpubpf_w, %%gpubpf_n, %%gpubpf_o;\n");
	ptx_addf(text, &in->err, "activemask.b32 %%gpubpf_n;\nmov.u32 %%gpubpf_w, %%lanemask_lt;\n");
	ptx_addf(text, &in->err, "and.b32 %%gpubpf_w, %%gpubpf_w, %%gpubpf_n;\npopc.b32 %%gpubpf_n, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 " OTHERS ", %%gpubpf_w, 0;\n@" OTHERS " bra $gpubpf_over_%u;\n", label);
	ptx_addf(text, &in->err, "neg.s32 %%gpubpf_w, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "atom.shared.add.u32 %%gpubpf_o, [" LANE_COUNT "], %%gpubpf_w;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 " OTHERS ", %%gpubpf_o, %%gpubpf_n;\n@" OTHERS " bra $gpubpf_over_%u;\n",
		 label);
	if (probe->reads_ctaid)
		for (char axis = 'x'; axis <= find_last_axis(in); axis++)
			ptx_addf(text, &in->err, ".reg .b32 " CTAID "%c;\nmov.u32 " CTAID "%c, %%ctaid.%c;\n", axis,
				 axis, axis);
	ptx_add_probe(in, text, probe);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", label);
}
