/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a refusal the registers at the instruction, the source line, and the program. */
#include <stdio.h>
#include <string.h>

#include "verify.h"

static int format_scalar(const struct scalar *s, char *buf, size_t size)
{
	const struct bounds *w = &s->w64;
	char bits[64] = "";

	if (scalar_is_const(s))
		return snprintf(buf, size, "%lld", (long long)w->smin);
	if (!w->umin && w->umax == UINT64_MAX && w->smin == INT64_MIN && w->smax == INT64_MAX && s->var.mask == UINT64_MAX)
		return snprintf(buf, size, "any");
	if (s->var.mask != UINT64_MAX)
		snprintf(bits, sizeof(bits), ", bits 0x%llx/0x%llx", (unsigned long long)s->var.value,
			 (unsigned long long)s->var.mask);
	if (w->smin < 0)
		return snprintf(buf, size, "%lld..%lld%s", (long long)w->smin, (long long)w->smax, bits);
	return snprintf(buf, size, "%llu..%llu%s", (unsigned long long)w->umin, (unsigned long long)w->umax, bits);
}

int reg_format(const struct verifier *v, const struct reg *r, char *buf, size_t size)
{
	static const char *const names[] = {
		[R_UNINIT] = "unset",  [R_SCALAR] = "",   [R_CTX] = "ctx",       [R_MAP] = "map",
		[R_VALUE] = "value",   [R_STACK] = "fp",  [R_RECORD] = "record", [R_KEY] = "key",
		[R_MEM] = "mem",       [R_FUNC] = "func", [R_INT] = "int",       [R_ITER] = "iterator",
		[R_DYNPTR] = "dynptr",
	};
	const struct gpubpf_map *map = reg_map(v, r);
	char var[160] = "", of[80] = "";

	if (r->type == R_UNINIT)
		return snprintf(buf, size, "unset");
	if (r->type == R_SCALAR)
		return format_scalar(&r->s, buf, size);
	if (!scalar_is_zero(&r->s)) {
		var[0] = '+';
		format_scalar(&r->s, var + 1, sizeof(var) - 1);
	}
	if (map)
		snprintf(of, sizeof(of), " of %s", map->name);
	return snprintf(buf, size, "%s%s%+d%s%s", names[r->type], of, r->off, var, r->or_null ? " or NULL" : "");
}

static void format_state(struct verifier *v, char *buf, size_t size)
{
	size_t used = 0;
	char text[256];

	if (!v->cur)
		return;
	for (int r = 0; r < GPUBPF_R10; r++) {
		if (cur_regs(v)[r].type == R_UNINIT)
			continue;
		reg_format(v, &cur_regs(v)[r], text, sizeof(text));
		used += (size_t)snprintf(buf + used, size - used, "%sr%d=%s", used ? " " : "", r, text);
		if (used >= size)
			return;
	}
	if (v->cur->nframes > 1)
		snprintf(buf + used, size - used, " (frame %u)", v->cur->nframes - 1);
}

void report_fill(struct verifier *v)
{
	struct gpubpf_diag *d = v->diag;
	const struct gpubpf_line *line;

	if (!d || d->code == GPUBPF_OK)
		return;
	gpubpf_diag_where(d, "program %s", v->prog->name[0] ? v->prog->name : "(unnamed)");
	format_state(v, d->state, sizeof(d->state));
	line = d->pc == GPUBPF_NOPC ? NULL : gpubpf_prog_line(v->prog, d->pc);
	if (!line)
		return;
	d->line = line->line;
	snprintf(d->file, sizeof(d->file), "%s", line->file ? line->file : "");
	snprintf(d->source, sizeof(d->source), "%s", line->text ? line->text : "");
}
