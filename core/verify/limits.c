/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a program against the limits of one target. These limits may be lower than the verifier's own limits. */
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/prog.h"

const struct gpubpf_limits *gpubpf_limits_at(size_t i)
{
	static const struct gpubpf_limits targets[] = {
#define GPUBPF_LIMITS(name, atomic_bytes, stack, frames, source) { name, atomic_bytes, stack, frames },
#include "core/model/limits.def"
	};

	return i < sizeof(targets) / sizeof(targets[0]) ? &targets[i] : NULL;
}

const struct gpubpf_limits *gpubpf_limits_find(const char *name)
{
	const struct gpubpf_limits *l = NULL;

	for (size_t i = 0; (l = gpubpf_limits_at(i)) && strcmp(l->name, name);)
		i++;
	return l;
}

static bool on_device(const struct gpubpf_insn_facts *f)
{
	return (f->flags & GPUBPF_FACT_REACHED) && (f->mem.spaces & ~GPUBPF_SPACE_STACK);
}

int gpubpf_limits_check(const struct gpubpf_prog *prog, const struct gpubpf_limits *l, struct gpubpf_diag *diag)
{
	const struct gpubpf_facts *f = prog->facts;

	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn *insn = &prog->insns[pc];

		if (insn->kind == GPUBPF_INSN_ATOMIC && insn->width > l->atomic_bytes && on_device(&f->insn[pc]))
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_ATOMIC, pc,
					       "does an atomic of %u bytes; target %s has atomics of at most %u bytes",
					       insn->width, l->name, l->atomic_bytes);
	}
	if (f->stack > l->stack)
		return gpubpf_diag_set(diag, GPUBPF_E_STACK_DEPTH, GPUBPF_NOPC,
				       "the deepest call chain takes %u bytes of stack; a thread of target %s has %u",
				       f->stack, l->name, l->stack);
	if (f->frames > l->frames)
		return gpubpf_diag_set(diag, GPUBPF_E_CALL_DEPTH, GPUBPF_NOPC,
				       "calls nest %u frames deep; target %s has %u", f->frames, l->name, l->frames);
	return 0;
}
