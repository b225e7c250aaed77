/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the .def tables into data. */
#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "prog.h"

static const struct gpubpf_op_row ops[] = {
#define GPUBPF_OP(name, function, use, meaning) { function, use },
#include "ops.def"
};

static const struct gpubpf_arg_row args[] = {
#define GPUBPF_ARG(name, pass, size, shown, meaning) { GPUBPF_PASS_##pass, GPUBPF_SIZE_##size },
#include "args.def"
};

static const struct gpubpf_helper helpers[] = {
#define ARG(a) GPUBPF_ARG_##a
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) \
	{ id, #name, GPUBPF_CLASS_##class, GPUBPF_OP_##op, GPUBPF_LEVEL_##level, GPUBPF_RET_##ret, \
	  { ARG(a1), ARG(a2), ARG(a3), ARG(a4), ARG(a5) }, meaning },
#include "gpubpf/helpers.def"
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

_Static_assert(GPUBPF_OPS <= 32, "an operation must fit into a 32-bit set");

const struct gpubpf_op_row *gpubpf_op_row(enum gpubpf_op op)
{
	return &ops[op];
}

const struct gpubpf_arg_row *gpubpf_arg_row(enum gpubpf_arg arg)
{
	return &args[arg];
}

bool gpubpf_map_is_like(const struct gpubpf_map *map, const struct gpubpf_map *prototype)
{
	return map->type == prototype->type && map->key_size == prototype->key_size &&
	       map->value_size == prototype->value_size && map->max_entries == prototype->max_entries &&
	       map->map_flags == prototype->map_flags && map->map_extra == prototype->map_extra && !map->global_data &&
	       !map->kernel;
}

const struct gpubpf_helper *gpubpf_helper_at(size_t i)
{
	return i < COUNT(helpers) ? &helpers[i] : NULL;
}

const struct gpubpf_helper *gpubpf_helper_find(uint32_t id)
{
	for (size_t i = 0; i < COUNT(helpers); i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

static const bool is_kfunc[] = {
#define LIBBPF false
#define KFUNC true
#define HERE(type, name, parameters) false
#define GPUBPF_HELPER(id, name, class, op, level, ret, a1, a2, a3, a4, a5, declared, meaning) declared,
#include "gpubpf/helpers.def"
#undef LIBBPF
#undef KFUNC
#undef HERE
};

const struct gpubpf_helper *gpubpf_kfunc_find(const char *name)
{
	for (size_t i = 0; !strncmp(name, "bpf_", 4) && i < COUNT(helpers); i++)
		if (is_kfunc[i] && !strcmp(helpers[i].name, name + 4))
			return &helpers[i];
	return NULL;
}

enum gpubpf_arg gpubpf_helper_arg(const struct gpubpf_helper *helper, int i, const struct gpubpf_map_type *type)
{
	enum gpubpf_arg arg = helper->arg[i];

	return arg == GPUBPF_ARG_MAP_VALUE_OUT && type && type->flags & GPUBPF_MAP_ASKED ? GPUBPF_ARG_MAP_VALUE : arg;
}

static uint32_t find_arg(const struct gpubpf_helper *helper, enum gpubpf_arg arg)
{
	for (uint32_t i = 0; i < 5; i++)
		if (helper->arg[i] == arg)
			return i + 1;
	return 0;
}

uint32_t gpubpf_helper_map_arg(const struct gpubpf_helper *helper)
{
	return find_arg(helper, GPUBPF_ARG_MAP);
}

uint32_t gpubpf_helper_param_arg(const struct gpubpf_helper *helper)
{
	return find_arg(helper, GPUBPF_ARG_PARAM);
}

uint32_t gpubpf_helper_name_arg(const struct gpubpf_helper *helper)
{
	return find_arg(helper, GPUBPF_ARG_NAME);
}

const struct gpubpf_helper *gpubpf_insn_helper(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_CALL ? gpubpf_helper_find((uint32_t)insn->imm) : NULL;
}

static bool runs(uint32_t id)
{
	const struct gpubpf_helper *helper = gpubpf_helper_find(id);

	return helper && gpubpf_helper_runs(helper);
}

void gpubpf_helper_list(char *buf, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < COUNT(helpers) && at < size; i++) {
		uint32_t first = helpers[i].id, last = first;

		if (!runs(first) || runs(first - 1))
			continue;
		while (runs(last + 1))
			last++;
		at += snprintf(buf + at, size - at,
			       last == first     ? "%s%u" :
			       last == first + 1 ? "%s%u, %u" :
						   "%s%u to %u",
			       at ? ", " : "", first, last);
	}
}

const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc)
{
	const struct gpubpf_line *best = NULL;

	for (uint32_t i = 0; i < prog->nlines && prog->lines[i].pc <= pc; i++)
		best = &prog->lines[i];
	return best;
}
