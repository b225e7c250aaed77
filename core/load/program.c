/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the arguments of BPF_PROG_LOAD to struct gpubpf_prog. libbpf has relocated the instructions and appended the
 * sub-programs.
 */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/model/diag.h"
#include "core/model/facts.h"

_Static_assert(sizeof(struct gpubpf_raw_insn) == sizeof(struct bpf_insn),
	       "struct gpubpf_raw_insn differs from struct bpf_insn");

static int refuse_no_memory(struct gpubpf_diag *diag)
{
	gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for a program");
	return -ENOMEM;
}

static int by_pc(const void *a, const void *b)
{
	const struct gpubpf_line *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

static const char *get_btf_string(const struct btf *btf, uint32_t offset)
{
	const char *s = btf ? btf__name_by_offset(btf, offset) : NULL;

	return s ? s : "";
}

/* Adds the source lines. Their strings belong to the object's BTF, which is freed after the program. */
static int add_lines(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from, struct gpubpf_prog *prog)
{
	prog->lines = calloc(from->nlines + 1, sizeof(*prog->lines));
	if (!prog->lines)
		return refuse_no_memory(l->diag);
	for (uint32_t i = 0; i < from->nlines; i++) {
		const struct bpf_line_info *info = &from->lines[i];
		struct gpubpf_line *line = &prog->lines[prog->nlines];

		if (info->insn_off >= from->ninsns)
			continue;
		line->pc = info->insn_off;
		line->line = BPF_LINE_INFO_LINE_NUM(info->line_col);
		line->column = BPF_LINE_INFO_LINE_COL(info->line_col);
		line->file = get_btf_string(l->btf, info->file_name_off);
		line->text = get_btf_string(l->btf, info->line_off);
		while (isspace((unsigned char)*line->text))
			line->text++;
		prog->nlines++;
	}
	qsort(prog->lines, prog->nlines, sizeof(*prog->lines), by_pc);
	return 0;
}

void gpubpf_program_point_at(const struct gpubpf_prog *prog, struct gpubpf_diag *diag)
{
	const struct gpubpf_line *line;

	if (!diag || diag->pc == GPUBPF_NOPC || diag->line)
		return;
	line = gpubpf_prog_line(prog, diag->pc);
	if (!line)
		return;
	diag->line = line->line;
	snprintf(diag->file, sizeof(diag->file), "%s", line->file);
	snprintf(diag->source, sizeof(diag->source), "%s", line->text);
}

static const struct gpubpf_sys_map *find_map(const struct gpubpf_loading *l, int32_t name)
{
	if (!l->numbered)
		return gpubpf_sys_map(&l->sys, name);
	return name >= 0 && (uint32_t)name < l->sys.nmaps ? &l->sys.maps[name] : NULL;
}

/* Replaces the file descriptor of a map in the instruction by the map's index in the unit. */
static int resolve_map(const struct gpubpf_loading *l, struct gpubpf_insn *insn, uint32_t pc)
{
	const struct gpubpf_sys_map *def = find_map(l, insn->imm);
	int32_t index = def ? l->unit_map[def - l->sys.maps] : GPUBPF_MAP_UNUSED;
	const struct gpubpf_map *map;

	if (!def)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_INSN, pc, "refers to a map that the object does not define");
	if (index < 0)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_MAP, pc,
				       "uses map '%.16s' of type %u, which GPUs do not support", def->name, def->type);
	map = &l->out->unit.maps[index];
	insn->imm = index;
	if (insn->op == GPUBPF_IMM_MAP)
		return 0;
	if (!(map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS)) || map->max_entries != 1)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_MAP, pc,
				       "takes the address of a value of map '%s', which is possible only in an array of one element",
				       map->name);
	if (insn->imm64 >= map->value_size)
		return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_INSN, pc,
				       "takes the address of byte %lld of '%s', which has only %u bytes",
				       (long long)insn->imm64, map->name, map->value_size);
	return 0;
}

