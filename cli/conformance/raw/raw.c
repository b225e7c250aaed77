/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one-thread programs from hex digits. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "core/model/diag.h"
#include "core/load/load.h"

void conformance_fail(struct conformance_case *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (gpubpf_reason_set(c->error, sizeof(c->error), fmt, ap))
		c->error[strcspn(c->error, "\n")] = '\0';
	va_end(ap);
}

static int digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch = tolower((unsigned char)ch);
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* Parse pairs of hex digits. The caller frees the result; NULL: the text is invalid. */
static uint8_t *parse_hex(const char *text, size_t *size)
{
	uint8_t *bytes = calloc(1, strlen(text) / 2 + 16);
	size_t n = 0;

	for (; bytes && *text; text++) {
		int hi, lo;

		if (isspace((unsigned char)*text))
			continue;
		hi = digit(text[0]);
		lo = hi < 0 ? -1 : digit(text[1]);
		if (lo < 0) {
			free(bytes);
			return NULL;
		}
		bytes[n++] = hi << 4 | lo;
		text++;
	}
	*size = n;
	return bytes;
}

static void decode(struct conformance_case *c, size_t size)
{
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (!size || size % sizeof(struct gpubpf_raw_insn)) {
		conformance_fail(c, "the size of a program must be a multiple of 8 bytes; it has %zu bytes", size);
		return;
	}
	if (gpubpf_unit_raw((const struct gpubpf_raw_insn *)c->insns, size / sizeof(struct gpubpf_raw_insn), NULL, 0,
			    &c->unit, &diag) < 0) {
		conformance_fail(c, "instruction %u: %s", diag.pc, diag.what);
		c->rule = gpubpf_error_name(diag.code);
	}
}

void conformance_parse(struct conformance_case *c, const char *mem, const char *program)
{
	size_t size;

	c->mem = parse_hex(mem, &c->mem_size);
	if (!c->mem) {
		conformance_fail(c, "MEM must be pairs of hex digits");
		return;
	}
	c->insns = parse_hex(program, &size);
	if (c->insns)
		decode(c, size);
	else
		conformance_fail(c, "a program must be pairs of hex digits");
}

void conformance_finish(struct conformance_case *c)
{
	if (c->unit.nprogs)
		gpubpf_unit_finish(&c->unit);
	free(c->insns);
	free(c->mem);
	free(c->id);
}
