/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TWIN_ENTRY_MIN 28 /* bytes of one twin's entry in a message, without its strings */

/* Read a string of any length. Returns a malloc'd copy, or NULL on failure. */
static char *get_text(struct gpubpf_reader *r)
{
	size_t size;
	const char *at = gpubpf_get_bytes(r, &size);
	char *text;

	if (!at || memchr(at, 0, size)) {
		r->failed = true;
		return NULL;
	}
	text = strndup(at, size);
	if (!text)
		r->failed = true;
	return text;
}

int gpubpf_welcome_parse(struct gpubpf_reader *r, struct gpubpf_welcome *welcome)
{
	struct gpubpf_welcome w = { 0 };

	w.process = gpubpf_get_u32(r);
	w.wait_ms = gpubpf_get_u32(r);
	w.sample = gpubpf_get_u64(r);
	w.first = gpubpf_get_u64(r);
	w.flags = gpubpf_get_u32(r);
	if (r->failed)
		return -EPROTO;
	if (!w.sample)
		w.sample = 1;
	*welcome = w;
	return 0;
}

int gpubpf_arena_parse(struct gpubpf_reader *r, uint32_t device, bool has_fd, struct gpubpf_arena_answer *a)
{
	*a = (struct gpubpf_arena_answer){ 0 };
	if (gpubpf_get_u32(r) != device)
		return -EPROTO;
	a->size = gpubpf_get_u64(r);
	a->layout_hash = gpubpf_get_u64(r);
	gpubpf_get_str(r, a->reason, sizeof(a->reason));
	if (has_fd)
		a->reason[0] = 0;
	else if (!r->failed && !a->reason[0])
		strcpy(a->reason, "the session has no memory for maps on this device");
	return r->failed ? -EPROTO : 0;
}

void gpubpf_twin_finish(struct gpubpf_twin_answer *answer)
{
	free(answer->options);
	free(answer->entries);
	*answer = (struct gpubpf_twin_answer){ 0 };
}

static void parse_entry(struct gpubpf_reader *r, struct gpubpf_twin_entry *e)
{
	gpubpf_get_str(r, e->name, sizeof(e->name));
	e->id = gpubpf_get_u64(r);
	gpubpf_get_str(r, e->twin, sizeof(e->twin));
	e->flags = gpubpf_get_u32(r);
	e->nparams = gpubpf_get_u32(r);
	gpubpf_get_str(r, e->reason, sizeof(e->reason));
}

int gpubpf_twin_parse(struct gpubpf_reader *r, struct gpubpf_twin_answer *answer)
{
	struct gpubpf_twin_answer a = { 0 };

	a.kind = gpubpf_get_u32(r);
	a.options = get_text(r);
	a.n = gpubpf_get_count(r, TWIN_ENTRY_MIN);
	a.entries = calloc(a.n + 1, sizeof(*a.entries));
	for (uint32_t i = 0; a.entries && i < a.n && !r->failed; i++)
		parse_entry(r, &a.entries[i]);
	gpubpf_get_str(r, a.reason, sizeof(a.reason));
	a.compile_ns = gpubpf_get_u64(r);
	/* tools with an older minor protocol version do not send this byte */
	a.is_cached = !r->failed && r->at < r->end && gpubpf_get_u8(r);
	a.code_size = !r->failed && r->at < r->end ? gpubpf_get_u64(r) : 0;
	if (r->failed || !a.entries) {
		gpubpf_twin_finish(&a);
		return -EPROTO;
	}
	*answer = a;
	return 0;
}
