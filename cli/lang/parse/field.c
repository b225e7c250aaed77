/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the fields of tracepoints from the files of tracefs that describe them. A field is a number, an address, an array
 * in the record, or a string whose place in the record another field has.
 */
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static FILE *open_format(const char *section)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[512];
	FILE *f = NULL;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !f; i++) {
		snprintf(path, sizeof(path), "%s/events/%.300s/format", roots[i], section + strlen("tracepoint/"));
		f = fopen(path, "re");
	}
	return f;
}

/* a field of a record */
struct field {
	char type[128], name[128];
	unsigned int offset, size, is_signed;
	unsigned int n;    /* number of elements of an array, or 0 */
	bool is_elsewhere; /* the field has the place of its value: offset and size, 16 bits each */
};

/* Returns false if the line describes no field. */
static bool parse_line(const char *line, struct field *f)
{
	char text[128], *type = text, *name, *bracket;

	*f = (struct field){ 0 };
	if (sscanf(line, " field:%127[^;]; offset:%u; size:%u; signed:%u;", text, &f->offset, &f->size, &f->is_signed) != 4)
		return false;
	f->is_elsewhere = !strncmp(type, "__data_loc ", 11);
	type += f->is_elsewhere ? 11 : 0;
	type += strncmp(type, "const ", 6) ? 0 : 6;
	name = strrchr(type, ' ');
	if (!name || !strncmp(type, "__rel_loc ", 10))
		return false;
	*name++ = '\0';
	bracket = strchr(name, '[');
	if (bracket) {
		*bracket = '\0';
		f->n = (unsigned int)strtoul(bracket + 1, NULL, 10);
	}
	snprintf(f->type, sizeof(f->type), "%s", type);
	snprintf(f->name, sizeof(f->name), "%s", name);
	return true;
}

static bool is_number_size(unsigned int bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Return the type of an array field. An array of char is a string. NULL: its elements are no numbers. */
static const struct lang_ctype *array_type(struct lang *l, const struct field *f)
{
	struct lang_ctype *of = lang_alloc(l, sizeof(*of)), *c = lang_alloc(l, sizeof(*c));
	bool is_char = !strcmp(f->type, "char") || !strcmp(f->type, "char[]");
	unsigned int bytes = is_char ? 1 : f->n ? f->size / f->n : 0;

	if (!of || !c || !is_number_size(bytes) || (f->is_elsewhere && !is_char))
		return NULL;
	*of = (struct lang_ctype){ .kind = LANG_C_INT, .bytes = bytes, .is_signed = f->is_signed, .is_char = is_char };
	*c = (struct lang_ctype){ .kind = LANG_C_ARRAY, .of = of, .n = f->n, .bytes = f->is_elsewhere ? 0 : f->size };
	return c;
}

/* Make the node of an array: its address in the record. */
static bool make_array(struct lang_parser *p, const struct field *f, struct lang_node *n)
{
	const struct lang_ctype *c = array_type(p->l, f);

	n->kind = LANG_N_BUILTIN;
	n->builtin = (struct lang_builtin){ "args", LANG_ARRAY, LANG_SOURCE_PLACE, f->offset, f->is_elsewhere ? 4 : 0 };
	n->type = (struct lang_type){ LANG_ARRAY, .c = c, .in_kernel = true };
	return c;
}

static bool make_number(struct lang_parser *p, const struct field *f, struct lang_node *n)
{
	n->a = lang_node(p, LANG_N_BUILTIN, n->pos);
	n->a->builtin = (struct lang_builtin){ "args", LANG_INT, LANG_SOURCE_CTX, f->offset, f->size };
	n->a->type.base = LANG_INT;
	n->type = (struct lang_type){ LANG_INT, f->is_signed };
	n->value = 8 * f->size;
	return is_number_size(f->size);
}

struct lang_node *lang_tracepoint_field(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos);
	const char *section = p->block->probes->linux_section;
	FILE *file = open_format(section);
	struct field field = { 0 };
	bool found = false;
	char line[512];

	p->block->splits = true;
	if (!file)
		lang_fail(p->l, pos, "mount -t tracefs none /sys/kernel/tracing, and check the name of the tracepoint",
			  "the fields of %.100s cannot be read", section);
	while (file && !found && fgets(line, sizeof(line), file))
		found = parse_line(line, &field) && !strcmp(field.name, p->lex.string);
	if (file)
		fclose(file);
	if (!(field.n || field.is_elsewhere ? make_array(p, &field, n) : make_number(p, &field, n)) || !found)
		lang_fail(p->l, p->lex.pos, "the file /sys/kernel/tracing/events/CATEGORY/NAME/format lists the fields",
			  "%.100s has no number, string or array %.60s", p->block->probes->section, p->lex.string);
	lang_next(&p->lex);
	return n;
}
