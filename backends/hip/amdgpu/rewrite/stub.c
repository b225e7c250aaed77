/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: writes a twin's assembly text: the stubs at entry, exits and block ends, and the kernel's code with stubs for
 * its patches.
 * Before: a complete draft (struct hip_draft).
 * After: the text has the format that hip_listing_read() parses.
 * Requires: hip_allocate_registers() has set the draft's registers.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub_text.h"

/* Lanes of the vector register draft->state. The lanes from 0 on hold the initial scalar registers, at most 21. */
#define LANE_EXEC 28
#define LANE_WAVES 30 /* address of the wave counter in the work-group's memory */

#define ITEM_IDS 0x3fffffff

static const struct hip_spelling spellings[] = {
	[HIP_GFX90A] = { "\ts_nop 4\n", "\ts_waitcnt 0\n", "\ts_nop 15\n\ts_nop 15\n", "v_add_u32_e64", "v_addc_co_u32_e64",
			 "v_subb_co_u32_e64", "s_ff1_i32", "s_load_dword", "ds_write_b32", "\ts_barrier\n", "s[0:1], " },
	[HIP_GFX940] = { "\ts_nop 4\n", "\ts_waitcnt 0\n", "\ts_nop 15\n\ts_nop 15\n", "v_add_u32_e64", "v_addc_co_u32_e64",
			 "v_subb_co_u32_e64", "s_ff1_i32", "s_load_dword", "ds_write_b32", "\ts_barrier\n", "s[0:1], " },
	[HIP_GFX11] = { "\ts_waitcnt_depctr 0\n", "\ts_waitcnt 0\n", "", "v_add_nc_u32_e64", "v_add_co_ci_u32_e64",
			"v_sub_co_ci_u32_e64", "s_ctz_i32", "s_load_b32", "ds_store_b32", "\ts_barrier\n", "" },
	[HIP_GFX12] = { "\ts_wait_alu 0\n",
			"\ts_wait_loadcnt 0\n\ts_wait_samplecnt 0\n\ts_wait_bvhcnt 0\n\ts_wait_kmcnt 0\n\ts_wait_dscnt "
			"0\n",
			"", "v_add_nc_u32_e64", "v_add_co_ci_u32_e64", "v_sub_co_ci_u32_e64", "s_ctz_i32", "s_load_b32",
			"ds_store_b32", "\ts_barrier_signal -1\n\ts_barrier_wait -1\n", "" },
};

static void save_lane(struct hip_text *t, const char *reg, uint32_t lane)
{
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->draft->state, reg, lane);
}

static void read_lane(struct hip_text *t, const char *reg, uint32_t lane)
{
	fprintf(t->f, "\tv_readlane_b32 %s, v%u, %u\n", reg, t->draft->state, lane);
}

static void save_state(struct hip_text *t)
{
	char reg[16];

	fprintf(t->f, "\tv_mov_b32 v%u, v0\n", t->draft->items);
	for (uint32_t i = 0; i < t->initial_state.end; i++) {
		snprintf(reg, sizeof(reg), "s%u", i);
		save_lane(t, reg, i);
	}
	save_lane(t, "exec_lo", LANE_EXEC);
	if (!t->draft->wave32)
		save_lane(t, "exec_hi", LANE_EXEC + 1);
	hip_emit_hazard_wait(t);
}

void hip_set_exec(struct hip_text *t)
{
	hip_emit_hazard_wait(t);
	fputs(t->draft->wave32 ? "\ts_mov_b32 exec_lo, s0\n" : "\ts_mov_b64 exec, s[0:1]\n", t->f);
	hip_emit_hazard_wait(t);
}

static void restore_exec(struct hip_text *t)
{
	read_lane(t, "s0", LANE_EXEC);
	if (!t->draft->wave32)
		read_lane(t, "s1", LANE_EXEC + 1);
	hip_set_exec(t);
}

/* Copies the two registers of the state to accumulation registers, or back if `back` is set, for all lanes. Clobbers
 * EXEC. */
