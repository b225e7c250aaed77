/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: allocates registers for the accumulators of a function's probes (core/lower/llvm/accumulators.c).
 * Before: probes refer to accumulator registers (CUDA_ACC and below in splice.h) that no code declares.
 * After: the function zeroes the accumulators at its top and adds them to the maps at every exit.
 * Requires: the places of the function with their probes (splice.c).
 *
 * If a fault or trap ends the GPU kernel, lanes inside the function lose the sums in their accumulators. A place in a
 * loop loses only the adds since its key last changed.
 *
 * CUDA_ACC_MODE is 1 at a place that has its own accumulators; every lane uses them. It is 2 at a place where each add
 * has one lane, which accumulates the add for its warp. It is 0 at a place where each add goes to the map at once.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"

static void add_sum(struct ptx_splice *in, const struct gpubpf_acc_register *sum)
{
	uint32_t i = 0;

	while (i < in->nsums && strcmp(in->sums[i].name, sum->name))
		i++;
	if (i == GPUBPF_MAX_SUMS)
		ptx_refuse(in,
			   "its probes add to more than %d different counters, too many for registers; attach "
			   "fewer programs",
			   GPUBPF_MAX_SUMS);
	else if (i == in->nsums)
		in->sums[in->nsums++] = *sum;
}

/* largest number of places in a function that have their own accumulators (CUDA_ACC_MODE 1) */
#define MAX_KEYED_PLACES 8
#define WARP_LANES 32

static void add_map(struct ptx_splice *in, uint32_t map)
{
	uint32_t i = 0;

	while (i < in->nmap_bases && in->map_bases[i] != map)
		i++;
	if (i == in->nmap_bases)
		in->map_bases[in->nmap_bases++] = map;
}

/*
 * Returns an array with the loop depth of each node of the function; element 0 is the function's node. The text between
 * a backward branch and its target counts as a loop. Returns NULL if memory is exhausted.
 */
static uint32_t *count_loop_depths(struct ptx_splice *in, uint32_t function)
{
	const struct ptx_module *m = in->m;
	uint32_t last = function, *loops, within = 0;

	PTX_FOR_EACH_NODE(m, function, node)
	last = node;
	loops = calloc(last - function + 2, sizeof(*loops));
	if (!loops) {
		in->err = -ENOMEM;
		return NULL;
	}
	PTX_FOR_EACH_NODE(m, function, node)
	{
		uint32_t label = PTX_NONE;

		if (m->nodes[node].kind == PTX_INSN && ptx_token_is(m, m->nodes[node].name, "bra"))
			label = ptx_find_label(m, node, m->nodes[node].operands);
		if (label < node && label > function) {
			loops[label - function]++;
			loops[node + 1 - function]--;
		}
	}
	for (uint32_t i = 0; i <= last - function; i++)
		loops[i] = within += loops[i];
	return loops;
}

/* Assigns accumulators (CUDA_ACC_MODE 1) to the first MAX_KEYED_PLACES places in loops whose probes have keys. A key is
 * the offset of a map value, computed at run time. */
static void assign_keys(struct ptx_splice *in, uint32_t function, const uint32_t *loops)
{
	for (uint32_t i = 0; i < in->nplaced && in->nkeyed < MAX_KEYED_PLACES; i++) {
		const struct cuda_probe *probe = in->placed[i].probe;

		if (!probe || !probe->registers.nkeys || !loops[in->placed[i].place.node - function])
			continue;
		in->placed[i].acc_index = in->nkeyed++;
		for (uint32_t k = 0; k < probe->registers.nkeys; k++)
			add_map(in, probe->registers.keys[k].map);
	}
}

static void add_lane_acc(struct ptx_splice *in, const struct gpubpf_acc_register *key)
{
	uint32_t i = 0;

	while (i < in->nlane_accs && strcmp(in->lane_accs[i].name, key->name))
		i++;
	assert(i < GPUBPF_MAX_KEYS);
	if (i == in->nlane_accs)
		in->lane_accs[in->nlane_accs++] = *key;
	add_map(in, key->map);
}

