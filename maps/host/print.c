/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats records of the print ring (maps/device/print.h), by the rules of core/model/print_spec.h. Floating-point conversions take the
 * bits of a float or a double, like arguments in the context. The output has no control characters except newlines and
 * tabs, because the bytes are the application's.
 */
#include "maps/maps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/model/facts.h"
#include "core/model/print_spec.h"
#include "host.h"

#define STRING_MAX 128 /* maximum bytes printed by a %s */

_Static_assert(sizeof(struct gpubpf_print_bytes) == GPUBPF_PRINT_HEAD, "offsets in print.h");

struct out {
	char *text;
	size_t size, used;
};

struct source { /* the read-only maps that contain %s strings */
	const char *arena;
	const struct gpubpf_layout *layout;
	uint64_t base; /* the arena's address on the device, as the record states it */
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

/* Print a string that lies in a map, by its device address. */
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
 * Print a floating-point argument: a float if its upper 32 bits are 0, else a double. Doubles with such bits are 0 or
 * denormal, far below any float, and programs do not print them.
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

static void put_format(struct out *out, const char *fmt, const struct source *source, const uint64_t arg[GPUBPF_PRINT_ARGS])
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
		else if (spec.conv && used < GPUBPF_PRINT_ARGS)
			put_spec(out, &spec, source, arg[used++]);
		else
			/* prints the conversion's text unchanged; the kernel would return -EINVAL */
			put_text(out, begin, (size_t)(fmt - begin));
	}
}

int gpubpf_print_decode(const void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout,
			const void *data, uint32_t size, struct gpubpf_print *print)
{
	struct source source = { .arena = arena, .layout = layout };
	char text[GPUBPF_PRINT_TEXT + 1] = "";
	struct gpubpf_print_bytes record;
	struct out out;

	if (size < sizeof(record) || size > sizeof(record) + GPUBPF_PRINT_TEXT)
		return -EBADMSG;
	memcpy(&record, data, sizeof(record));
	memcpy(text, (const char *)data + sizeof(record), size - sizeof(record));
	if (record.prog >= unit->nprogs || (record.kind != GPUBPF_PRINT_FORMAT && record.kind != GPUBPF_PRINT_STRING))
		return -EBADMSG;
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
	else
		put_format(&out, text, &source, record.arg);
	while (out.used && print->text[out.used - 1] == '\n')
		out.used--;
	print->text[out.used] = 0;
	return 0;
}
