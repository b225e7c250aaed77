/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: extracts the probes from the PTX that the lowering emits.
 * Before: each site is an .entry without parameters. The PTX uses registers for operands and accumulators but does not
 * declare them.
 * After: the probe's body is the text of a { } block, which control leaves only by falling through its end. The
 * registers that the probe reads are listed in struct cuda_probe.
 * Requires: the application's function, which supplies the names of parameters.
 */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "backends/cuda/ptx/analysis/params.h"
#include "backends/cuda/ptx/ir/scope.h"

#define END_LABEL "$gpubpf_end"
#define SKIP_PRED "%gpubpf_out" /* .pred: this lane skips the probe */
#define PARAM "gpubpf_param_"
#define PARAM_SIZE (sizeof(PARAM) - 1)
#define RESULT "gpubpf_result"
#define OPERAND_SIZE (sizeof(CUDA_OPERAND) - 1)

struct edits {
	struct ptx_edit *list;
	size_t n, room;
	bool failed;
};

static void add_edit(struct edits *e, struct ptx_edit edit)
{
	if (e->n == e->room) {
		size_t room = e->room ? 2 * e->room : 16;
		struct ptx_edit *grown = realloc(e->list, room * sizeof(*grown));

		if (!grown) {
			e->failed = true;
			return;
		}
		e->list = grown;
		e->room = room;
	}
	e->list[e->n++] = edit;
}

static void replace_by(struct edits *e, uint32_t first, uint32_t end, const char *text, size_t size)
{
	add_edit(e, (struct ptx_edit){ PTX_REPLACE, first, end, text, size });
}

static void replace(struct edits *e, uint32_t first, uint32_t end, const char *text)
{
	replace_by(e, first, end, text, strlen(text));
}

/* state while one probe is extracted */
struct extraction {
	struct cuda_probe *probe; /* the result, with the accumulators and special registers that the probe uses */
	const struct gpubpf_site_registers *registers;
	const struct ptx_module *app;
	uint32_t function; /* the kernel or function whose parameter names replace gpubpf_param_<i> */
	/* The first four members go to struct cuda_probe. guarded: predicates replace the branch over the probe. */
	bool reads_params, reads_result, ends_thread, may_diverge, guarded;
	uint64_t operands;
	uint32_t head;       /* first token of the branch that ptx_head_branch() found */
	char head_text[128]; /* text that replaces the branch, or only its tokens before the predicate */
};

/* Returns the number that follows the prefix `name` in the token, or UINT32_MAX if the token has another prefix. */
static uint32_t name_number(const struct ptx_module *m, uint32_t token, const char *name, size_t size)
{
	const struct ptx_token *t = &m->tokens[token];
	uint32_t number = 0;

	if (t->kind != PTX_WORD || t->len <= size || memcmp(m->text + t->off, name, size))
		return UINT32_MAX;
	for (uint32_t i = size; i < t->len; i++)
		number = number * 10 + (m->text[t->off + i] - '0');
	return number;
}

/*
 * Returns the index in the table of the register that the token names after the prefix, or `n` if the table lacks it.
 */
static uint32_t find_register(const struct ptx_module *m, uint32_t token, const char *prefix,
			      const struct gpubpf_acc_register *table, uint32_t n)
{
	const struct ptx_token *t = &m->tokens[token];
	size_t size = strlen(prefix);
	uint32_t i = 0;

	if (t->len <= size || memcmp(m->text + t->off, prefix, size))
		return n;
	while (i < n &&
	       (strlen(table[i].name) != t->len - size || memcmp(table[i].name, m->text + t->off + size, t->len - size)))
		i++;
	return i;
}

/*
 * If the table has the register that the token names, adds the register to the probe's list, so that the injector
 * declares it.
 */
static void note_register(const struct ptx_module *m, uint32_t token, const char *prefix,
			  const struct gpubpf_acc_register *table, uint32_t ntable, struct gpubpf_acc_register *list,
			  uint32_t *n)
{
	uint32_t found = find_register(m, token, prefix, table, ntable);

	if (found < ntable && find_register(m, token, prefix, list, *n) == *n)
		list[(*n)++] = table[found];
}

static void edit_special(const struct ptx_module *m, uint32_t token, struct cuda_probe *probe, struct edits *e)
{
	bool sm = ptx_token_is(m, token, "%smid"), lane = ptx_token_is(m, token, "%laneid");

	if (!probe->is_insn_probe || !(sm || lane))
		return;
	replace(e, token, token + 1, sm ? CUDA_SM : CUDA_LANE);
	probe->reads_sm |= sm;
	probe->reads_lane |= lane;
}

/*
 * In a probe for one-dimensional launches, replaces a y or z index by 0 and a y or z size by 1. Returns true if it
 * replaced the token.
 */
static bool edit_axis(const struct ptx_module *m, uint32_t token, const struct cuda_probe *probe, struct edits *e)
{
	static const char *const of[][2] = { { "%tid", "0" }, { "%ctaid", "0" }, { "%ntid", "1" }, { "%nctaid", "1" } };

	if (!probe->flat || !(ptx_token_is(m, token + 1, ".y") || ptx_token_is(m, token + 1, ".z")))
		return false;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (ptx_token_is(m, token, of[i][0])) {
			replace(e, token, token + 2, of[i][1]);
			return true;
		}
	return false;
}

