/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the formats of helpers that print or write text (6, 165, 177), and the texts that %s prints. */
#include <string.h>

#include "core/model/text/print_spec.h"
#include "core/verify/verify.h"

#define FORMAT_MAX 128 /* maximum length of a format that the verifier parses */
#define WRITTEN "diuxXpc" /* conversions of helper 165 */

/* Returns the maximum number of arguments of the helper's format. */
static int get_max_values(const struct gpubpf_helper *h)
{
	return h->arg[2] == GPUBPF_ARG_MEM_RD ? GPUBPF_PRINT_MANY : GPUBPF_PRINT_ARGS;
}

static int refuse_format(struct verifier *v, int values, const char *what, int size, const char *text)
{
	gpubpf_diag_remedy(v->diag,
			   "use %%d %%i %%u %%x %%X %%c %%s %%p, with l or ll, and %%f %%e %%g; at most %d values",
			   values);
	return refuse(v, GPUBPF_E_HELPER_ARG, "%s: '%.*s'", what, size, text);
}

/* Returns the constant text to which a register points, or NULL. *room is the number of bytes up to the map's end. */
static const char *find_constant_text(const struct verifier *v, const struct reg *p, uint64_t *room)
{
	const struct gpubpf_map *map = p->type == R_VALUE ? reg_map(v, p) : NULL;
	int64_t lo, hi;

	if (v->opts.any_ctx || !map || !map->rdonly || !map->init || ptr_offset(p, 0, &lo, &hi) < 0 || lo != hi ||
	    lo < 0 || lo >= map->value_size)
		return NULL;
	*room = map->value_size - (uint64_t)lo;
	return (const char *)map->init + lo;
}

/* Copies the text of a constant format in r1, of the size in r2, to text[]. Returns false if the text is not known. */
static bool format_text(struct verifier *v, char text[FORMAT_MAX])
{
	const struct reg *n = &cur_regs(v)[GPUBPF_R2];
	uint64_t room;
	const char *constant = find_constant_text(v, &cur_regs(v)[GPUBPF_R1], &room);

	memset(text, 0, FORMAT_MAX);
	if (!constant || !scalar_is_const(&n->s) || n->s.var.value >= FORMAT_MAX || n->s.var.value > room)
		return false;
	memcpy(text, constant, n->s.var.value);
	return true;
}

int format_check(struct verifier *v, const struct gpubpf_helper *h)
{
	char text[FORMAT_MAX];
	int used = 0;

	if (!format_text(v, text))
		return 0;
	for (const char *at = text; (at = strchr(at, '%'));) {
		const char *begin = at;
		struct gpubpf_print_spec spec = gpubpf_print_spec(&at);

		used += spec.conv && spec.conv != '%';
		if (!spec.conv)
			return refuse_format(v, get_max_values(h), "uses an unknown conversion",
					     (int)(at - begin) + !!*at, begin);
		if (used > get_max_values(h))
			return refuse_format(v, get_max_values(h), "uses more conversions than a format may have",
					     FORMAT_MAX, text);
	}
	return 0;
}

bool format_prints_text(struct verifier *v, int value)
{
	char text[FORMAT_MAX];
	const char *at = text;

	if (!format_text(v, text))
		return false;
	while ((at = strchr(at, '%'))) {
		struct gpubpf_print_spec spec = gpubpf_print_spec(&at);

		if (spec.conv && spec.conv != '%' && !value--)
			return spec.conv == 's';
	}
	return false;
}

int format_check_text(struct verifier *v, const struct reg *p, int i, const struct gpubpf_helper *h)
{
	struct gpubpf_access a = { .align = 1, .map = GPUBPF_NO_MAP };
	int err;

	if (p->or_null)
		return refuse(v, GPUBPF_E_NULL_DEREF, "passes a pointer to %s that may be NULL as argument %d of %s",
			      type_name(p), i + 1, h->name);
	err = check_region(v, p, 0, 1, false, h->name, &a);
	if (err >= 0 && p->map >= 0)
		v->facts->map_use[p->map] |= GPUBPF_USE_READ;
	return err;
}

