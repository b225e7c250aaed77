/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/stacks/stacks.h"
#include "table.h"

#define MAX_FRAMES (sizeof(((struct timeline_stack *)0)->frame) / sizeof(uint32_t))

struct collect_stacks {
	struct timeline *t;
	struct timeline_names *names;
	struct table known; /* id → value of timeline_span.stack */
};

struct collect_stacks *collect_stacks_create(struct timeline *t, struct timeline_names *names)
{
	struct collect_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->t = t;
	stacks->names = names;
	return stacks;
}

void collect_stacks_destroy(struct collect_stacks *stacks)
{
	if (!stacks)
		return;
	table_finish(&stacks->known);
	free(stacks);
}

/* "main+0x25 (app)" becomes "main (app)", so that frames of one function have one name. */
static void remove_offset(char *text)
{
	char *from = strstr(text, "+0x"), *to = from ? strchr(from, ' ') : NULL;

	if (to)
		memmove(from, to, strlen(to) + 1);
}

static uint32_t read_stack(const struct collect_stacks *stacks, struct gpubpf_session *s, const struct gpubpf_stack *stack)
{
	struct timeline_stack frames = { .n = stack->n < MAX_FRAMES ? stack->n : MAX_FRAMES };
	char text[256];

	/* the session's stacks begin with the innermost frame */
	for (uint32_t i = 0; i < frames.n; i++) {
		gpubpf_stack_frame(s, stack, i, true, text, sizeof(text));
		remove_offset(text);
		frames.frame[frames.n - 1 - i] = timeline_name(stacks->names, text);
	}
	return frames.n ? timeline_add_stack(stacks->t, &frames) : 0;
}

uint32_t collect_stack(struct collect_stacks *stacks, struct gpubpf_session *s, uint64_t id)
{
	const struct gpubpf_stack *stack;
	uint32_t value = 0;

	if (id > UINT32_MAX || table_get(&stacks->known, id, 0, &value))
		return value;
	stack = gpubpf_stack_by_id(s, id);
	if (!stack)
		return 0;
	value = read_stack(stacks, s, stack);
	table_set(&stacks->known, id, 0, value);
	return value;
}
