/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c: stacks that kernels were launched from, and what their addresses are called. What lies where in a process is read
 * when its agent asks for a number, and waits; the files' symbols when somebody wants to see them.
 */
#ifndef GPUBPF_SESSION_STACKS_H
#define GPUBPF_SESSION_STACKS_H

#include "maps/stacks.h"
#include "session.h"

struct json_object;

int gpubpf_stacks_open(struct gpubpf_session *s); /* 0 or -ENOMEM */
/* A peer asks for a number: 0 or -EPROTO. */
int gpubpf_stacks_ask(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r);
void gpubpf_stacks_forget(struct gpubpf_peer *peer); /* it is gone */
void gpubpf_stacks_free(struct gpubpf_session *s);

/* One frame: "main+0x25 (app)", or the file and where in it, or the address. */
void gpubpf_stack_frame(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i, bool demangle, char *buf,
			size_t size);
/* The same as { "address", "symbol", "offset", "module", "module_offset" }, of which the last four may not be there. */
struct json_object *gpubpf_stack_json(struct gpubpf_session *s, const struct gpubpf_stack *stack);
/* Functions alone, the innermost first: "run < main". */
void gpubpf_stack_line(struct gpubpf_session *s, const struct gpubpf_stack *stack, bool demangle, char *buf, size_t size);
/* What an element of a STACK_TRACE stands for; NULL: nothing that is known. */
const struct gpubpf_stack *gpubpf_stack_of(const struct gpubpf_map *map, const void *key);
/* The stack of that id in the only STACK_TRACE that the session has; NULL: it has none, or several. */
const struct gpubpf_stack *gpubpf_stack_by_id(const struct gpubpf_session *s, uint64_t id);

#endif
