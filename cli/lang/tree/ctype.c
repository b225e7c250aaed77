/* SPDX-License-Identifier: Apache-2.0 */
/* Types of C: numbers, pointers, structs and arrays in the memory of the application or of the Linux kernel. */
#include "cli/lang/lang.h"

#include <string.h>

const struct lang_ctype *lang_ctype_int(struct lang *l, uint32_t bits, bool is_signed)
{
	struct lang_ctype *c = lang_alloc(l, sizeof(*c));

	if (c)
		*c = (struct lang_ctype){ .kind = LANG_C_INT, .bytes = bits / 8, .is_signed = is_signed };
	return c;
}

const struct lang_ctype *lang_ctype_pointer(struct lang *l, const struct lang_ctype *to)
{
	struct lang_ctype *c = lang_alloc(l, sizeof(*c));

	if (c)
		*c = (struct lang_ctype){ .kind = LANG_C_POINTER, .bytes = 8, .of = to };
	return c;
}

struct lang_type lang_address_of(const struct lang_ctype *c)
{
	if (c && c->kind == LANG_C_INT)
		return (struct lang_type){ LANG_ADDRESS, .to = (uint8_t)(8 * c->bytes), .to_signed = c->is_signed };
	return (struct lang_type){ LANG_ADDRESS, .c = c };
}

struct lang_type lang_type_of(struct lang *l, const struct lang_ctype *c)
{
	switch (c->kind) {
	case LANG_C_INT:
		return (struct lang_type){ c->is_bool ? LANG_BOOL : LANG_INT, c->is_signed,
					   .names = c->is_enum ? c : NULL };
	case LANG_C_POINTER:
		return lang_address_of(lang_ctype_target(l, c));
	case LANG_C_RECORD:
		return (struct lang_type){ LANG_RECORD, .c = c };
	default:
		return (struct lang_type){ LANG_ARRAY, .c = c };
	}
}

const struct lang_member *lang_member_find(struct lang *l, const struct lang_ctype *type, const char *name, uint32_t *at)
{
	uint32_t inner = 0;

	if (type->kind != LANG_C_RECORD)
		return NULL;
	if (!type->record->is_known && type->record->btf)
		lang_btf_members(l, (struct lang_record *)type->record);
	for (const struct lang_member *m = type->record->members; m; m = m->next) {
		const struct lang_member *found = m->name[0] ? NULL : lang_member_find(l, m->type, name, &inner);

		if (found || !strcmp(m->name, name)) {
			*at = m->at + inner;
			return found ? found : m;
		}
	}
	return NULL;
}
