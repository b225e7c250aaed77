/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c: host stacks of kernel launches, and the symbols of their addresses. The session reads a process's mappings
 * when its agent requests a number for a stack; the agent waits for the answer. The session reads the symbols of files
 * when a report shows stacks.
 */
#ifndef GPUBPF_SESSION_STACKS_H
#define GPUBPF_SESSION_STACKS_H

#include "maps/host/stacks.h"
#include "core/session/session.h"

struct json_object;

int gpubpf_stacks_open(struct gpubpf_session *s); /* 0 or -ENOMEM */
/* Answer a peer's request for the number of a stack: 0 or -EPROTO. */
int gpubpf_stacks_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r);
void gpubpf_stacks_forget_peer(struct gpubpf_peer *peer); /* call it when the peer is closed */
void gpubpf_stacks_free(struct gpubpf_session *s);

/* One frame: "main+0x25 (app)", or the file and the offset in it, or the address. */
void gpubpf_stack_frame(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i, bool demangle,
			char *buf, size_t size);
/* All frames, an array of { "address", "symbol", "offset", "module", "module_offset" }; the last four members may be
 * missing. */
struct json_object *gpubpf_stack_json(struct gpubpf_session *s, const struct gpubpf_stack *stack);
/* All frames in one line, only with function names, the innermost first: "run < main". */
void gpubpf_stack_line(struct gpubpf_session *s, const struct gpubpf_stack *stack, bool demangle, char *buf, size_t size);
/* The stack of an element of a STACK_TRACE; NULL: not known. */
const struct gpubpf_stack *gpubpf_stack_by_key(const struct gpubpf_map *map, const void *key);
/* The stack of that id in the session's only STACK_TRACE, or NULL if there is not exactly one. */
const struct gpubpf_stack *gpubpf_stack_by_id(const struct gpubpf_session *s, uint64_t id);

#endif