/*
 * Assigns lanes (CUDA_ACC_MODE 2) to the places outside of loops, unless there is only one such place. Each add of a
 * place's probe gets one lane of the warp. That lane accumulates the add for all lanes of the warp.
 */
static void assign_acc_lanes(struct ptx_splice *in, uint32_t function, const uint32_t *loops)
{
	struct ptx_site *first = NULL;
	uint32_t lanes = 0, n = 0;

	for (uint32_t i = 0; i < in->nplaced; i++) {
		struct ptx_site *at = &in->placed[i];

		if (!at->probe || !at->probe->registers.nacc_lanes || loops[at->place.node - function] ||
		    lanes + at->probe->registers.nacc_lanes > WARP_LANES)
			continue;
		at->first_acc_lane = lanes;
		lanes += at->probe->registers.nacc_lanes;
		first = n++ ? first : at;
	}
	if (n == 1)
		first->first_acc_lane = PTX_NONE;
	for (uint32_t i = 0; i < in->nplaced; i++)
		for (uint32_t k = 0;
		     in->placed[i].first_acc_lane != PTX_NONE && k < in->placed[i].probe->registers.nkeys; k++)
			add_lane_acc(in, &in->placed[i].probe->registers.keys[k]);
}

/* Returns true if the function has an indirect branch (brx), whose targets are in a table. */
static bool has_indirect_branch(const struct ptx_splice *in, uint32_t function)
{
	PTX_FOR_EACH_NODE(in->m, function, node)
	if (in->m->nodes[node].kind == PTX_INSN && ptx_token_is(in->m, in->m->nodes[node].name, "brx"))
		return true;
	return false;
}

static void assign_accumulators(struct ptx_splice *in, uint32_t function)
{
	uint32_t *loops = NULL;

	for (uint32_t i = 0; !loops && !in->err && i < in->nplaced; i++)
		if (in->placed[i].probe && in->placed[i].probe->registers.nkeys)
			loops = count_loop_depths(in, function);
	if (!loops)
		return;
	assign_keys(in, function, loops);
	if (!has_indirect_branch(in, function))
		assign_acc_lanes(in, function, loops);
	free(loops);
}

void ptx_assign_accumulators(struct ptx_splice *in, uint32_t function)
{
	in->nsums = in->nkeyed = in->nlane_accs = in->nmap_bases = 0;
	for (uint32_t i = 0; i < in->nplaced; i++)
		for (uint32_t k = 0; in->placed[i].probe && k < in->placed[i].probe->registers.nsums; k++)
			add_sum(in, &in->placed[i].probe->registers.sums[k]);
	for (uint32_t i = 0; i < in->nsums; i++)
		add_map(in, in->sums[i].map);
	assign_accumulators(in, function);
	for (uint32_t i = 0; i < in->nplaced; i++)
		for (uint32_t k = 0; in->placed[i].probe && k < in->placed[i].probe->registers.nmap_bases; k++)
			add_map(in, in->placed[i].probe->registers.map_bases[k].map);
}

bool ptx_has_accumulators(const struct ptx_splice *in)
{
	return in->nsums || in->nkeyed || in->nlane_accs;
}

/*
 * Computes the address of the map's first value for this multiprocessor, once at the function's top, as
 * gpubpf_array_address() (maps/kinds/array.h) does. A lane that later moves to another multiprocessor still adds to the
 * replica of the first one, which is equally correct.
 */
static void begin_map(struct ptx_splice *in, struct ptx_text *text, uint32_t map)
{
	const struct gpubpf_map_layout *l = &in->at.job->layouts[map];

	ptx_addf(text, &in->err, "\n.reg .b64 %" CUDA_MAP_BASE "%u;\n{\n.reg .b32 %%gpubpf_n;\n.reg .b64 %%gpubpf_d;\n",
		 map);
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%smid;\nmin.u32 %%gpubpf_n, %%gpubpf_n, %u;\n", l->copies - 1);
	assert(l->copy_stride <= UINT32_MAX);
	ptx_addf(text, &in->err, "mul.wide.u32 %%gpubpf_d, %%gpubpf_n, %u;\n", (uint32_t)l->copy_stride);
	ptx_addf(text, &in->err, "ld.const.u64 %" CUDA_MAP_BASE "%u, [gpubpf_arena];\n", map);
	ptx_addf(text, &in->err, "add.s64 %" CUDA_MAP_BASE "%u, %" CUDA_MAP_BASE "%u, %%gpubpf_d;\n", map, map);
	ptx_addf(text, &in->err, "add.s64 %" CUDA_MAP_BASE "%u, %" CUDA_MAP_BASE "%u, %" PRIu64 ";\n}", map, map, l->data);
}