static void move_state(struct hip_text *t, bool back)
{
	const struct hip_draft *draft = t->draft;

	if (draft->spill_accum == UINT32_MAX)
		return;
	fprintf(t->f, "\ts_mov_b64 exec, -1\n%s", t->spelling->hazard_nop);
	for (uint32_t i = 0; i < 2; i++) {
		if (back)
			fprintf(t->f, "\tv_accvgpr_read_b32 v%u, a%u\n", draft->state + i, draft->spill_accum + i);
		else
			fprintf(t->f, "\tv_accvgpr_write_b32 a%u, v%u\n", draft->spill_accum + i, draft->state + i);
	}
	hip_emit_hazard_wait(t);
}

void hip_restore_state(struct hip_text *t, const struct hip_descriptor *d)
{
	uint32_t items = (d->rsrc2 & HIP_ITEM_IDS) >> HIP_ITEM_IDS_SHIFT;
	struct hip_start want = hip_start_of(t->draft->isa, d);
	char reg[16];

	for (int f = 0; f < HIP_NFIELDS; f++)
		for (int i = 0; want.at[f] >= 0 && i < want.n[f]; i++) {
			snprintf(reg, sizeof(reg), "s%d", want.at[f] + i);
			read_lane(t, reg, t->initial_state.at[f] + i);
		}
	/* v0 holds the three work-item ids, ten bits each. Ids that the descriptor does not request are 0. */
	if (items == 2)
		fprintf(t->f, "\tv_mov_b32 v0, v%u\n", t->draft->items);
	else
		fprintf(t->f, "\tv_and_b32 v0, %#x, v%u\n", items ? 0xfffff : 0x3ff, t->draft->items);
	fprintf(t->f, "\ts_setreg_imm32_b32 hwreg(1, 0, 8), %#x\n", hip_float_mode(d));
	hip_emit_hazard_wait(t);
}

/* Sets EXEC to lane 0, which is active in every wave at its start. */
static void set_first_lane(struct hip_text *t)
{
	fputs(t->draft->wave32 ? "\ts_mov_b32 exec_lo, 1\n" : "\ts_mov_b64 exec, 1\n", t->f);
	hip_emit_hazard_wait(t);
}

/* Sets s2 to the address of the wave counter, the last four bytes of the work-group's memory. The size of this memory
 * is in the dispatch packet (HSA, "Kernel dispatch packet"). */
static void find_wave_counter(struct hip_text *t)
{
	int at = t->initial_state.at[HIP_DISPATCH];

	read_lane(t, "s0", at);
	read_lane(t, "s1", at + 1);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\t%s s2, s[0:1], 28\n%s\ts_sub_u32 s2, s2, 4\n\ts_and_b32 s2, s2, -4\n", t->spelling->load,
		t->spelling->wait);
	hip_emit_hazard_wait(t);
	save_lane(t, "s2", LANE_WAVES);
}

/* Emits code that counts the waves of the work-group. All waves execute it before any probe and before the kernel. */
static void emit_wave_count(struct hip_text *t)
{
	if (!hip_has(t->draft, HIP_AT_END))
		return;
	find_wave_counter(t);
	set_first_lane(t);
	fprintf(t->f, "\tv_mov_b32 v0, s2\n\tv_readlane_b32 s0, v%u, 0\n", t->draft->items);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\ts_and_b32 s0, s0, %#x\n\ts_cbranch_scc1 gpubpf_meet\n\tv_mov_b32 v1, 0\n\t%s v0, v1\n%s",
		ITEM_IDS, t->spelling->store, t->spelling->wait);
	fprintf(t->f, "gpubpf_meet:\n%s\tv_mov_b32 v1, 1\n\tds_add_u32 v0, v1\n%s%s", t->spelling->barrier,
		t->spelling->wait, t->spelling->barrier);
	restore_exec(t);
}

/* Emits a branch to a probe, which runs for the lanes in EXEC. The label `to` marks the branch for the linker. If
 * `back` is set, the probe returns to this label; else the twin ends with the probe. */