/* Replaces %ctaid by a register that the kernel reads once, because each read is slow. */
static void edit_ctaid(const struct ptx_module *m, uint32_t token, struct cuda_probe *probe, struct edits *e)
{
	static const char *const of[][2] = { { ".x", CUDA_CTAID "x" }, { ".y", CUDA_CTAID "y" }, { ".z", CUDA_CTAID "z" } };

	if (!probe->is_block_probe || !ptx_token_is(m, token, "%ctaid"))
		return;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (ptx_token_is(m, token + 1, of[i][0])) {
			replace(e, token, token + 2, of[i][1]);
			probe->reads_ctaid = true;
		}
}

/*
 * Adds the test of CUDA_NOT_LEADER to the condition of the branch by which lanes skip the probe. One branch then skips
 * the probe for both reasons.
 */
static void edit_head(const struct ptx_module *m, uint32_t body, struct extraction *ex, struct edits *e)
{
	bool skips_lanes = ex->probe->is_last_lane_probe || (ex->probe->is_block_probe && ex->probe->flat);
	uint32_t branch = skips_lanes ? ptx_head_branch(m, body) : PTX_NONE;
	const struct ptx_token *p;
	int size;

	if (branch == PTX_NONE)
		return;
	p = &m->tokens[m->nodes[branch].guard];
	ex->head = m->nodes[branch].first;
	ex->guarded = ex->probe->flat && ptx_can_guard(m, branch);
	size = ex->guarded ?
		       snprintf(ex->head_text, sizeof(ex->head_text),
				".reg .pred %" SKIP_PRED ";\n\tor.pred %" SKIP_PRED ", %.*s, %" CUDA_NOT_LEADER ";",
				(int)p->len, m->text + p->off) :
		       snprintf(ex->head_text, sizeof(ex->head_text), "or.pred %.*s, %.*s, %" CUDA_NOT_LEADER ";\n\t@",
				(int)p->len, m->text + p->off, (int)p->len, m->text + p->off);
	if ((size_t)size >= sizeof(ex->head_text)) {
		ex->guarded = false;
		return;
	}
	replace(e, m->nodes[branch].first, ex->guarded ? m->nodes[branch].end : m->nodes[branch].guard, ex->head_text);
	ex->probe->reads_not_leader = true;
}

/*
 * Replaces names that the lowering emits by the real ones, such as "gpubpf_param_3" by the name of parameter 3. Records
 * the registers that the probe uses.
 */
static void edit_operand(const struct ptx_module *m, uint32_t token, struct extraction *ex, struct edits *e)
{
	uint32_t number = name_number(m, token, CUDA_OPERAND, OPERAND_SIZE), param;
	const struct gpubpf_site_registers *r = ex->registers;
	struct gpubpf_site_registers *used = &ex->probe->registers;

	note_register(m, token, CUDA_ACC, r->sums, r->nsums, used->sums, &used->nsums);
	note_register(m, token, CUDA_ACC_OFFSET, r->keys, r->nkeys, used->keys, &used->nkeys);
	note_register(m, token, CUDA_ACC_LANE, r->acc_lanes, r->nacc_lanes, used->acc_lanes, &used->nacc_lanes);
	note_register(m, token, CUDA_MAP_BASE, r->map_bases, r->nmap_bases, used->map_bases, &used->nmap_bases);
	ex->probe->reads_acc_mode |= ptx_token_is(m, token, CUDA_ACC_MODE);
	ex->probe->reads_place_const |= ptx_token_is(m, token, CUDA_PLACE_CONST);
	ex->probe->reads_active_mask |= ptx_token_is(m, token, CUDA_ACTIVE) || ptx_token_is(m, token, CUDA_FULL_WARP);
	ex->probe->reads_taken_mask |= ptx_token_is(m, token, CUDA_TAKEN);
	edit_special(m, token, ex->probe, e);
	if (!edit_axis(m, token, ex->probe, e))
		edit_ctaid(m, token, ex->probe, e);
	if (number < 64)
		ex->operands |= 1ull << number;
	if (ptx_token_is(m, token, RESULT)) {
		ex->reads_result = true;
		replace(e, token, token + 1, CUDA_RESULT);
		return;
	}
	number = name_number(m, token, PARAM, PARAM_SIZE);
	param = number == UINT32_MAX ? PTX_NONE : cuda_param_node(ex->app, ex->function, number);
	if (param == PTX_NONE)
		return;
	ex->reads_params = true;
	param = ex->app->nodes[param].name;
	replace_by(e, token, token + 1, ptx_token_text(ex->app, param), ex->app->tokens[param].len);
}

#define CONVERGING_SUFFIX "_together"

/*
 * Returns true if the call's target is a library function with this suffix. Such functions reconverge the lanes
 * themselves (maps/device/machine_nvptx.h).
 */