/*
 * Iterates over the keys of all places that have their own accumulators. `at` and *key are the previous result; `at` is
 * NULL at first. Returns the place of the next key, and sets *key to the key's index among the keys of the place's
 * probe. Returns NULL after the last key.
 */
static const struct ptx_site *find_next_key(const struct ptx_splice *in, const struct ptx_site *at, uint32_t *key)
{
	const struct ptx_site *end = in->placed + in->nplaced;

	if (at && ++*key < at->probe->registers.nkeys)
		return at;
	*key = 0;
	for (at = at ? at + 1 : in->placed; at < end && at->acc_index == PTX_NONE; at++)
		;
	return at < end ? at : NULL;
}

#define LANE_ACC_SUFFIX "held" /* suffix of registers for CUDA_ACC_MODE 2; in mode 1 the suffix is a number */

static void declare_pair(struct ptx_splice *in, struct ptx_text *text, const char *name, const char *number)
{
	ptx_addf(text, &in->err, "\n.reg .b32 %" CUDA_ACC_OFFSET "%s_%s;\nmov.b32 %" CUDA_ACC_OFFSET "%s_%s, 0;", name,
		 number, name, number);
	ptx_addf(text, &in->err, "\n.reg .b32 %" CUDA_ACC_VALUE "%s_%s;\nmov.b32 %" CUDA_ACC_VALUE "%s_%s, 0;", name,
		 number, name, number);
}

void ptx_begin_accumulators(struct ptx_splice *in, struct ptx_text *text)
{
	const struct ptx_site *at = NULL;
	uint32_t key = 0;
	char number[16];

	for (uint32_t i = 0; i < in->nmap_bases; i++)
		begin_map(in, text, in->map_bases[i]);
	for (uint32_t i = 0; i < in->nsums; i++) {
		const char *name = in->sums[i].name;

		ptx_addf(text, &in->err, "\n.reg .b64 %" CUDA_ACC "%s;\nmov.b64 %" CUDA_ACC "%s, 0;", name, name);
	}
	while (in->nkeyed && (at = find_next_key(in, at, &key))) {
		snprintf(number, sizeof(number), "%u", at->acc_index);
		declare_pair(in, text, at->probe->registers.keys[key].name, number);
	}
	for (uint32_t i = 0; i < in->nlane_accs; i++)
		declare_pair(in, text, in->lane_accs[i].name, LANE_ACC_SUFFIX);
}

/* Returns the suffix of the function's accumulator registers for the place, or "" if the place uses no accumulators. */
static const char *register_suffix(const struct ptx_site *at, char number[16])
{
	if (at->acc_index == PTX_NONE)
		return at->first_acc_lane == PTX_NONE ? "" : LANE_ACC_SUFFIX;
	snprintf(number, 16, "%u", at->acc_index);
	return number;
}

/*
 * Emits moves from the function's accumulators to the registers that the probe's text uses. The function
 * ptx_store_accumulators() emits the moves back.
 */
