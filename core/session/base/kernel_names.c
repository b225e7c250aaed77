/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a session knows: their ids, names, parameters, and the targets that built their twins. */
#include "core/session/session.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	const struct gpubpf_kernel_name *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Make room for one more kernel in s->kernel_ids; the array grows by powers of two. */
static bool have_room(struct gpubpf_session *s)
{
	uint32_t n = s->nkernel_ids;
	void *grown;

	if (n == GPUBPF_MAX_KERNEL_IDS)
		return false;
	if (n & (n - 1))
		return true;
	grown = realloc(s->kernel_ids, (n ? n * 2ul : 1) * sizeof(*s->kernel_ids));
	if (grown)
		s->kernel_ids = grown;
	return grown;
}

/* The names are in a balanced tree, because they come from peers that could choose names to make a hash table slow. */
uint32_t gpubpf_kernel_id(struct gpubpf_session *s, const char *text)
{
	struct gpubpf_kernel_name key, *name, **found;

	snprintf(key.text, sizeof(key.text), "%s", text);
	found = tfind(&key, &s->kernel_names, compare_names);
	if (found)
		return (*found)->id;
	if (!have_room(s) || !(name = malloc(sizeof(*name))))
		return UINT32_MAX;
	*name = key;
	name->whole = name->plain = NULL;
	name->route = NULL;
	name->assembler[0] = 0;
	name->signature = NULL;
	name->id = s->nkernel_ids;
	if (!tsearch(name, &s->kernel_names, compare_names)) {
		free(name);
		return UINT32_MAX;
	}
	s->kernel_ids[s->nkernel_ids++] = name;
	return name->id;
}

void gpubpf_kernel_set_full_name(struct gpubpf_session *s, uint32_t id, const char *whole)
{
	if (id < s->nkernel_ids && !s->kernel_ids[id]->whole && strcmp(whole, s->kernel_ids[id]->text))
		s->kernel_ids[id]->whole = strdup(whole);
}

void gpubpf_kernel_set_route(struct gpubpf_session *s, uint32_t id, const char *route, const char *assembler)
{
	if (id >= s->nkernel_ids)
		return;
	s->kernel_ids[id]->route = route;
	snprintf(s->kernel_ids[id]->assembler, sizeof(s->kernel_ids[id]->assembler), "%s", assembler);
}

void gpubpf_kernel_set_signature(struct gpubpf_session *s, uint32_t id, struct gpubpf_signature **signature)
{
	if (id >= s->nkernel_ids || s->kernel_ids[id]->signature)
		return;
	s->kernel_ids[id]->signature = *signature;
	*signature = NULL;
}

const struct gpubpf_signature *gpubpf_kernel_signature(const struct gpubpf_session *s, uint64_t id)
{
	return id < s->nkernel_ids ? s->kernel_ids[id]->signature : NULL;
}

const char *gpubpf_kernel_full_name(const struct gpubpf_session *s, uint64_t id)
{
	if (id >= s->nkernel_ids)
		return "";
	return s->kernel_ids[id]->whole ? s->kernel_ids[id]->whole : s->kernel_ids[id]->text;
}

/* The C++ ABI's demangler from the C++ library. Names come from images; the session shows a name that the demangler
 * rejects as it is. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size, int *status);

const char *gpubpf_kernel_display_name(struct gpubpf_session *s, uint64_t id, bool demangle)
{
	struct gpubpf_kernel_name *name = id < s->nkernel_ids ? s->kernel_ids[id] : NULL;
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
	return id < s->nkernel_ids ? gpubpf_kernel_full_name(s, id) : NULL;
}

static void free_name(void *arg)
{
	struct gpubpf_kernel_name *name = arg;

	free(name->whole);
	free(name->plain);
	free(name->signature);
	free(name);
}

void gpubpf_kernel_ids_free(struct gpubpf_session *s)
{
	tdestroy(s->kernel_names, free_name);
	free(s->kernel_ids);
}