static void emit_probe_jump(struct hip_text *t, enum hip_kernel_probe_kind kind, const char *to, const char *back)
{
	hip_restore_state(t, &t->draft->kernel_probe[kind].descriptor);
	fprintf(t->f, "%s:\n\ts_nop 0\n", to);
	if (back)
		fprintf(t->f, "%s:\n%s", back, t->spelling->wait);
}

/* Emits the branch to the probe at the block's begin. Only the first lane of the work-group runs it, and waves without
 * this lane skip it. */
static void write_begin(struct hip_text *t)
{
	if (!hip_has(t->draft, HIP_AT_BEGIN))
		return;
	set_first_lane(t);
	fprintf(t->f, "\tv_readlane_b32 s0, v%u, 0\n", t->draft->items);
	hip_emit_hazard_wait(t);
	fprintf(t->f, "\ts_and_b32 s0, s0, %#x\n\ts_cbranch_scc1 gpubpf_not_first\n", ITEM_IDS);
	emit_probe_jump(t, HIP_AT_BEGIN, HIP_STUB_TO_BEGIN, HIP_STUB_BEGUN);
	fputs("gpubpf_not_first:\n", t->f);
	restore_exec(t);
}

static void write_entry(struct hip_text *t)
{
	const struct hip_draft *draft = t->draft;

	save_state(t);
	emit_wave_count(t);
	if (hip_has(draft, HIP_AT_ENTRY)) {
		emit_probe_jump(t, HIP_AT_ENTRY, HIP_STUB_TO_ENTRY, HIP_STUB_ENTERED);
		restore_exec(t);
	}
	write_begin(t);
	if (draft->spill_accum != UINT32_MAX) {
		move_state(t, false);
		restore_exec(t);
	}
	hip_restore_state(t, &draft->kernel);
	fputs("\ts_branch gpubpf_kernel\n", t->f);
}

/* Emits the label and the first instructions of the stubs at the kernel's end. Waits for outstanding operations and
 * restores draft->state. Only the state at entry is live here. */
static void write_leaving(struct hip_text *t, const char *label)
{
	fprintf(t->f, "%s:\n%s%s", label, t->spelling->wait, t->spelling->drain);
	move_state(t, true);
}

static void write_exit(struct hip_text *t)
{
	if (!hip_has(t->draft, HIP_AT_EXIT))
		return;
	write_leaving(t, "gpubpf_leaving");
	restore_exec(t);
	emit_probe_jump(t, HIP_AT_EXIT, HIP_STUB_TO_EXIT, hip_has(t->draft, HIP_AT_END) ? HIP_STUB_LEFT : NULL);
}

/* Emits the stub of the probe at the block's end, which runs in the last lane of the last wave. The active lanes of a
 * wave are contiguous from lane 0 on, so their number gives the last lane. */
static void write_end(struct hip_text *t)
{
	if (!hip_has(t->draft, HIP_AT_END))
		return;
	write_leaving(t, "gpubpf_ending");
	set_first_lane(t);
	read_lane(t, "s0", LANE_WAVES);
	hip_emit_hazard_wait(t);
	fprintf(t->f,
		"\tv_mov_b32 v0, s0\n\tv_mov_b32 v1, 1\n\tds_sub_rtn_u32 v1, v0, v1\n%s\tv_readfirstlane_b32 s0, v1\n",
		t->spelling->wait);
	hip_emit_hazard_wait(t);
	fputs("\ts_cmp_eq_u32 s0, 1\n\ts_cbranch_scc1 gpubpf_last\n\ts_endpgm\ngpubpf_last:\n", t->f);
	restore_exec(t);
	fputs(t->draft->wave32 ? "\ts_bcnt1_i32_b32 s0, exec_lo\n\ts_sub_u32 s0, s0, 1\n\ts_bfm_b32 exec_lo, 1, s0\n" :
				 "\ts_bcnt1_i32_b64 s0, exec\n\ts_sub_u32 s0, s0, 1\n\ts_bfm_b64 exec, 1, s0\n",
	      t->f);
	hip_emit_hazard_wait(t);
	emit_probe_jump(t, HIP_AT_END, HIP_STUB_TO_END, NULL);
}

