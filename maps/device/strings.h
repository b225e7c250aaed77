/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers on texts: numbers in texts (105, 106), formatted text (165), lengths and characters (543, 544). */
#ifndef GPUBPF_MAPS_STRINGS_H
#define GPUBPF_MAPS_STRINGS_H

#include "words.h"

#define GPUBPF_ERANGE 34
#define GPUBPF_NUMBER_TEXT 63 /* maximum number of characters of a number, as in the Linux kernel */
#define GPUBPF_FORMAT_ARGS 12 /* MAX_BPRINTF_VARARGS of the Linux kernel */

/* Return the value of a digit, or 16 if the character is none. */
GPUBPF_FN u32 gpubpf_digit(u8 c)
{
	u32 letter = (u32)(c | 0x20) - 'a';

	if (c >= '0' && c <= '9')
		return (u32)c - '0';
	return letter < 6 ? letter + 10 : 16;
}

GPUBPF_FN u32 gpubpf_is_space(u8 c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0;
}

/* Return the character at `at`, or 0 at the end. */
GPUBPF_FN u8 gpubpf_char(GPUBPF_PRIVATE const u8 *text, u64 at, u64 end)
{
	return at < end ? text[at] : 0;
}

/*
 * Parse an integer by the rules of the Linux kernel. Return the number of characters, -EINVAL or -ERANGE.
 */
GPUBPF_FN s64 gpubpf_parse(GPUBPF_PRIVATE const u8 *text, u64 size, u64 base, GPUBPF_PRIVATE u64 *result,
			   GPUBPF_PRIVATE u32 *negative)
{
	u64 at = 0, end = size, first, value = 0;
	u32 wide = 0, hex;

	if (base != 0 && base != 8 && base != 10 && base != 16)
		return -GPUBPF_EINVAL;
	while (at < size && gpubpf_is_space(text[at]))
		at++;
	*negative = gpubpf_char(text, at, size) == '-';
	at += *negative;
	if (end > at + GPUBPF_NUMBER_TEXT)
		end = at + GPUBPF_NUMBER_TEXT;
	hex = gpubpf_char(text, at, end) == '0' && (gpubpf_char(text, at + 1, end) | 0x20) == 'x';
	if (base == 0 && gpubpf_char(text, at, end) != '0')
		base = 10;
	else if (base == 0)
		base = hex && gpubpf_digit(gpubpf_char(text, at + 2, end)) < 16 ? 16 : 8;
	if (base == 16 && hex)
		at += 2;
	for (first = at; at < end && gpubpf_digit(text[at]) < base; at++) {
		u64 digit = gpubpf_digit(text[at]);
		u64 low = (value & 0xffffffff) * base, high = (value >> 32) * base + (low >> 32);

		/* no division: NVIDIA's assembler makes a call of it, and it is slow */
		value = value * base + digit;
		wide |= high >> 32 || value < digit;
	}
	*result = value;
	if (at == first)
		return -GPUBPF_EINVAL;
	return wide ? -GPUBPF_ERANGE : (s64)at;
}

GPUBPF_FN s64 gpubpf_helper_strtol(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *text, u64 size, u64 base, GPUBPF_PRIVATE u64 *to)
{
	u32 negative = 0;
	u64 value = 0;
	s64 used = gpubpf_parse(text, size, base, &value, &negative);

	*to = 0;
	if (used >= 0 && value > 0x7fffffffffffffffUL + negative)
		return -GPUBPF_ERANGE;
	if (used >= 0)
		*to = negative ? 0 - value : value;
	return used;
}

GPUBPF_FN s64 gpubpf_helper_strtoul(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *text, u64 size, u64 base, GPUBPF_PRIVATE u64 *to)
{
	u32 negative = 0;
	u64 value = 0;
	s64 used = gpubpf_parse(text, size, base, &value, &negative);

	*to = used >= 0 && !negative ? value : 0;
	return used >= 0 && negative ? -GPUBPF_EINVAL : used;
}

/* A text that is written, and its size so far; characters beyond the size of the memory only count. */
struct gpubpf_out {
	GPUBPF_PRIVATE u8 *text;
	u64 size, used;
};

GPUBPF_FN void gpubpf_put(GPUBPF_PRIVATE struct gpubpf_out *out, u8 c)
{
	if (out->used + 1 < out->size)
		out->text[out->used] = c;
	out->used++;
}

GPUBPF_FN void gpubpf_pad(GPUBPF_PRIVATE struct gpubpf_out *out, u8 c, u32 n)
{
	while (n--)
		gpubpf_put(out, c);
}

/* flags of a conversion */
#define GPUBPF_LEFT 1u
#define GPUBPF_ZERO 2u
#define GPUBPF_PLUS 4u
#define GPUBPF_SPACE 8u
#define GPUBPF_PREFIX 16u

GPUBPF_FN u32 gpubpf_format_flag(u8 c)
{
	return c == '-' ? GPUBPF_LEFT :
	       c == '0' ? GPUBPF_ZERO :
	       c == '+' ? GPUBPF_PLUS :
	       c == ' ' ? GPUBPF_SPACE :
	       c == '#' ? GPUBPF_PREFIX :
			  0;
}

