/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the part of a value that a path such as .a.b[2] names, or the n-th member of a struct. */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "read.h"
#include "typed.h"

#define MAX_MEMBERS (1u << 16) /* maximum number of members visited, because types may nest exponentially */

/* Finds the member of that name, also inside members without a name (anonymous structs and unions). */
static bool find_member(struct reading *r, const struct btf_type *t, const char *name, size_t len, uint64_t bit,
			int depth, struct spot *spot)
{
	for (uint32_t i = 0; i < btf_vlen(t) && depth < GPUBPF_TYPED_DEPTH && r->looked++ < MAX_MEMBERS; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *is = btf__name_by_offset(r->btf, m->name_off);
		const struct btf_type *mt = typed_real_type(r, m->type);
		uint64_t at = bit + btf_member_bit_offset(t, i);

		if (is && is[0] && strlen(is) == len && !memcmp(is, name, len)) {
			*spot = (struct spot){ m->type, at, btf_member_bitfield_size(t, i) };
			return true;
		}
		if (is && !is[0] && mt && btf_is_composite(mt) && find_member(r, mt, name, len, at, depth + 1, spot))
			return true;
	}
	return false;
}

/* Finds the variable of that name in global data. */
static bool find_variable(const struct reading *r, const struct btf_type *t, const char *name, size_t len, struct spot *spot)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = &btf_var_secinfos(t)[i];
		const struct btf_type *var = btf__type_by_id(r->btf, v->type);
		const char *is = var && btf_is_var(var) ? btf__name_by_offset(r->btf, var->name_off) : NULL;

		if (is && strlen(is) == len && !memcmp(is, name, len)) {
			*spot = (struct spot){ var->type, v->offset * 8ull, 0 };
			return true;
		}
	}
	return false;
}

int typed_step_member(struct reading *r, const char **path, struct spot *spot)
{
	const struct btf_type *section = r->btf && spot->type ? btf__type_by_id(r->btf, spot->type) : NULL;
	const struct btf_type *t = typed_real_type(r, spot->type);
	const char *name = *path + 1;
	size_t len = strcspn(name, ".[=");

	r->looked = 0;
	*path = name + len;
	if (section && btf_is_datasec(section))
		return find_variable(r, section, name, len, spot) ?
			       0 :
			       typed_refuse(r, "there is no variable %.*s", (int)len, name);
	if (t && btf_is_array(t))
		return typed_refuse(r, "there is no member %.*s: it is an array; name one element, as in .x[0]=1",
				    (int)len, name);
	if (!t || !btf_is_composite(t) || !find_member(r, t, name, len, spot->bit, 0, spot))
		return typed_refuse(r, "there is no member %.*s", (int)len, name);
	return 0;
}

int typed_step_element(struct reading *r, const char **path, struct spot *spot)
{
	const struct btf_type *t = typed_real_type(r, spot->type);
	const struct btf_array *a = t && btf_is_array(t) ? btf_array(t) : NULL;
	int64_t size = a ? btf__resolve_size(r->btf, a->type) : -1;
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);

	if (*end != ']' || end == *path + 1 || size < 0 || i >= a->nelems)
		return typed_refuse(r, "there is no element %.*s", (int)strcspn(*path, ".="), *path);
	*path = end + 1;
	*spot = (struct spot){ a->type, spot->bit + i * (uint64_t)size * 8, 0 };
	return 0;
}

static bool find_nth(struct reading *r, const struct btf_type *t, uint64_t bit, int depth, uint32_t *n, struct spot *member)
{
	for (uint32_t i = 0; i < btf_vlen(t) && depth < GPUBPF_TYPED_DEPTH && r->looked++ < MAX_MEMBERS; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *is = btf__name_by_offset(r->btf, m->name_off);
		const struct btf_type *mt = typed_real_type(r, m->type);
		uint64_t at = bit + btf_member_bit_offset(t, i);

		if (is && is[0] && !(*n)--) {
			*member = (struct spot){ m->type, at, btf_member_bitfield_size(t, i) };
			return true;
		}
		if (is && !is[0] && mt && btf_is_composite(mt) && find_nth(r, mt, at, depth + 1, n, member))
			return true;
	}
	return false;
}

bool typed_nth_member(struct reading *r, const struct spot *at, uint32_t n, struct spot *member)
{
	const struct btf_type *t = typed_real_type(r, at->type);

	r->looked = 0;
	return t && btf_is_composite(t) && find_nth(r, t, at->bit, 0, &n, member);
}