/* Emits two moves of a constant. The placeholder does not fit an inline constant, so each move has a literal word,
 * which the agent overwrites. */
static void write_pc(struct hip_text *t, uint32_t i, const struct hip_patch *patch)
{
	fprintf(t->f, "gpubpf_pc_%u:\n\ts_mov_b32 %s, 0x10101010\n\ts_mov_b32 %s, 0x10101010\n", i, patch->reg[0],
		patch->reg[1]);
	fprintf(t->f, "\ts_branch gpubpf_back_%u\n\t.pool\n", i);
}

bool hip_write_replacement(struct hip_text *t, const struct hip_patch *patch)
{
	if (patch->kind == HIP_PATCH_END && patch->probed)
		fputs("\ts_branch gpubpf_leaving\n", t->f);
	else if (patch->kind == HIP_PATCH_END && patch->counted)
		fputs("\ts_branch gpubpf_ending\n", t->f);
	else if (patch->kind == HIP_PATCH_DEALLOC && (hip_has(t->draft, HIP_AT_EXIT) || hip_has(t->draft, HIP_AT_END)))
		fputs("\ts_nop 0\n", t->f);
	else if (patch->kind == HIP_PATCH_CALL && t->draft->site_body)
		fprintf(t->f, "\ts_call_b64 s[%u:%u], " HIP_STUB_WORD "\n", patch->registers[0].first,
			patch->registers[0].first + 1, patch->target);
	else if (patch->kind == HIP_PATCH_FAR_JUMP || (patch->kind == HIP_PATCH_TAIL && t->draft->site_body))
		fprintf(t->f, "\ts_branch " HIP_STUB_WORD "\n", patch->target);
	else
		return false;
	return true;
}

/* Emits the instruction that replaces patch i in the twin. Returns false if the original instruction stays. */
static bool write_patch(struct hip_text *t, uint32_t i, const struct hip_patch *patch)
{
	if (hip_write_place_branch(t, i))
		return true;
	if (patch->kind == HIP_PATCH_PC)
		fprintf(t->f, "\ts_branch gpubpf_pc_%u\ngpubpf_back_%u:\n", i, i);
	return patch->kind == HIP_PATCH_PC || hip_write_replacement(t, patch);
}

static uint32_t read_word(const struct hip_text *t, uint32_t off)
{
	uint32_t word;

	memcpy(&word, t->draft->bytes + off, sizeof(word));
	return word;
}

static void mark_label(struct hip_text *t, uint32_t off)
{
	if (off < t->draft->code->size)
		t->labelled[off / 4] = 1;
}

static void find_labels(struct hip_text *t)
{
	const struct hip_code *code = t->draft->code;

	for (uint32_t off = 0; off < code->size; off += 4)
		if (code->words[off / 4] & HIP_WORD_JUMPS)
			mark_label(t, hip_code_target(off, read_word(t, off)));
	for (uint32_t i = 0; i < code->npatches; i++)
		mark_label(t, code->patches[i].target);
}

/* Returns true if the code can be split before the word at `off`: an instruction begins there that is not inside a
 * clause. */
static bool can_cut(const struct hip_code *code, uint32_t off)
{
	return (code->words[off / 4] & (HIP_WORD_BEGINS | HIP_WORD_CLAUSE)) == HIP_WORD_BEGINS;
}

/* Returns the end of a code segment that, with its stubs, spans about half of a branch's range. The size of the stubs
 * is not known yet. The estimate is a third of their text, which is at least twice as long as the code. */
