/* SPDX-License-Identifier: Apache-2.0 */
/* Checks words such as arg0 and duration: whether the places of a block provide them. This is a part of the pass in check.c. */
#include "check.h"

#include <string.h>

#include "core/model/places.h"
#include "gpubpf/ctx.h"

/* Return the set of operands that a place must have, so that the word is valid there. */
static uint32_t required_operands(const struct lang_builtin *b)
{
	const char *field = b->source == LANG_SOURCE_CTX ? lang_place_field(b->at) : NULL;

	return field ? 1u << gpubpf_operand_of(field) : 0;
}

#define FIELD(name) offsetof(struct gpubpf_ctx, name)

/* In host/ probes, some words have another source: the thread that calls, and the duration and result of the call. */
static void adapt_to_host(const struct check *c, struct lang_builtin *b)
{
	static const struct {
		const char *word;
		uint32_t at, size;
	} words[] = {
		{ "tid", FIELD(host.tid), 4 },
		{ "duration", FIELD(done.duration), 8 },
		{ "retval", FIELD(done.result), 8 },
	};

	for (size_t i = 0;
	     i < sizeof(words) / sizeof(words[0]) && c->block && c->block->probes && c->block->probes->host; i++)
		if (!strcmp(words[i].word, b->name)) {
			b->source = LANG_SOURCE_CTX;
			b->at = words[i].at;
			b->size = words[i].size;
		}
}

/* Returns true if a host/ probe does not have the field of the context. */
static bool lacks_field(const struct lang_probe *p, const struct lang_builtin *b)
{
	return p->host && (b->source == LANG_SOURCE_CTX || b->source == LANG_SOURCE_TRIPLE) &&
	       !lang_place_field(b->at) && !gpubpf_host_provides(p->host, b->at);
}

/*
 * Refuse a word if a place of the block does not provide the word's field. Otherwise the field would read as 0, which
 * is misleading.
 */
static void check_place(struct check *c, const struct lang_node *n)
{
	const struct lang_builtin *b = &n->builtin;

	for (const struct lang_probe *p = c->block->probes; p; p = p->next) {
		const struct gpubpf_place_kind *kind = p->when == LANG_ON_DEVICE ? gpubpf_place_kind(p->site) : NULL;
		char what[200];

		if (!kind)
			continue;
		if (required_operands(b) & ~kind->operands || lacks_field(p, b))
			snprintf(what, sizeof(what), "%s is not available at %.100s", b->name, p->section);
		else if (b->source == LANG_SOURCE_CTX && b->base == LANG_NAME && kind->where != GPUBPF_WHERE_FUNCTION &&
			 kind->where != GPUBPF_WHERE_HOST)
			snprintf(what, sizeof(what), "func is not available at %.100s", p->section);
		else if (b->source == LANG_SOURCE_DURATION && p->site != GPUBPF_SITE_EXIT)
			snprintf(what, sizeof(what), "duration is only available at gpu/exit/, not at %.100s", p->section);
		else
			continue;
		check_fail(c, n,
			   b->source == LANG_SOURCE_DURATION ? "use nsecs, or write a gpu/exit/ probe" :
			   b->base == LANG_NAME              ? "use kernel, the kernel's name" :
							       "gpubpf-prog(8) lists the fields of each place",
			   what);
	}
}

struct lang_type check_builtin(struct check *c, struct lang_node *n)
{
	struct lang_builtin *b = &n->builtin;
	struct lang_type type = { 0 };
	const struct lang_record *task;
	bool anywhere = b->source == LANG_SOURCE_PROBE || b->source == LANG_SOURCE_HOST ||
			b->source == LANG_SOURCE_ELAPSED ||
			(b->source == LANG_SOURCE_HELPER && (b->at == 5 || b->at == 7));

	if (b->source == LANG_SOURCE_PLACE)
		return n->type;
	if (c->host && !anywhere)
		lang_fail(c->l, n->pos, "use it in a gpu/ probe",
			  "%s is for GPU probes, not for BEGIN, END and interval", b->name);
	adapt_to_host(c, b);
	type.base = b->base;
	type.is_signed = b->source == LANG_SOURCE_NAMED;
	check_place(c, n);
	c->l->stacks |= b->source == LANG_SOURCE_STACK;
	if (b->source == LANG_SOURCE_DURATION)
		c->block->duration = c->l->durations = true;
	if (b->source == LANG_SOURCE_FRAMES) {
		type.bytes = (uint32_t)n->value;
		type.in_kernel = !b->at;
	}
	if (b->base == LANG_LABEL)
		type.label = LANG_LABEL_USER;
	if (b->source == LANG_SOURCE_HELPER && b->base == LANG_ADDRESS) {
		task = lang_btf_record(c->l, "struct task_struct");
		type.c = task ? &task->type : NULL;
		type.in_kernel = true;
	}
	return type;
}