/* Returns true if r3 points to whole slots of the stack, at a constant offset. */
static bool is_array_of_words(struct verifier *v)
{
	const struct reg *p = &cur_regs(v)[GPUBPF_R3];
	int64_t lo, hi;

	return p->type == R_STACK && ptr_offset(p, 0, &lo, &hi) >= 0 && lo == hi && lo % 8 == 0;
}

/* Returns the pointer that is spilled to word i of the array in r3, or NULL. */
static const struct reg *get_array_pointer(struct verifier *v, int i)
{
	const struct reg *p = &cur_regs(v)[GPUBPF_R3];
	const struct stack_slot *slot;
	int64_t lo, hi;

	if (p->type != R_STACK || ptr_offset(p, 8 * i, &lo, &hi) < 0 || lo != hi || lo % 8 || lo >= 0 ||
	    lo < -GPUBPF_STACK_SIZE)
		return NULL;
	slot = slot_of(v->cur->frame[p->frame], (int)lo);
	return slot && slot->kind[0] == B_SPILL && reg_is_ptr(&slot->reg) ? &slot->reg : NULL;
}

int format_check_texts(struct verifier *v, const struct gpubpf_helper *h)
{
	const struct reg *size = &cur_regs(v)[GPUBPF_R4];
	uint64_t bytes = size->type == R_SCALAR && scalar_is_const(&size->s) ? size->s.var.value : 0;
	bool known = bytes && bytes % 8 == 0 && bytes <= 8 * GPUBPF_PRINT_MANY && is_array_of_words(v), all = known;

	for (int i = 0; all && (uint64_t)i < bytes / 8; i++) {
		const struct reg *p = get_array_pointer(v, i);
		bool is_text = p && p->type == R_VALUE && format_prints_text(v, i);
		int err = is_text ? format_check_text(v, p, 2, h) : 0;

		if (err < 0)
			return err;
		all = !p || is_text;
	}
	if (known && !all && !v->opts.allow_ptr_leaks)
		gpubpf_diag_remedy(v->diag, "print numbers, and text of constants and maps by %%s of a constant format");
	v->reads_texts = all;
	return 0;
}

static int refuse_written(struct verifier *v, const char *what)
{
	gpubpf_diag_remedy(v->diag,
			   "use %%d %%i %%u %%x %%X %%p and %%c of a constant format, with one value for each; copy text with "
			   "bpf_probe_read_kernel_str()");
	return refuse(v, GPUBPF_E_HELPER_ARG, "%s", what);
}

/* Checks the format of helper 165, by which the device writes a text. */
int format_check_written(struct verifier *v, const struct gpubpf_helper *h)
{
	const struct reg *size = &cur_regs(v)[GPUBPF_R5];
	uint64_t room = 0, used = 0;
	const char *text, *at;

	if (h->arg[2] != GPUBPF_ARG_STR || h->arg[3] != GPUBPF_ARG_MEM_RD || v->opts.any_ctx)
		return 0;
	text = at = find_constant_text(v, &cur_regs(v)[GPUBPF_R3], &room);
	if (!text || !scalar_is_const(&size->s))
		return refuse_written(v, "writes text by a format that is not constant");
	while ((at = strchr(at, '%'))) {
		struct gpubpf_print_spec spec = gpubpf_print_spec(&at);

		if (!spec.conv || strchr(spec.flags, '.') || !strchr(WRITTEN "%", spec.conv) || at[-1] != spec.conv ||
		    (spec.conv == '%' && (spec.flags[1] || spec.longs)))
			return refuse_written(v, "writes text by a conversion that the device cannot write");
		used += spec.conv != '%';
	}
	mark_reg(v, size);
	if (used > GPUBPF_PRINT_MANY || size->s.var.value != 8 * used)
		return refuse_written(
			v, "writes text by a format whose number of conversions differs from the number of values");
	return 0;
}
