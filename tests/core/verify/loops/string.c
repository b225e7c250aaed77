/* SPDX-License-Identifier: Apache-2.0 */
/* String functions of a libc. */
#include "loop.h"

static __always_inline bool is_space(u8 c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static __always_inline u8 lower(u8 c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

LOOP(length_of)
{
	u32 n = 0;

	while (n < 64 && text[n])
		n++;
	result = n;
	return 0;
}

LOOP(copy)
{
	for (int i = 0; i < 64; i++) {
		made[i] = text[i];
		if (!text[i])
			break;
	}
	return 0;
}

LOOP(copy_to_stack)
{
	char buf[64];
	u32 n = 0;

	for (; n < 63 && text[n]; n++)
		buf[n] = text[n];
	buf[n & 63] = 0;
	result = buf[0] + n;
	return 0;
}

LOOP(compare)
{
	s32 d = 0;

	for (int i = 0; i < 64; i++) {
		d = text[i] - bytes[i];
		if (d || !text[i])
			break;
	}
	result = (u64)(s64)d;
	return 0;
}

LOOP(compare_no_case)
{
	s32 d = 0;

	for (int i = 0; i < 48 && !d; i++) {
		d = lower(text[i]) - lower(bytes[i]);
		if (!text[i])
			break;
	}
	result = (u64)(s64)d;
	return 0;
}

LOOP(find)
{
	s32 at = -1;

	for (int i = 0; i < 64 && at < 0; i++)
		if (text[i] == '/')
			at = i;
	if (at >= 0)
		made[at] = 1;
	return 0;
}

LOOP(find_last)
{
	s32 at = -1;

	for (int i = 0; i < 64 && text[i]; i++)
		if (text[i] == '/')
			at = i;
	if (at >= 0)
		made[at] = text[at];
	return 0;
}

LOOP(find_in)
{
	u32 hits = 0;

	for (int i = 0; i + 4 < 64; i++) {
		int k = 0;

		while (k < 4 && text[i + k] == bytes[k])
			k++;
		hits += k == 4;
	}
	result = hits;
	return 0;
}

LOOP(to_upper)
{
	for (int i = 0; i < 64; i++) {
		u8 c = text[i];

		made[i] = c >= 'a' && c <= 'z' ? c - 32 : c;
	}
	return 0;
}

LOOP(swap_case)
{
	for (int i = 0; i < 64; i++) {
		u8 c = text[i], letter = (u8)((c | 32) - 'a') < 26;

		made[i] = c ^ (u8)(letter << 5);
	}
	return 0;
}

LOOP(trim)
{
	u32 from = 0, to = 64;

	while (from < 64 && is_space(text[from]))
		from++;
	while (to > from && is_space(text[to - 1]))
		to--;
	result = to - from;
	return 0;
}

LOOP(words_in)
{
	u32 n = 0;
	bool in = false;

	for (int i = 0; i < 64 && text[i]; i++) {
		bool space = is_space(text[i]);

		n += !space && !in;
		in = !space;
	}
	result = n;
	return 0;
}

LOOP(reverse)
{
	for (int i = 0, k = 63; i < k; i++, k--) {
		u8 c = text[i];

		text[i] = text[k];
		text[k] = c;
	}
	return 0;
}

LOOP(palindrome)
{
	u32 n = 0;

	while (n < 64 && text[n])
		n++;
	for (u32 i = 0; i < 32 && i < n / 2; i++)
		if (text[i] != text[(n - 1 - i) & 63])
			return 1;
	return 0;
}

LOOP(span)
{
	u32 n = 0;

	for (; n < 64; n++) {
		bool in = false;

		for (int k = 0; k < 6; k++)
			in |= text[n] == bytes[k];
		if (!in)
			break;
	}
	result = n;
	return 0;
}

LOOP(glob)
{
	u32 t = 0, p = 0, star = 64, mark = 0;

	for (int step = 0; step < 96 && t < 32; step++) {
		u8 c = text[t & 31], q = bytes[p & 31];

		if (q == '?' || q == c) {
			t++;
			p++;
		} else if (q == '*') {
			star = p++;
			mark = t;
		} else if (star < 64) {
			p = star + 1;
			t = ++mark;
		} else {
			return 1;
		}
	}
	return 0;
}

LOOP(squeeze)
{
	u32 n = 0;

	for (int i = 0; i < 64; i++)
		if (!i || text[i] != text[i - 1])
			made[n++ & 63] = text[i];
	result = n;
	return 0;
}