GPUBPF_FN void gpubpf_put_number(GPUBPF_PRIVATE struct gpubpf_out *out, u64 value, u8 conv, u32 flags, u32 width)
{
	u32 hex = conv == 'x' || conv == 'X' || conv == 'p', n = 0, is_signed = conv == 'd' || conv == 'i';
	u32 negative = is_signed && value >> 63, prefix = hex && (flags & GPUBPF_PREFIX || conv == 'p');
	u8 digits[24], sign = negative                          ? '-' :
			      is_signed && flags & GPUBPF_PLUS  ? '+' :
			      is_signed && flags & GPUBPF_SPACE ? ' ' :
								  0;
	u32 room;

	value = negative ? 0 - value : value;
	do {
		u64 digit = hex ? value & 15 : value % 10;

		digits[n++] = (u8)(digit < 10 ? '0' + digit : (conv == 'X' ? 'A' : 'a') + digit - 10);
		value = hex ? value >> 4 : value / 10;
	} while (value);
	room = n + (sign != 0) + 2 * prefix;
	room = width > room ? width - room : 0;
	if (!(flags & (GPUBPF_LEFT | GPUBPF_ZERO)))
		gpubpf_pad(out, ' ', room);
	if (sign)
		gpubpf_put(out, sign);
	if (prefix) {
		gpubpf_put(out, '0');
		gpubpf_put(out, conv == 'X' ? 'X' : 'x');
	}
	if ((flags & (GPUBPF_LEFT | GPUBPF_ZERO)) == GPUBPF_ZERO)
		gpubpf_pad(out, '0', room);
	while (n)
		gpubpf_put(out, digits[--n]);
	if (flags & GPUBPF_LEFT)
		gpubpf_pad(out, ' ', room);
}

/* Format one conversion, whose first character after the % is at `at`. Return the position after it. */
GPUBPF_FN u64 gpubpf_put_conversion(GPUBPF_PRIVATE struct gpubpf_out *out, GPUBPF_PRIVATE const u8 *fmt, u64 at,
				    u64 end, u64 value)
{
	u32 flags = 0, width = 0, longs = 0;
	u8 conv;

	while (gpubpf_format_flag(gpubpf_char(fmt, at, end)))
		flags |= gpubpf_format_flag(fmt[at++]);
	while (gpubpf_digit(gpubpf_char(fmt, at, end)) < 10 && width < 100)
		width = width * 10 + gpubpf_digit(fmt[at++]);
	while (gpubpf_char(fmt, at, end) == 'l') {
		longs = 1;
		at++;
	}
	conv = gpubpf_char(fmt, at++, end);
	if (conv == 'c') {
		gpubpf_put(out, (u8)value);
		return at;
	}
	if (!longs && conv != 'p')
		value = conv == 'd' || conv == 'i' ? (u64)(s64)(s32)value : (u32)value;
	gpubpf_put_number(out, value, conv, flags, width);
	return at;
}

/*
 * Helper 165. The verifier has checked the conversions of the format. The text ends with a NUL, and the memory after it
 * holds zeros.
 */
GPUBPF_FN s64 gpubpf_helper_snprintf(GPUBPF_ENV, GPUBPF_PRIVATE u8 *to, u64 size, GPUBPF_PRIVATE const u8 *fmt,
				     u64 fmt_size, GPUBPF_PRIVATE const u8 *data, u64 data_size)
{
	struct gpubpf_out out;
	u64 at = 0, used = 0, i;

	if (data_size % 8 || data_size > 8 * GPUBPF_FORMAT_ARGS)
		return -GPUBPF_EINVAL;
	out.text = to;
	out.size = size;
	out.used = 0;
	while (gpubpf_char(fmt, at, fmt_size)) {
		u8 c = fmt[at++];

		if (c != '%') {
			gpubpf_put(&out, c);
		} else if (gpubpf_char(fmt, at, fmt_size) == '%') {
			gpubpf_put(&out, fmt[at++]);
		} else {
			u64 value = used + 8 <= data_size ? *(GPUBPF_PRIVATE const gpubpf_u64u *)(data + used) : 0;

			used += 8;
			at = gpubpf_put_conversion(&out, fmt, at, fmt_size, value);
		}
	}
	for (i = out.used < size ? out.used : size ? size - 1 : 0; i < size; i++)
		to[i] = 0;
	return (s64)out.used + 1;
}

/* The kernel functions bpf_strnlen() and bpf_strnchr(), as in Linux 6.17. `size` may be 0. */
GPUBPF_FN s64 gpubpf_helper_strnlen(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *text, u64 size)
{
	u64 i = 0;

	while (i < size && text[i])
		i++;
	return (s64)i;
}

GPUBPF_FN s64 gpubpf_helper_strnchr(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *text, u64 size, u64 c)
{
	u64 i = 0;

	while (i < size && text[i] != (u8)c && text[i])
		i++;
	return i < size && text[i] == (u8)c ? (s64)i : -GPUBPF_ENOENT;
}

#endif