static uint32_t find_segment_end(const struct hip_text *t, uint32_t from, uint32_t patch)
{
	const struct hip_code *code = t->draft->code;
	size_t begin = patch ? t->ends[patch - 1] : 0, bytes = 0;
	uint32_t off = from;

	for (; off < code->size && (bytes < t->draft->reach / 2 || !can_cut(code, off)); off += 4) {
		if (patch < code->npatches && code->patches[patch].off == off)
			patch++;
		bytes = off - from + ((patch ? t->ends[patch - 1] : 0) - begin) / 3;
	}
	return off;
}

/* Emits the kernel's code from `off` to `end`. `next` is the first patch from `off` on. Returns the first patch from
 * `end` on. */
static uint32_t write_words(struct hip_text *t, uint32_t off, uint32_t end, uint32_t next)
{
	const struct hip_code *code = t->draft->code;

	for (; off < end; off += 4) {
		bool written = false;

		if (t->labelled[off / 4])
			fprintf(t->f, HIP_STUB_WORD ":\n", off);
		if (next < code->npatches && code->patches[next].off == off) {
			written = write_patch(t, next, &code->patches[next]);
			next++;
		}
		if (!written && code->words[off / 4] & HIP_WORD_JUMPS)
			fprintf(t->f, "\t.branch %#x " HIP_STUB_WORD "\n", read_word(t, off),
				hip_code_target(off, read_word(t, off)));
		else if (!written)
			fprintf(t->f, "\t.long %#x\n", read_word(t, off));
		for (; written && code->patches[next - 1].size > off + 4 - code->patches[next - 1].off; off += 4)
			fputs("\ts_nop 0\n", t->f);
	}
	return next;
}

/* Emits the kernel's code in segments. The stubs of the places in a segment follow it, so that branches reach them. */
static void write_kernel(struct hip_text *t)
{
	const struct hip_code *code = t->draft->code;
	uint32_t off = 0, end, first = 0, next;

	fputs("\t.pool\n\t.p2align 8\ngpubpf_kernel:\n", t->f);
	for (; off < code->size; off = end, first = next) {
		end = find_segment_end(t, off, first);
		mark_label(t, end);
		next = write_words(t, off, end, first);
		if (end < code->size)
			fprintf(t->f, "\ts_branch " HIP_STUB_WORD "\n", end);
		if (next)
			fwrite(t->places + (first ? t->ends[first - 1] : 0), 1,
			       t->ends[next - 1] - (first ? t->ends[first - 1] : 0), t->f);
		fputs("\t.pool\n", t->f);
	}
}

/* Writes the text of all places' stubs into t->places. */
static int write_places(struct hip_text *t)
{
	const struct hip_code *code = t->draft->code;

	t->ends = calloc(code->npatches + 1, sizeof(*t->ends));
	t->labelled = calloc(1, code->size / 4 + 1);
	t->f = open_memstream(&t->places, &t->nplaces);
	if (!t->ends || !t->labelled || !t->f)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->npatches; i++) {
		hip_write_place(t, i);
		t->ends[i] = ftell(t->f);
	}
	return 0;
}

static void write_all(struct hip_text *t)
{
	const struct hip_code *code = t->draft->code;

	write_entry(t);
	write_exit(t);
	write_end(t);
	for (uint32_t i = 0; i < code->npatches; i++)
		if (code->patches[i].kind == HIP_PATCH_PC)
			write_pc(t, i, &code->patches[i]);
	hip_write_calls(t);
	find_labels(t);
	write_kernel(t);
}

int hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *out)
{
	struct hip_text t = { .draft = draft, .spelling = &spellings[draft->isa->family] };
	char *data = NULL;
	int err;

	t.initial_state = hip_start_of(draft->isa, &draft->twin);
	err = write_places(&t);
	if (t.f && fclose(t.f))
		err = -ENOMEM;
	t.f = err ? NULL : open_memstream(&data, &out->size);
	if (t.f)
		write_all(&t);
	if (!t.f || fclose(t.f)) {
		free(data);
		data = NULL;
		err = -ENOMEM;
	}
	out->data = data;
	free(t.places);
	free(t.ends);
	free(t.labelled);
	return err;
}
