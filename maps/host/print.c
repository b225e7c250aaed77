/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats records of the print ring (maps/device/print.h), by the rules of core/model/text/print_spec.h. Floating-point
 * conversions read the bits of a float or a double, as programs find them in the context. The output contains no
 * control characters except newlines and tabs, because the text comes from the application.
 */
#include "maps/maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/model/facts.h"
#include "core/model/text/print_spec.h"
#include "host.h"

#define STRING_MAX 128 /* limit of the bytes that a %s prints */

_Static_assert(sizeof(struct gpubpf_print_bytes) == GPUBPF_PRINT_HEAD, "offsets in print.h");

struct out {
	char *text;
	size_t size, used;
};

struct source { /* The read-only maps that contain the strings of %s. */
	const char *arena;
	const struct gpubpf_layout *layout;
	uint64_t base; /* device address of the arena, from the record */
};

static void put_char(struct out *out, char c)
{
	if ((unsigned char)c < ' ' && c != '\n' && c != '\t')
		c = '.';
	if (c == 0x7f)
		c = '.';
	if (out->used + 1 < out->size)
		out->text[out->used++] = c;
}

static void put_text(struct out *out, const char *text, size_t size)
{
	while (size-- && *text)
		put_char(out, *text++);
}

/* Print the string at a device address in a read-only map. */
static void put_string(struct out *out, const struct source *source, uint64_t address)
{
	uint64_t off = address - source->base, i;

	if (address < GPUBPF_PTR_LIMIT || off < GPUBPF_ARENA_MAPS || off >= source->layout->size) {
		put_text(out, address ? "(not in a map)" : "(null)", 16);
		return;
	}
	for (i = 0; i < STRING_MAX && off + i < source->layout->size && source->arena[off + i]; i++)
		put_char(out, source->arena[off + i]);
}

static void put_number(struct out *out, const struct gpubpf_print_spec *spec, uint64_t arg)
{
	char format[32], text[1024];

	if (!spec->longs)
		arg = spec->conv == 'd' || spec->conv == 'i' ? (uint64_t)(int64_t)(int32_t)arg : (uint32_t)arg;
	snprintf(format, sizeof(format), "%sll%c", spec->flags, spec->conv);
	if (snprintf(text, sizeof(text), format, (unsigned long long)arg) > 0)
		put_text(out, text, sizeof(text));
}

/*
 * Print a floating-point argument. It is a float if the upper 32 bits are 0, else a double. A double with these bits
 * would be 0 or denormal, which programs do not print.
 */
static void put_real(struct out *out, const struct gpubpf_print_spec *spec, uint64_t arg)
{
	union {
		uint64_t bits;
		float single;
		double real;
	} v = { .bits = arg };
	char format[32], text[1024];

	snprintf(format, sizeof(format), "%s%c", spec->flags, spec->conv);
	if (snprintf(text, sizeof(text), format, arg >> 32 ? v.real : (double)v.single) > 0)
		put_text(out, text, sizeof(text));
}

static void put_spec(struct out *out, const struct gpubpf_print_spec *spec, const struct source *source, uint64_t arg)
{
	char text[32];

	switch (spec->conv) {
	case 's':
		put_string(out, source, arg);
		break;
	case 'c':
		put_char(out, (char)arg);
		break;
	case 'f':
	case 'e':
	case 'g':
		put_real(out, spec, arg);
		break;
	case 'p':
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)arg);
		put_text(out, text, sizeof(text));
		break;
	default:
		put_number(out, spec, arg);
	}
}

static void put_format(struct out *out, const char *fmt, const struct source *source, const uint64_t *arg, unsigned n)
{
	unsigned used = 0;

	while (*fmt) {
		const char *begin = fmt;
		struct gpubpf_print_spec spec;

		if (*fmt != '%') {
			put_char(out, *fmt++);
			continue;
		}
		spec = gpubpf_print_spec(&fmt);
		if (spec.conv == '%')
			put_char(out, '%');
		else if (spec.conv && used < n)
			put_spec(out, &spec, source, arg[used++]);
		else
			/* unknown conversion: print its text unchanged, where the Linux kernel would return -EINVAL */
			put_text(out, begin, (size_t)(fmt - begin));
	}
}

/*
 * Copies the arguments of a record with an array to many[]. Returns the size of the record before its text, or -EBADMSG.
 */
static int64_t read_arguments(const struct gpubpf_print_bytes *record, const void *data, uint32_t size,
			      uint64_t many[GPUBPF_PRINT_MANY])
{
	if (record->kind == GPUBPF_PRINT_FORMAT || record->kind == GPUBPF_PRINT_STRING)
		return sizeof(*record);
	if (record->kind != GPUBPF_PRINT_ARRAY || record->arg[0] > GPUBPF_PRINT_MANY ||
	    size < sizeof(*record) + 8 * record->arg[0])
		return -EBADMSG;
	memcpy(many, (const char *)data + sizeof(*record), 8 * record->arg[0]);
	return (int64_t)(sizeof(*record) + 8 * record->arg[0]);
}

int gpubpf_print_decode(const void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout,
			const void *data, uint32_t size, struct gpubpf_print *print)
{
	struct source source = { .arena = arena, .layout = layout };
	uint64_t many[GPUBPF_PRINT_MANY];
	char text[GPUBPF_PRINT_TEXT + 1] = "";
	struct gpubpf_print_bytes record;
	struct out out;
	int64_t before;

	if (size < sizeof(record))
		return -EBADMSG;
	memcpy(&record, data, sizeof(record));
	before = read_arguments(&record, data, size, many);
	if (before < 0 || size > before + GPUBPF_PRINT_TEXT || record.prog >= unit->nprogs)
		return -EBADMSG;
	memcpy(text, (const char *)data + before, size - before);
	memset(print, 0, sizeof(*print));
	source.base = record.arena;
	print->kernel = record.kernel_id;
	print->launch = record.launch;
	memcpy(print->block, record.block, sizeof(record.block));
	memcpy(print->thread, record.thread, sizeof(record.thread));
	print->prog = record.prog;
	out = (struct out){ print->text, sizeof(print->text) };
	if (record.kind == GPUBPF_PRINT_STRING)
		put_text(&out, text, sizeof(text));
	else if (record.kind == GPUBPF_PRINT_FORMAT)
		put_format(&out, text, &source, record.arg, GPUBPF_PRINT_ARGS);
	else
		put_format(&out, text, &source, many, (unsigned)record.arg[0]);
	while (out.used && print->text[out.used - 1] == '\n')
		out.used--;
	print->text[out.used] = 0;
	return 0;
}
