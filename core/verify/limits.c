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

/* Returns the size in bytes of the instruction's atomic operation on device memory, or 0. */
static uint32_t atomic_bytes(const struct gpubpf_insn *insn, const struct gpubpf_insn_facts *f)
{
	const struct gpubpf_helper *h = gpubpf_insn_helper(insn);

	if (insn->kind == GPUBPF_INSN_ATOMIC && on_device(f))
		return insn->width;
	return h && h->op == GPUBPF_OP_MAX && f->flags & GPUBPF_FACT_REACHED ? 8 : 0;
}

int gpubpf_limits_check(const struct gpubpf_prog *prog, const struct gpubpf_limits *l, struct gpubpf_diag *diag)
{
	const struct gpubpf_facts *f = prog->facts;

	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		uint32_t bytes = atomic_bytes(&prog->insns[pc], &f->insn[pc]);

		if (bytes > l->atomic_bytes)
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_ATOMIC, pc,
					       "does an atomic of %u bytes; target %s has atomics of at most %u bytes",
					       bytes, l->name, l->atomic_bytes);
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
