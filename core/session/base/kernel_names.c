/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a table of the GPU kernels that a session knows. Per kernel: id, name, parameters, and the target that built
 * its twin.
 */
#include "core/session/private.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct gpubpf_kernel_name {
	uint32_t id;
	char text[256]; /* the short name, possibly truncated, under which agents count launches */
	/*
	 * The untruncated name is in `whole`, which is NULL if it equals `text`. The demangled name is in `plain`,
	 * which is NULL until a report needs it.
	 */
	char *whole, *plain;
	const char *route;  /* the target that built the kernel's twin; NULL: no twin */
	char assembler[32]; /* the user's assembler that turned the twin's PTX into machine code; "": none */
	struct gpubpf_signature *signature; /* NULL: not known */
};

struct session_kernels {
	struct gpubpf_kernel_name **ids; /* [n], indexed by id */
	uint32_t n;
	void *names; /* tree of the same kernels by name, for tsearch(3) */
};

int gpubpf_kernels_create(struct gpubpf_session *s)
{
	s->kernels = calloc(1, sizeof(*s->kernels));
	return s->kernels ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	const struct gpubpf_kernel_name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/*
 * Make room for one more kernel in ids[]. The array grows by powers of two. Returns false if the table is full or
 * memory is short.
 */
static bool have_room(struct gpubpf_session *s)
{
	uint32_t n = s->kernels->n;
	void *grown;

	if (n == GPUBPF_MAX_KERNEL_IDS)
		return false;
	if (n & (n - 1))
		return true;
	grown = realloc(s->kernels->ids, (n ? n * 2ul : 1) * sizeof(*s->kernels->ids));
	if (grown)
		s->kernels->ids = grown;
	return grown;
}

/*
 * Looks the name up in a balanced tree. A peer chooses the names, and could choose them so that all collide in a hash
 * table.
 */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *text)
{
	struct gpubpf_kernel_name key, *name, **found;

	snprintf(key.text, sizeof(key.text), "%s", text);
	found = tfind(&key, &s->kernels->names, compare_names);
	if (found)
		return (*found)->id;
	if (!have_room(s) || !(name = malloc(sizeof(*name))))
		return UINT32_MAX;
	*name = key;
	name->whole = name->plain = NULL;
	name->route = NULL;
	name->assembler[0] = 0;
	name->signature = NULL;
	name->id = s->kernels->n;
	if (!tsearch(name, &s->kernels->names, compare_names)) {
		free(name);
		return UINT32_MAX;
	}
	s->kernels->ids[s->kernels->n++] = name;
	return name->id;
}

void gpubpf_kernel_set_full_name(struct gpubpf_session *s, uint32_t id, const char *whole)
{
	if (id < s->kernels->n && !s->kernels->ids[id]->whole && strcmp(whole, s->kernels->ids[id]->text))
		s->kernels->ids[id]->whole = strdup(whole);
}

void gpubpf_kernel_set_route(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler)
{
	if (id >= s->kernels->n)
		return;
	s->kernels->ids[id]->route = route;
	snprintf(s->kernels->ids[id]->assembler, sizeof(s->kernels->ids[id]->assembler), "%s", assembler);
}

void gpubpf_kernel_set_signature(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature)
{
	if (id >= s->kernels->n || s->kernels->ids[id]->signature)
		return;
	s->kernels->ids[id]->signature = *signature;
	*signature = NULL;
}

const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->kernels->n ? s->kernels->ids[id]->signature : NULL;
}

const char *gpubpf_kernel_full_name(const struct gpubpf_session *s, uint64_t id)
{
	if (id >= s->kernels->n)
		return "";
	return s->kernels->ids[id]->whole ? s->kernels->ids[id]->whole : s->kernels->ids[id]->text;
}

/* The demangler of the C++ ABI, from the C++ library. If it rejects a name, the session shows the mangled name. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size, int *status);

const char *gpubpf_kernel_display_name(struct gpubpf_session *s, uint64_t id, bool demangle)
{
	struct gpubpf_kernel_name *name = id < s->kernels->n ? s->kernels->ids[id] : NULL;
	const char *whole = gpubpf_kernel_full_name(s, id);
	int status;

	if (!demangle || strncmp(whole, "_Z", 2))
		return whole;
	if (!name->plain)
		name->plain = __cxa_demangle(whole, NULL, NULL, &status);
	return name->plain ? name->plain : whole;
}

const char *gpubpf_session__kernel_name(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->kernels->n ? gpubpf_kernel_full_name(s, id) : NULL;
}

static void free_name(void *arg)
{
	struct gpubpf_kernel_name *name = arg;

	free(name->whole);
	free(name->plain);
	free(name->signature);
	free(name);
}

void gpubpf_kernels_destroy(struct gpubpf_session *s)
{
	if (!s->kernels)
		return;
	tdestroy(s->kernels->names, free_name);
	free(s->kernels->ids);
	free(s->kernels);
	s->kernels = NULL;
}

uint32_t gpubpf_kernels_count(const struct gpubpf_session *s)
{
	return s->kernels->n;
}

const char *gpubpf_kernel_route(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->kernels->n && s->kernels->ids[id]->route ? s->kernels->ids[id]->route : "";
}

const char *gpubpf_kernel_assembler(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->kernels->n ? s->kernels->ids[id]->assembler : "";
}