void ptx_load_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at)
{
	const char *number = register_suffix(at, (char[16]){ "" });

	if (at->probe->reads_acc_mode)
		ptx_addf(text, &in->err, ".reg .b32 %" CUDA_ACC_MODE ";\nmov.b32 %" CUDA_ACC_MODE ", %d;\n",
			 at->acc_index != PTX_NONE      ? 1 :
			 at->first_acc_lane != PTX_NONE ? 2 :
							  0);
	for (uint32_t k = 0; k < at->probe->registers.nacc_lanes; k++)
		ptx_addf(text, &in->err, ".reg .b32 %" CUDA_ACC_LANE "%s;\nmov.b32 %" CUDA_ACC_LANE "%s, %u;\n",
			 at->probe->registers.acc_lanes[k].name, at->probe->registers.acc_lanes[k].name,
			 at->first_acc_lane == PTX_NONE ? 0 : at->first_acc_lane + k);
	for (uint32_t k = 0; k < at->probe->registers.nkeys; k++) {
		const char *name = at->probe->registers.keys[k].name;

		ptx_addf(text, &in->err, ".reg .b32 %" CUDA_ACC_OFFSET "%s;\n.reg .b32 %" CUDA_ACC_VALUE "%s;\n", name,
			 name);
		if (number[0])
			ptx_addf(text, &in->err,
				 "mov.b32 %" CUDA_ACC_OFFSET "%s, %" CUDA_ACC_OFFSET "%s_%s;\nmov.b32 %" CUDA_ACC_VALUE
				 "%s, %" CUDA_ACC_VALUE "%s_%s;\n",
				 name, name, number, name, name, number);
		else
			ptx_addf(text, &in->err,
				 "mov.b32 %" CUDA_ACC_OFFSET "%s, 0;\nmov.b32 %" CUDA_ACC_VALUE "%s, 0;\n", name, name);
	}
}

void ptx_store_accumulators(struct ptx_splice *in, struct ptx_text *text, const struct ptx_site *at)
{
	const char *number = register_suffix(at, (char[16]){ "" });

	for (uint32_t k = 0; number[0] && k < at->probe->registers.nkeys; k++) {
		const char *name = at->probe->registers.keys[k].name;

		ptx_addf(text, &in->err,
			 "mov.b32 %" CUDA_ACC_OFFSET "%s_%s, %" CUDA_ACC_OFFSET "%s;\nmov.b32 %" CUDA_ACC_VALUE
			 "%s_%s, %" CUDA_ACC_VALUE "%s;\n",
			 name, number, name, name, number, name);
	}
}

/*
 * Emits an atomic add of %gpubpf_d to a map value of this multiprocessor. The value is at the map's first value plus
 * p->off plus %gpubpf_k bytes.
 */
static void emit_add_to_map(struct ptx_splice *in, struct ptx_text *text, const struct gpubpf_acc_register *p)
{
	ptx_addf(text, &in->err,
		 "cvt.u64.u32 %%gpubpf_to, %%gpubpf_k;\nadd.s64 %%gpubpf_to, %%gpubpf_to, %" CUDA_MAP_BASE "%u;\n",
		 p->map);
	ptx_addf(text, &in->err, "add.s64 %%gpubpf_to, %%gpubpf_to, %u;\n", p->off);
	if (p->bytes == 4)
		ptx_addf(text, &in->err, "cvt.u32.u64 %%gpubpf_n, %%gpubpf_d;\n");
	ptx_addf(text, &in->err, "red.relaxed.gpu.global.add.u%u [%%gpubpf_to], %%gpubpf_%s;\n", 8 * p->bytes,
		 p->bytes == 4 ? "n" : "d");
}

/*
 * Emits an add of an accumulator to the map at an exit. If all lanes that exit together have equal sums and keys, one
 * lane adds the sum times the number of lanes. `sum` and `key` name registers. An empty `key` selects the value at
 * p->off.
 */
