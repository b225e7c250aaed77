/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "callees.h"
#include "cfg.h"
#include "core/model/diag.h"
#include "backends/cuda/sass/isa/effects.h"

static bool ends_path(struct sass_insn insn)
{
	return sass_ends_path(insn) || (sass_is_unconditional(insn) && sass_is(insn, SASS_OPERATION_RET));
}

/* Returns true if control may fall through into the function from the code before it. Skips NOPs before the
 * function. */
static bool has_fall_through(const struct sass_code *code, uint32_t begin)
{
	while (begin && sass_opcode(sass_code_at(code, begin - 1)) == SASS_OP_NOP)
		begin--;
	return !begin || !ends_path(sass_code_at(code, begin - 1));
}

/* Returns the reason why the branch or call at index i does not respect the boundaries of function f, as a clause for
 * messages. Returns NULL if it respects them. A call into the function must go to its first instruction. A branch must
 * not go there, and must not lead into or out of the function. */
static const char *branch_conflict(const struct sass_code *code, const struct sass_function *f, uint32_t i)
{
	int64_t to = sass_target_of(code->arch, code->insns, i);
	bool from_in = i >= f->begin && i < f->end, to_in = to >= f->begin && to < f->end;

	if (sass_is(sass_code_at(code, i), SASS_OPERATION_CALL_REL))
		return to_in && to != f->begin ? "a call enters it in the middle" : NULL;
	if (to == f->begin)
		return "a branch returns to its first instruction";
	return from_in != to_in ? "it shares code with other functions" : NULL;
}

static const char *find_obstacle(const struct sass_code *code, const struct sass_function *f)
{
	const char *why = NULL;

	if (f->begin < code->begin || f->end > code->n || f->begin >= f->end)
		return "the image does not state where its code is";
	if (has_fall_through(code, f->begin))
		return "the code before it falls through into it";
	for (uint32_t i = 0; !why && i < code->n; i++) {
		struct sass_insn insn = sass_code_at(code, i);

		if (sass_op(insn)->class == SASS_BRANCH || sass_has_target(insn))
			why = branch_conflict(code, f, i);
		else if ((sass_is(insn, SASS_OPERATION_BRX) || sass_is(insn, SASS_OPERATION_BRXU)) && i >= f->begin &&
			 i < f->end)
			why = "it has an indirect branch";
	}
	return why;
}

/* Returns FUNCTION if the symbol's name is $KERNEL$FUNCTION; NULL if the symbol is no function of this kernel. */
static const char *get_function_name(const char *symbol, const char *kernel)
{
	size_t n = strlen(kernel);

	return symbol[0] == '$' && !strncmp(symbol + 1, kernel, n) && symbol[1 + n] == '$' && symbol[2 + n] ?
		       symbol + 2 + n :
		       NULL;
}

static int visit_functions_in_section(const struct sass_cubin *c, const struct sass_kernel *k,
				      const struct sass_code *code,
				      int (*fn)(void *arg, const struct sass_function *function), void *arg)
{
	int err = 0;

	for (uint32_t i = sass_first(&c->symbols_by_section, k->text); !err && i; i = c->symbols_by_section.next[i]) {
		const struct sass_symbol *s = &c->symbols[i];
		struct sass_function f = { .name = get_function_name(s->name, c->symbols[k->symbol].name) };
		uint64_t begin = s->head.st_value, end = begin + s->head.st_size, size = (uint64_t)code->n * SASS_INSN;

		if (!f.name || ELF64_ST_TYPE(s->head.st_info) != STT_FUNC)
			continue;
		if (begin < size && end <= size && begin < end && begin % SASS_INSN == 0 && end % SASS_INSN == 0) {
			f.begin = begin / SASS_INSN;
			f.end = end / SASS_INSN;
		}
		f.why = find_obstacle(code, &f);
		err = fn(arg, &f);
	}
	return err;
}

/* Returns true if the kernel may call the function of this section. Either a call names the function, or the kernel
 * calls functions through pointers and this function is no kernel. */
static bool may_call(const struct sass_cubin *c, const struct sass_texts *texts, uint32_t section, bool by_pointer)
{
	for (uint32_t i = 1; i < texts->n; i++)
		if (texts->section[i] == section)
			return true;
	for (uint32_t i = 0; by_pointer && i < c->nkernels; i++)
		if (c->kernels[i].text == section)
			return false;
	return by_pointer;
}

static int visit_functions_in_others(const struct sass_cubin *c, const struct sass_kernel *k, const struct sass_code *code,
				     int (*fn)(void *arg, const struct sass_function *function), void *arg)
{
	struct sass_function f = { .why = "it is in a separate section (linked from several objects, or called through "
					  "a pointer), where probes in machine code are not supported" };
	struct sass_texts texts;
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = sass_texts_find(c, k, &texts, &diag);
	for (uint32_t i = 1; !err && i < c->nsymbols; i++) {
		const struct sass_symbol *s = &c->symbols[i];

		if (ELF64_ST_TYPE(s->head.st_info) != STT_FUNC || !s->section || s->section == SASS_NONE ||
		    s->section == k->text || !may_call(c, &texts, s->section, code->by_pointer))
			continue;
		f.name = s->name;
		err = fn(arg, &f);
	}
	sass_texts_finish(&texts);
	return err;
}

int sass_functions_each(const struct sass_cubin *cubin, const struct sass_kernel *kernel, const struct sass_code *code,
			int (*fn)(void *arg, const struct sass_function *function), void *arg)
{
	int err = visit_functions_in_section(cubin, kernel, code, fn, arg);

	return err || !code->calls ? err : visit_functions_in_others(cubin, kernel, code, fn, arg);
}

/* The place at the first instruction has no guard, because all lanes that execute the call reach that instruction. */
int sass_function_places(const struct sass_code *code, const struct sass_function *function, uint32_t kinds,
			 int (*fn)(void *arg, const struct sass_place *place), void *arg)
{
	struct sass_place call = { .kind = GPUBPF_SITE_CALL, .at = function->begin, .guard = SASS_PT, .second = SASS_PT };
	struct sass_place leave = { .kind = GPUBPF_SITE_CALL_EXIT, .second = SASS_PT };
	int err = 0;

	if (kinds & GPUBPF_SITE_BIT(CALL))
		err = fn(arg, &call);
	for (uint32_t i = function->begin; kinds & GPUBPF_SITE_BIT(CALL_EXIT) && !err && i < function->end; i++) {
		if (!sass_is(sass_code_at(code, i), SASS_OPERATION_RET))
			continue;
		leave.at = i;
		leave.guard = sass_code_at(code, i).guard;
		err = fn(arg, &leave);
		leave.id++;
	}
	return err;
}