static bool is_converging_call(const struct ptx_module *m, const struct ptx_node *call)
{
	for (uint32_t t = call->operands; t < call->end; t++) {
		const struct ptx_token *name = &m->tokens[t];
		size_t size = sizeof(CONVERGING_SUFFIX) - 1;

		if (name->kind == PTX_WORD && name->len > size &&
		    !memcmp(m->text + name->off + name->len - size, CONVERGING_SUFFIX, size))
			return true;
	}
	return false;
}

static void edit_insn(const struct ptx_module *m, const struct ptx_node *insn, struct extraction *ex, struct edits *e)
{
	static const char guard[] = "\n\t@!" SKIP_PRED;

	if (ex->guarded && insn->first > ex->head && ptx_needs_guard(m, insn))
		add_edit(e, (struct ptx_edit){ PTX_INSERT, insn->first, 0, guard, sizeof(guard) - 1 });
	for (uint32_t t = insn->operands; t < insn->end; t++)
		edit_operand(m, t, ex, e);
}

/*
 * Edits the statements of a body. Each return becomes a branch to the probe's end, so "@p ret;" becomes "@p bra
 * $gpubpf_end".
 */
static void edit_body(const struct ptx_module *m, uint32_t body, struct extraction *ex, struct edits *e)
{
	for (uint32_t c = m->nodes[body].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *node = &m->nodes[c];

		if (node->kind == PTX_INSN && ptx_token_is(m, node->name, "ret"))
			replace(e, node->name, node->end, "bra " END_LABEL ";");
		else if (node->kind == PTX_DIRECTIVE && ptx_token_is(m, node->name, ".loc"))
			replace(e, node->first, node->end, "");
		else if (node->kind == PTX_BLOCK)
			edit_body(m, c, ex, e);
		else if (node->kind == PTX_INSN && ptx_token_is(m, node->name, "exit"))
			ex->ends_thread = true;
		else if (node->kind == PTX_INSN)
			edit_insn(m, node, ex, e);
		ex->may_diverge |= node->kind == PTX_INSN &&
				   (ptx_token_is(m, node->name, "brx") ||
				    (ptx_token_is(m, node->name, "call") && !is_converging_call(m, node)));
	}
}

/* Prints the tokens [first, end) with the edits, and frees the edits. */
static int print_range(const struct ptx_module *m, struct edits *e, uint32_t first, uint32_t end, char **text, size_t *size)
{
	int err;

	replace(e, 0, first, "");
	if (end < m->ntokens - 1)
		replace(e, end, m->ntokens - 1, "");
	err = e->failed ? -ENOMEM : ptx_print(m, e->list, e->n, text, size);
	free(e->list);
	return err;
}

int cuda_probe_extract(const struct ptx_module *m, const struct gpubpf_site_registers *registers, const char *name,
		       const struct ptx_module *app, uint32_t function, struct cuda_probe *probe, struct gpubpf_diag *diag)
{
	struct extraction ex = { .probe = probe, .registers = registers, .app = app, .function = function };
	uint32_t site = ptx_find_function(m, name), body;
	struct edits e = { 0 };
	char *text, *whole;
	size_t size;
	int err, loops;

	body = site == PTX_NONE ? PTX_NONE : ptx_child(m, site, PTX_BLOCK, 0);
	if (body == PTX_NONE || !m->nodes[site].entry || ptx_child(m, site, PTX_PARAM, 0) != PTX_NONE)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the compiled probe has no entry %s", name);
	loops = ptx_has_cycle(m, body);
	if (loops < 0)
		return loops;
	ex.may_diverge = loops;
	edit_head(m, body, &ex, &e);
	edit_body(m, body, &ex, &e);
	err = print_range(m, &e, m->nodes[body].first + 1, m->nodes[body].end - 1, &text, &size);
	if (err < 0)
		return err;
	whole = malloc(size + sizeof(END_LABEL ":"));
	if (whole) {
		memcpy(whole, text, size);
		memcpy(whole + size, END_LABEL ":", sizeof(END_LABEL ":"));
		probe->body = whole;
		probe->body_size = size + sizeof(END_LABEL ":") - 1;
		probe->reads_params = ex.reads_params;
		probe->reads_result = ex.reads_result;
		probe->ends_thread = ex.ends_thread;
		probe->may_diverge = ex.may_diverge;
		probe->reads = ex.operands;
	}
	free(text);
	return whole ? 0 : -ENOMEM;
}

int cuda_prelude_extract(const struct ptx_module *m, const char *sites, char **text, size_t *size)
{
	struct edits e = { 0 };
	size_t n = strlen(sites);
	int err;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *node = &m->nodes[c];
		bool site = node->kind == PTX_FUNCTION && node->entry && m->tokens[node->name].len >= n &&
			    !memcmp(ptx_token_text(m, node->name), sites, n);

		if (site || node->kind == PTX_SECTION || node->kind == PTX_DIRECTIVE)
			replace(&e, node->first, node->end, "");
	}
	err = e.failed ? -ENOMEM : ptx_print(m, e.list, e.n, text, size);
	free(e.list);
	return err;
}
