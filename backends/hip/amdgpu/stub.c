/* SPDX-License-Identifier: Apache-2.0 */
#include "stub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* lanes of `state` past those of the initial scalar registers; there are at most 21 */
#define LANE_EXEC 28

/* what the families spell in different ways; each text is whole lines */
static const struct spelling {
	const char *settle;        /* results of vector instructions in scalar registers, and the other way round */
	const char *wait;          /* all of the memory operations that still write registers */
	const char *drain;         /* and matrix instructions */
} spellings[] = {
	[HIP_GFX90A] = { "\ts_nop 4\n", "\ts_waitcnt 0\n", "\ts_nop 15\n\ts_nop 15\n" },
	[HIP_GFX940] = { "\ts_nop 4\n", "\ts_waitcnt 0\n", "\ts_nop 15\n\ts_nop 15\n" },
	[HIP_GFX11] = { "\ts_waitcnt_depctr 0\n", "\ts_waitcnt 0\n", "" },
	[HIP_GFX12] = { "\ts_wait_alu 0\n",
			"\ts_wait_loadcnt 0\n\ts_wait_samplecnt 0\n\ts_wait_bvhcnt 0\n\ts_wait_kmcnt 0\n\ts_wait_dscnt "
			"0\n",
			"" },
};

struct text {
	FILE *f;
	const struct hip_twin_plan *plan;
	const struct spelling *say;
	struct hip_start kept;     /* the twin's initial state: its registers are the lanes of `state` */
};

static void keep_lane(struct text *t, const char *reg, uint32_t lane)
{
	fprintf(t->f, "\tv_writelane_b32 v%u, %s, %u\n", t->plan->state, reg, lane);
}

static void read_lane(struct text *t, const char *reg, uint32_t lane)
{
	fprintf(t->f, "\tv_readlane_b32 %s, v%u, %u\n", reg, t->plan->state, lane);
}

static void keep_state(struct text *t)
{
	char reg[16];

	fprintf(t->f, "\tv_mov_b32 v%u, v0\n", t->plan->items);
	for (uint32_t i = 0; i < t->kept.end; i++) {
		snprintf(reg, sizeof(reg), "s%u", i);
		keep_lane(t, reg, i);
	}
	keep_lane(t, "exec_lo", LANE_EXEC);
	if (!t->plan->wave32)
		keep_lane(t, "exec_hi", LANE_EXEC + 1);
	fputs(t->say->settle, t->f);
}

static void give_exec(struct text *t)
{
	read_lane(t, "s0", LANE_EXEC);
	if (!t->plan->wave32)
		read_lane(t, "s1", LANE_EXEC + 1);
	fputs(t->say->settle, t->f);
	fputs(t->plan->wave32 ? "\ts_mov_b32 exec_lo, s0\n" : "\ts_mov_b64 exec, s[0:1]\n", t->f);
	fputs(t->say->settle, t->f);
}

/* The state of all lanes to the accumulation registers, or from them; exec is lost. */
static void move_aside(struct text *t, bool back)
{
	const struct hip_twin_plan *plan = t->plan;

	if (plan->aside == UINT32_MAX)
		return;
	fprintf(t->f, "\ts_mov_b64 exec, -1\n%s", t->say->settle);
	for (uint32_t i = 0; i < 2; i++) {
		if (back)
			fprintf(t->f, "\tv_accvgpr_read_b32 v%u, a%u\n", plan->state + i, plan->aside + i);
		else
			fprintf(t->f, "\tv_accvgpr_write_b32 a%u, v%u\n", plan->aside + i, plan->state + i);
	}
	fputs(t->say->settle, t->f);
}

/* The initial state that a descriptor asks for. */
static void give_state(struct text *t, const struct hip_descriptor *d)
{
	uint32_t items = (d->rsrc2 & HIP_ITEM_IDS) >> HIP_ITEM_IDS_SHIFT;
	struct hip_start want = hip_start_of(t->plan->isa, d);
	char reg[16];

	for (int f = 0; f < HIP_NFIELDS; f++)
		for (int i = 0; want.at[f] >= 0 && i < want.n[f]; i++) {
			snprintf(reg, sizeof(reg), "s%d", want.at[f] + i);
			read_lane(t, reg, t->kept.at[f] + i);
		}
	/* all ids are in one register, ten bits each; those that were not asked for read 0 */
	if (items == 2)
		fprintf(t->f, "\tv_mov_b32 v0, v%u\n", t->plan->items);
	else
		fprintf(t->f, "\tv_and_b32 v0, %#x, v%u\n", items ? 0xfffff : 0x3ff, t->plan->items);
	fprintf(t->f, "\ts_setreg_imm32_b32 hwreg(1, 0, 8), %#x\n", hip_float_mode(d));
	fputs(t->say->settle, t->f);
}