static int check_helper(const struct gpubpf_loading *l, const struct gpubpf_insn *insn, uint32_t pc)
{
	uint32_t number = (uint32_t)insn->imm;
	const char *kfunc = number - GPUBPF_KFUNC_UNKNOWN < l->nkfuncs ? l->kfuncs[number - GPUBPF_KFUNC_UNKNOWN] : NULL;
	char advice[200], list[160];

	if (gpubpf_helper_find(number) || number == GPUBPF_CORE_POISON)
		return 0;
	gpubpf_helper_list(list, sizeof(list));
	if (gpubpf_linux_advice(number, kfunc, advice, sizeof(advice)))
		gpubpf_diag_remedy(l->diag, "%s", advice);
	else if (!kfunc)
		gpubpf_diag_remedy(l->diag, "use one of helpers %s", list);
	if (kfunc)
		return gpubpf_diag_set(l->diag, GPUBPF_E_KFUNC, pc,
				       "calls kernel function %s, which does not exist on GPUs", kfunc);
	return gpubpf_diag_set(l->diag, GPUBPF_E_BAD_HELPER, pc, "calls helper %u%s%s, which does not exist on GPUs",
			       number, gpubpf_linux_name(number) ? " " : "",
			       gpubpf_linux_name(number) ? gpubpf_linux_name(number) : "");
}

static int resolve(const struct gpubpf_loading *l, struct gpubpf_prog *prog)
{
	int err = 0;

	for (uint32_t pc = 0; pc < prog->ninsns && err >= 0; pc++) {
		struct gpubpf_insn *insn = &prog->insns[pc];

		if (insn->kind == GPUBPF_INSN_CALL)
			err = check_helper(l, insn, pc);
		else if (insn->kind == GPUBPF_INSN_IMM64 &&
			 (insn->op == GPUBPF_IMM_MAP || insn->op == GPUBPF_IMM_MAP_VALUE))
			err = resolve_map(l, insn, pc);
	}
	return err;
}

static bool starts_function(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_CALL_LOCAL || (insn->kind == GPUBPF_INSN_IMM64 && insn->op == GPUBPF_IMM_FUNC);
}

int gpubpf_program_funcs(struct gpubpf_prog *prog, struct gpubpf_diag *diag)
{
	bool *first = calloc(prog->ninsns, sizeof(*first));
	uint32_t n = 0;

	if (!first)
		return refuse_no_memory(diag);
	first[0] = true;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (starts_function(&prog->insns[pc]))
			first[prog->insns[pc].target] = true;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		n += first[pc];
	prog->funcs = calloc(n, sizeof(*prog->funcs));
	if (!prog->funcs) {
		free(first);
		return refuse_no_memory(diag);
	}
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		if (first[pc])
			prog->funcs[prog->nfuncs++].first = pc;
		prog->funcs[prog->nfuncs - 1].count++;
	}
	snprintf(prog->funcs[0].name, sizeof(prog->funcs[0].name), "%s", prog->name);
	for (uint32_t i = 1; i < n; i++)
		snprintf(prog->funcs[i].name, sizeof(prog->funcs[i].name), "sub_%u", prog->funcs[i].first);
	free(first);
	return 0;
}

/* Sets the names of the sub-programs from .BTF.ext. */
static void name_funcs(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from, struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < from->nfuncs; i++) {
		const struct btf_type *t = l->btf ? btf__type_by_id(l->btf, from->funcs[i].type_id) : NULL;

		for (uint32_t f = 1; t && btf_is_func(t) && f < prog->nfuncs; f++)
			if (prog->funcs[f].first == from->funcs[i].insn_off)
				snprintf(prog->funcs[f].name, sizeof(prog->funcs[f].name), "%s",
					 get_btf_string(l->btf, t->name_off));
	}
}

int gpubpf_program_import(const struct gpubpf_loading *l, const struct gpubpf_sys_prog *from, struct gpubpf_prog *prog)
{
	int err = add_lines(l, from, prog);

	if (err < 0)
		return err;
	prog->insns = calloc(from->ninsns + 1, sizeof(*prog->insns));
	if (!prog->insns)
		return refuse_no_memory(l->diag);
	prog->ninsns = from->ninsns;
	err = gpubpf_insn_decode((const void *)from->insns, from->ninsns, prog->insns, l->diag);
	if (err >= 0)
		err = resolve(l, prog);
	if (err >= 0)
		err = gpubpf_program_funcs(prog, l->diag);
	if (err >= 0)
		name_funcs(l, from, prog);
	else
		gpubpf_program_point_at(prog, l->diag);
	return err;
}

void gpubpf_program_finish(struct gpubpf_prog *prog)
{
	gpubpf_facts_destroy(prog->facts);
	free(prog->insns);
	free(prog->funcs);
	free(prog->lines);
}
