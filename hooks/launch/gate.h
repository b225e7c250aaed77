/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/launch: the gates of links (core/wire/gate/gate.h). For each launch, the gates admit some of the links
 * whose programs the kernel's twin contains. If they admit only some, the launch needs a twin with these programs.
 */
#ifndef GPUBPF_HOOKS_GATE_H
#define GPUBPF_HOOKS_GATE_H

#include "hooks/agent.h"

/*
 * A twin for a part of the links of a kernel. A launch creates the record, and an agent thread builds the twin. The
 * record lives as long as the dispatch entry.
 */
struct gpubpf_twin_subset {
	struct gpubpf_twin_subset *next;
	_Atomic(const struct gpubpf_hook_binding *) binding; /* NULL: not built yet */
	atomic_uint_fast64_t tried; /* plan generation of the last attempt to build it; GPUBPF_NO_PLAN: none */
	uint32_t registers;         /* as in struct gpubpf_twin_module */
	uint32_t nlinks, links[];
};

/*
 * gate.c: returns the binding that the launch uses: `binding`, or one with a part of its links. Returns NULL if no link
 * is admitted, or if the twin of the part is not built yet. Then l->miss has the reason.
 */
const struct gpubpf_hook_binding *gpubpf_gate_choose(struct gpubpf_hook_launch *l,
						     const struct gpubpf_hook_binding *binding);

/*
 * gate.c: do the gates admit all programs of the launch that the runtime measures? If they do not, l->miss has the
 * reason.
 */
bool gpubpf_gate_admits_timed(struct gpubpf_hook_launch *l);

/* where.c: is the condition, which has n terms, true for the launch? The tool may change the terms meanwhile. */
bool gpubpf_gate_matches(const struct gpubpf_gate_term *terms, uint32_t n, const struct gpubpf_hook_launch *l);

/* subset.c */
/*
 * Returns the binding for the n links of `all` whose index has a bit in `chosen`. If it is not built yet, an agent
 * thread builds it. Then the first launches of the kernel wait for it, and add the time to
 * l->waited_ns. Returns NULL if the binding is not built then.
 */
const struct gpubpf_hook_binding *gpubpf_subset_find(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *all,
						     const uint64_t *chosen, uint32_t n);
void gpubpf_subsets_build(struct gpubpf_dispatch_entry *dispatch); /* in an agent thread: build the missing twins */
void gpubpf_subsets_free(struct gpubpf_dispatch_entry *dispatch);

#endif
