/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the clock of helper 502 for each program. Helper 5 returns CLOCK_MONOTONIC in all programs. Helper 502 returns
 * CLOCK_MONOTONIC too, or CLOCK_REALTIME like NVIDIA's %globaltimer.
 */
#include "internal.h"

#include <string.h>

#include <bpf/btf.h>

#include "core/model/diag.h"

#define HELPER_KTIME 5
#define HELPER_GLOBALTIMER 502
#define TAG "gpubpf:clock="
#define LOADER_NAME (BPF_OBJ_NAME_LEN - 1) /* characters of a program's name that bpf(2) accepts */

enum base { BY_SECTION, MONOTONIC, REALTIME, UNKNOWN };

static enum base find_base(const char *name, size_t size)
{
	static const char *const names[] = { [MONOTONIC] = "monotonic", [REALTIME] = "realtime" };

	for (size_t i = MONOTONIC; i < UNKNOWN; i++)
		if (strlen(names[i]) == size && !memcmp(names[i], name, size))
			return (enum base)i;
	return UNKNOWN;
}

/* Returns the base of an item [PROG=]BASE. Stores the length of PROG, or 0. */
static enum base parse_item(const char *item, size_t size, size_t *prog)
{
	const char *equals = memchr(item, '=', size);
	size_t skip = equals ? (size_t)(equals - item) + 1 : 0;

	*prog = skip ? skip - 1 : 0;
	return skip == 1 ? UNKNOWN : find_base(item + skip, size - skip);
}

bool gpubpf_clock_is_valid(const char *list)
{
	size_t size, prog;

	for (bool more = true; more; list += size + more) {
		size = strcspn(list, ",");
		more = list[size];
		if (parse_item(list, size, &prog) == UNKNOWN)
			return false;
	}
	return true;
}

/* bpf(2) shortens names, so a name of this length is the beginning of `whole`. */
static bool is_named(const char *name, const char *whole, size_t size)
{
	return (strlen(name) == size && !strncmp(name, whole, size)) ||
	       (strlen(name) == LOADER_NAME && size > LOADER_NAME && !strncmp(name, whole, LOADER_NAME));
}

/* Returns the list's base for the program. An item with the program's name has precedence. */
static enum base base_in_list(const char *list, const char *name)
{
	enum base all = BY_SECTION, own = BY_SECTION, base;
	size_t size, prog;

	for (; list && *list; list += size + (list[size] == ',')) {
		size = strcspn(list, ",");
		base = parse_item(list, size, &prog);
		if (!prog)
			all = base;
		else if (is_named(name, list, prog))
			own = base;
	}
	return own == BY_SECTION ? all : own;
}

/* Returns the base that GPUBPF_CLOCK() of <gpubpf/clock.h> states at the program's function. */
static enum base base_in_types(const struct btf *btf, const char *name)
{
	uint32_t n = btf ? btf__type_cnt(btf) : 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const struct btf_type *of = btf_is_decl_tag(t) ? btf__type_by_id(btf, t->type) : NULL;
		const char *tag = of && btf_is_func(of) ? btf__name_by_offset(btf, t->name_off) : NULL;
		const char *function = tag ? btf__name_by_offset(btf, of->name_off) : NULL;

		if (function && !strncmp(tag, TAG, strlen(TAG)) && is_named(name, function, strlen(function)))
			return find_base(tag + strlen(TAG), strlen(tag) - strlen(TAG));
	}
	return BY_SECTION;
}

int gpubpf_clock_choose(const struct gpubpf_loading *l, struct gpubpf_prog *prog, const char *list, bool monotonic)
{
	enum base base = base_in_list(list, prog->name);

	if (base == BY_SECTION)
		base = base_in_types(l->btf, prog->name);
	if (base == UNKNOWN)
		return gpubpf_diag_set(l->diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
				       "program %s: unknown clock; use GPUBPF_CLOCK(\"monotonic\") or "
				       "GPUBPF_CLOCK(\"realtime\")",
				       prog->name);
	if (base == BY_SECTION ? !monotonic : base == REALTIME)
		return 0;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_CALL && prog->insns[pc].imm == HELPER_GLOBALTIMER)
			prog->insns[pc].imm = HELPER_KTIME;
	return 0;
}