static void emit_flush(struct ptx_splice *in, struct ptx_text *text, const struct gpubpf_acc_register *p,
		       const char *sum, const char *key)
{
	uint32_t each = ++in->labels, over = ++in->labels;

	ptx_addf(text, &in->err, "{\n.reg .pred %%gpubpf_p, %%gpubpf_q;\n.reg .b32 %%gpubpf_w, %%gpubpf_n, %%gpubpf_k;\n");
	ptx_addf(text, &in->err, ".reg .b64 %%gpubpf_d, %%gpubpf_to;\n%s %%gpubpf_d, %s;\nmov.b32 %%gpubpf_k, %s;\n",
		 key[0] ? "cvt.u64.u32" : "mov.b64", sum, key[0] ? key : "0");
	ptx_addf(text, &in->err, "setp.eq.s64 %%gpubpf_p, %%gpubpf_d, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", over);
	ptx_addf(text, &in->err,
		 "activemask.b32 %%gpubpf_w;\nmatch.all.sync.b64 %%gpubpf_n|%%gpubpf_p, %%gpubpf_d, %%gpubpf_w;\n");
	if (key[0])
		ptx_addf(text, &in->err,
			 "match.all.sync.b32 %%gpubpf_n|%%gpubpf_q, %%gpubpf_k, %%gpubpf_w;\n"
			 "and.pred %%gpubpf_p, %%gpubpf_p, %%gpubpf_q;\n");
	ptx_addf(text, &in->err, "@!%%gpubpf_p bra $gpubpf_over_%u;\n", each);
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_n, %%lanemask_lt;\nand.b32 %%gpubpf_n, %%gpubpf_n, %%gpubpf_w;\n");
	ptx_addf(text, &in->err, "setp.ne.u32 %%gpubpf_p, %%gpubpf_n, 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n", over);
	ptx_addf(text, &in->err, "popc.b32 %%gpubpf_n, %%gpubpf_w;\ncvt.u64.u32 %%gpubpf_to, %%gpubpf_n;\n");
	ptx_addf(text, &in->err, "mul.lo.s64 %%gpubpf_d, %%gpubpf_d, %%gpubpf_to;\n$gpubpf_over_%u:\n", each);
	emit_add_to_map(in, text, p);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", over);
}

/*
 * Emits code that flushes the accumulators of CUDA_ACC_MODE 2. In this mode, each lane holds the sum for a different
 * add. So one predicated `red` instruction of the warp adds all of these sums.
 */
static void emit_lane_acc_flush(struct ptx_splice *in, struct ptx_text *text, const char *name,
				const struct gpubpf_acc_register *p)
{
	uint32_t over = ++in->labels;

	ptx_addf(text, &in->err,
		 "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_n, %%gpubpf_k;\n.reg .b64 %%gpubpf_d, %%gpubpf_to;\n");
	ptx_addf(text, &in->err,
		 "setp.eq.s32 %%gpubpf_p, %" CUDA_ACC_VALUE "%s_" LANE_ACC_SUFFIX
		 ", 0;\n@%%gpubpf_p bra $gpubpf_over_%u;\n",
		 name, over);
	ptx_addf(text, &in->err,
		 "cvt.u64.u32 %%gpubpf_d, %" CUDA_ACC_VALUE "%s_" LANE_ACC_SUFFIX
		 ";\nmov.b32 %%gpubpf_k, %" CUDA_ACC_OFFSET "%s_" LANE_ACC_SUFFIX ";\n",
		 name, name);
	emit_add_to_map(in, text, p);
	ptx_addf(text, &in->err, "$gpubpf_over_%u:\n}\n", over);
}

void ptx_flush_accumulators(struct ptx_splice *in, struct ptx_text *text)
{
	const struct ptx_site *at = NULL;
	char sum[64], key[64] = "";
	uint32_t k = 0;

	for (uint32_t i = 0; i < in->nsums; i++) {
		snprintf(sum, sizeof(sum), "%" CUDA_ACC "%s", in->sums[i].name);
		emit_flush(in, text, &in->sums[i], sum, key);
	}
	while (in->nkeyed && (at = find_next_key(in, at, &k))) {
		snprintf(sum, sizeof(sum), "%" CUDA_ACC_VALUE "%s_%u", at->probe->registers.keys[k].name, at->acc_index);
		snprintf(key, sizeof(key), "%" CUDA_ACC_OFFSET "%s_%u", at->probe->registers.keys[k].name, at->acc_index);
		emit_flush(in, text, &at->probe->registers.keys[k], sum, key);
	}
	for (uint32_t i = 0; i < in->nlane_accs; i++)
		emit_lane_acc_flush(in, text, in->lane_accs[i].name, &in->lane_accs[i]);
}
