/* SPDX-License-Identifier: Apache-2.0 */
#include "edit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_refuse(struct ptx_splice *in, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	if (in->err)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	gpubpf_diag_where(in->diag, "kernel %s", in->kernel);
	in->err = gpubpf_diag_set(in->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", why);
}

void ptx_add(struct ptx_text *text, int *err, const char *data, size_t n)
{
	if (*err)
		return;
	if (text->room - text->size < n) {
		size_t room = text->room * 2 + n + 256;
		char *grown = realloc(text->data, room);

		if (!grown) {
			*err = -ENOMEM;
			return;
		}
		text->data = grown;
		text->room = room;
	}
	memcpy(text->data + text->size, data, n);
	text->size += n;
}

void ptx_addf(struct ptx_text *text, int *err, const char *fmt, ...)
{
	char buf[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	ptx_add(text, err, buf, n < (int)sizeof(buf) ? (size_t)n : sizeof(buf) - 1);
}

void ptx_edit(struct ptx_splice *in, enum ptx_edit_kind kind, uint32_t first, uint32_t end, struct ptx_text text)
{
	if (!in->err && in->nedits == in->room) {
		size_t room = in->room ? 2 * in->room : 64;
		struct ptx_edit *grown = realloc(in->edits, room * sizeof(*grown));

		if (grown) {
			in->edits = grown;
			in->room = room;
		} else {
			in->err = -ENOMEM;
		}
	}
	if (in->err) {
		free(text.data);
		return;
	}
	in->edits[in->nedits++] = (struct ptx_edit){ kind, first, end, text.data ? text.data : "", text.size };
}

bool ptx_word_is(const struct ptx_splice *in, uint32_t token, const char *word)
{
	return ptx_token_is(in->m, token, word);
}

bool ptx_has_modifier(const struct ptx_splice *in, const struct ptx_node *insn, const char *modifier)
{
	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		if (ptx_word_is(in, t, modifier))
			return true;
	return false;
}