static void write_entry(struct text *t)
{
	const struct hip_twin_plan *plan = t->plan;

	fprintf(t->f,
		"\t.text\n\t.p2align 8\n\t.globl \"%s\"\n\t.protected \"%s\"\n\t.type \"%s\",@function\n\"%s\":\n",
		plan->name, plan->name, plan->name, plan->name);
	keep_state(t);
	if (plan->entry_site != UINT32_MAX) {
		give_state(t, &plan->entry);
		fputs(HIP_STUB_TO_ENTRY ":\n\ts_nop 0\n" HIP_STUB_ENTERED ":\n", t->f);
		fputs(t->say->wait, t->f);
		give_exec(t);
	}
	if (plan->aside != UINT32_MAX) {
		move_aside(t, false);
		give_exec(t);
	}
	give_state(t, &plan->kernel);
	fputs("\ts_branch gpubpf_kernel\n", t->f);
}

static void write_exit(struct text *t)
{
	if (t->plan->exit_site == UINT32_MAX)
		return;
	fputs("gpubpf_leaving:\n", t->f);
	fputs(t->say->wait, t->f);
	fputs(t->say->drain, t->f);
	move_aside(t, true);
	give_exec(t);
	give_state(t, &t->plan->exit);
	fputs(HIP_STUB_TO_EXIT ":\n\ts_nop 0\n", t->f);
}

/* Literals that no constant of the instruction itself can stand for, so that each has its word. */
static void write_pc(struct text *t, uint32_t i, const struct hip_place *place)
{
	fprintf(t->f, "gpubpf_pc_%u:\n\ts_mov_b32 %s, 0x10101010\n\ts_mov_b32 %s, 0x10101010\n", i, place->reg[0],
		place->reg[1]);
	fprintf(t->f, "\ts_branch gpubpf_back_%u\n", i);
}

/* The instruction that stands in the twin where the kernel has one of its places. */
static bool write_place(struct text *t, uint32_t i, const struct hip_place *place)
{
	bool exits = t->plan->exit_site != UINT32_MAX;

	if (place->kind == HIP_PLACE_PC)
		fprintf(t->f, "\ts_branch gpubpf_pc_%u\ngpubpf_back_%u:\n", i, i);
	else if (place->kind == HIP_PLACE_END && place->probed)
		fputs("\ts_branch gpubpf_leaving\n", t->f);
	else if (place->kind == HIP_PLACE_FREE && exits)
		fputs("\ts_nop 0\n", t->f);
	else
		return false;
	return true;
}

static void write_kernel(struct text *t)
{
	const struct hip_code *code = t->plan->code;
	uint32_t next = 0, word;

	fputs("\t.p2align 8\ngpubpf_kernel:\n", t->f);
	for (uint32_t off = 0; off < code->size; off += 4) {
		bool written = false;

		if (next < code->nplaces && code->places[next].off == off) {
			written = write_place(t, next, &code->places[next]);
			next++;
		}
		memcpy(&word, t->plan->bytes + off, sizeof(word));
		if (!written)
			fprintf(t->f, "\t.long %#x\n", word);
	}
	fprintf(t->f, "\t.size \"%s\", .-\"%s\"\n", t->plan->name, t->plan->name);
}

static void write_descriptor(struct text *t)
{
	const char *name = t->plan->name;
	uint32_t words[16];

	memcpy(words, &t->plan->twin, sizeof(words));
	fprintf(t->f, "\t.section .rodata,\"a\",@progbits\n\t.p2align 6\n\t.globl \"%s.kd\"\n\t.protected \"%s.kd\"\n"
		"\t.type \"%s.kd\",@object\n\t.size \"%s.kd\", 64\n\"%s.kd\":\n", name, name, name, name, name);
	for (int i = 0; i < 16; i++) {
		if (i == 4)
			fprintf(t->f, "\t.quad \"%s\"-\"%s.kd\"\n", name, name);
		else if (i != 5)
			fprintf(t->f, "\t.long %#x\n", words[i]);
	}
}

int hip_stub_write(const struct hip_twin_plan *plan, struct gpubpf_blob *out)
{
	struct text t = { .plan = plan, .say = &spellings[plan->isa->family] };
	char *data = NULL;

	t.kept = hip_start_of(plan->isa, &plan->twin);
	t.f = open_memstream(&data, &out->size);
	if (!t.f)
		return -ENOMEM;
	write_entry(&t);
	write_exit(&t);
	for (uint32_t i = 0; i < plan->code->nplaces; i++)
		if (plan->code->places[i].kind == HIP_PLACE_PC)
			write_pc(&t, i, &plan->code->places[i]);
	write_kernel(&t);
	write_descriptor(&t);
	if (fclose(t.f)) {
		free(data);
		return -ENOMEM;
	}
	out->data = data;
	return 0;
}
