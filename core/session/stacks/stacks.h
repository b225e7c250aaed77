/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implemented in stacks.c. Host stacks of kernel launches, and the symbols of their addresses. When an agent requests a
 * number for a stack, the session reads the mappings of the agent's process; the agent waits for the answer. The
 * session reads symbols of files only when a report shows stacks.
 */
#ifndef GPUBPF_SESSION_STACKS_H
#define GPUBPF_SESSION_STACKS_H

#include "maps/host/stacks.h"
#include "core/session/session.h"

struct json_object;

int gpubpf_session_stacks_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_session_stacks_destroy(struct gpubpf_session *s);

/* Returns the table of stacks, which maps of stacks use. */
struct gpubpf_stacks *gpubpf_session_stack_table(const struct gpubpf_session *s);
/*
 * Answer a peer's request for the number of a stack. Returns 0, or -errno, after which the caller closes the
 * connection.
 */
int gpubpf_stacks_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r);
void gpubpf_stacks_forget_peer(struct gpubpf_peer *peer); /* call it when the peer is closed */

/* Format one frame: "main+0x25 (app)", or the file and the offset in it, or the address. */
void gpubpf_stack_frame(struct gpubpf_session *s, const struct gpubpf_stack *stack, uint32_t i, bool demangle,
			char *buf, size_t size);
/*
 * Returns all frames as an array of { "address", "symbol", "offset", "module", "module_offset" }. The last four members
 * may be missing.
 */
struct json_object *gpubpf_stack_json(struct gpubpf_session *s, const struct gpubpf_stack *stack);
/* Format all frames in one line, only with function names, the innermost first: "run < main". */
void gpubpf_stack_line(struct gpubpf_session *s, const struct gpubpf_stack *stack, bool demangle, char *buf, size_t size);
/* Like gpubpf_stack_line(), with demangled names. Returns a buffer of the session that the next call overwrites. */
const char *gpubpf_stack_text(struct gpubpf_session *s, const struct gpubpf_stack *stack);

#endif
