/* SPDX-License-Identifier: Apache-2.0 */
#include "param.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/lower.h"
#include "gpubpf/ctx.h"

bool gpubpf_param_is_signed(const struct gpubpf_param *param)
{
	static const char *const names[] = { "int",      "long",   "short",   "char",    "signed", "ptrdiff_t",
					     "intptr_t", "int8_t", "int16_t", "int32_t", "int64_t" };
	const char *first = strncmp(param->type, "const ", 6) ? param->type : param->type + 6;
	size_t n = strcspn(first, " ");

	for (size_t i = 0; param->kind == GPUBPF_PARAM_INT && i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && !strncmp(names[i], first, n))
			return true;
	return false;
}

/* Writes the parameters' names, as in "its parameters are a, b, n". */
static void list(const struct gpubpf_param *params, uint32_t n, char *buf, size_t size)
{
	const char *before = "its parameters are ";
	size_t at = 0;

	snprintf(buf, size, n ? "the names of its parameters are not known; use their numbers" : "it has no parameters");
	for (uint32_t i = 0; i < n && at < size; i++) {
		if (!params[i].name[0])
			continue;
		at += (size_t)snprintf(buf + at, size - at, "%s%s", before, params[i].name);
		before = ", ";
	}
}

int gpubpf_param_find(const struct gpubpf_param *params, uint32_t n, const char *name, struct gpubpf_param_read *read,
		      char *why, size_t size)
{
	const struct gpubpf_param *p = params;
	char all[120];

	while (p < params + n && (!p->name[0] || strcmp(p->name, name)))
		p++;
	if (p == params + n) {
		list(params, n, all, sizeof(all));
		snprintf(why, size, "it has no parameter %.40s: %s", name, all);
	} else if (p->kind == GPUBPF_PARAM_BYTES || p->kind == GPUBPF_PARAM_OPAQUE || !p->size) {
		snprintf(why, size, "its parameter %.40s (%.40s) is not a number", name, p->type);
	} else if (p - params >= GPUBPF_CTX_ARGS) {
		snprintf(why, size, "its parameter %.40s is not one of the first %u parameters, which probes can read",
			 name, GPUBPF_CTX_ARGS);
	} else {
		int64_t bits = p->size < 8 ? 8 * (int64_t)p->size : 64;

		*read = (struct gpubpf_param_read){ (uint32_t)(p - params), gpubpf_param_is_signed(p) ? -bits : bits };
		return 0;
	}
	return -ENOENT;
}

const char *gpubpf_param_name(const struct gpubpf_unit *unit, const struct gpubpf_access *argument)
{
	const struct gpubpf_map *map;

	if (argument->map < 0 || argument->off_min != argument->off_max || argument->off_min < 0)
		return NULL;
	map = &unit->maps[argument->map];
	if (!map->rdonly || !map->init || (uint32_t)argument->off_min >= map->value_size ||
	    !memchr((const char *)map->init + argument->off_min, 0, map->value_size - (uint32_t)argument->off_min))
		return NULL;
	return (const char *)map->init + argument->off_min;
}

int gpubpf_params_fit(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog, const struct gpubpf_param *params,
		      uint32_t n, char *why, size_t size)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[pc]);
		uint32_t arg = helper ? gpubpf_helper_name_arg(helper) : 0;
		struct gpubpf_param_read read;
		const char *name;

		if (!arg || !prog->facts->insn[pc].call)
			continue;
		name = gpubpf_param_name(unit, &prog->facts->insn[pc].call->arg[arg - 1]);
		if (gpubpf_place_kind(prog->site)->operands & GPUBPF_GIVES_CAPTURE) {
			snprintf(why, size, "gpu/%s/ does not provide the kernel's parameters",
				 gpubpf_place_kind(prog->site)->name);
			return -ENOENT;
		}
		if (!name)
			snprintf(why, size,
				 "it reads a parameter by one of several names: call the helper separately for each name");
		if (!name || gpubpf_param_find(params, n, name, &read, why, size) < 0)
			return -ENOENT;
	}
	return 0;
}
