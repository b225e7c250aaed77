/* SPDX-License-Identifier: Apache-2.0 */
/* State machines over text. */
#include "loop.h"

LOOP(ipv4)
{
	u32 address = 0, part = 0, dots = 0, digits = 0;

	for (int i = 0; i < 16; i++) {
		u8 c = text[i];

		if (c >= '0' && c <= '9') {
			part = part * 10 + (c - '0');
			if (part > 255 || ++digits > 3)
				return 1;
		} else if (c == '.' && digits && dots < 3) {
			address = address << 8 | part;
			part = digits = 0;
			dots++;
		} else {
			break;
		}
	}
	if (dots == 3 && digits)
		result = address << 8 | part;
	return 0;
}

LOOP(base64)
{
	u32 n = 0;

	for (int i = 0; i < 48; i++) {
		u8 c = text[i];
		u32 v;

		if (c >= 'A' && c <= 'Z')
			v = c - 'A';
		else if (c >= 'a' && c <= 'z')
			v = c - 'a' + 26;
		else if (c >= '0' && c <= '9')
			v = c - '0' + 52;
		else if (c == '+')
			v = 62;
		else if (c == '/')
			v = 63;
		else
			break;
		n = n << 6 | v;
		if (i % 4 == 3) {
			made32[i / 4] = n;
			n = 0;
		}
	}
	return 0;
}

LOOP(base64_write)
{
	static const char digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (int i = 0, o = 0; i < 48; i += 3, o += 4) {
		u32 n = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];

		made[o] = digits[n >> 18];
		made[o + 1] = digits[n >> 12 & 63];
		made[o + 2] = digits[n >> 6 & 63];
		made[o + 3] = digits[n & 63];
	}
	return 0;
}

LOOP(utf8_count)
{
	u32 n = 0, more = 0;

	for (int i = 0; i < 64; i++) {
		u8 c = text[i];

		if (more) {
			if ((c & 0xc0) != 0x80)
				return 1;
			more--;
		} else if (c >= 0xf0) {
			more = 3;
		} else if (c >= 0xe0) {
			more = 2;
		} else if (c >= 0xc0) {
			more = 1;
		} else if (c & 0x80) {
			return 1;
		}
		n += !more;
	}
	result = n;
	return 0;
}

LOOP(utf8_decode)
{
	u32 n = 0, i = 0;

	for (int step = 0; step < 20 && i < 60; step++) {
		u32 c = text[i++];

		if (c >= 0xe0) {
			c = (c & 15) << 12 | (text[i & 63] & 63) << 6 | (text[(i + 1) & 63] & 63);
			i += 2;
		} else if (c >= 0xc0) {
			c = (c & 31) << 6 | (text[i & 63] & 63);
			i++;
		}
		made32[n++ & 63] = c;
	}
	return 0;
}

LOOP(csv_fields)
{
	u32 fields = 1;
	bool quoted = false;

	for (int i = 0; i < 64 && text[i]; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		else if (text[i] == ',' && !quoted)
			fields++;
	}
	result = fields;
	return 0;
}

LOOP(nesting)
{
	s32 depth = 0, most = 0;

	for (int i = 0; i < 32; i++) {
		if (text[i] == '{' || text[i] == '[')
			depth++;
		else if (text[i] == '}' || text[i] == ']')
			depth--;
		if (depth < 0)
			return 1;
		if (depth > most)
			most = depth;
	}
	result = most;
	return 0;
}

LOOP(brackets_match)
{
	u8 stack[16];
	u32 n = 0;

	for (int i = 0; i < 24; i++) {
		u8 c = text[i];

		if (c == '(' || c == '[') {
			if (n >= 16)
				return 1;
			stack[n++ & 15] = c;
		} else if (c == ')' || c == ']') {
			if (!n || stack[--n & 15] != (c == ')' ? '(' : '['))
				return 1;
		}
	}
	result = n == 0;
	return 0;
}

LOOP(comments)
{
	enum { CODE, SLASH, COMMENT, STAR } state = CODE;
	u32 n = 0;

	for (int i = 0; i < 64; i++) {
		u8 c = text[i];

		switch (state) {
		case CODE:
			state = c == '/' ? SLASH : CODE;
			break;
		case SLASH:
			state = c == '*' ? COMMENT : c == '/' ? SLASH : CODE;
			break;
		case COMMENT:
			state = c == '*' ? STAR : COMMENT;
			break;
		case STAR:
			n += c == '/';
			state = c == '/' ? CODE : c == '*' ? STAR : COMMENT;
			break;
		}
	}
	result = n;
	return 0;
}

LOOP(percent_decode)
{
	u32 n = 0;

	for (u32 i = 0; i < 60; i++) {
		u8 c = text[i];

		if (c == '%') {
			c = (u8)((text[i + 1] & 15) << 4 | (text[i + 2] & 15));
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		made[n++ & 63] = c;
	}
	result = n;
	return 0;
}

LOOP(key_value)
{
	u32 key = 0, value = 0, n = 0;
	bool in_key = true;

	for (int i = 0; i < 64 && text[i]; i++) {
		u8 c = text[i];

		if (c == '=' && in_key) {
			in_key = false;
		} else if (c == '&') {
			made32[key & 63] = value;
			key = value = 0;
			in_key = true;
			n++;
		} else if (in_key) {
			key = key * 31 + c;
		} else {
			value = value * 31 + c;
		}
	}
	result = n;
	return 0;
}

LOOP(date)
{
	static const u8 lengths[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	u32 part[3] = { 0 }, at = 0, days = 0;

	for (int i = 0; i < 10; i++) {
		u8 d = text[i] - '0';

		if (text[i] == '-') {
			if (++at > 2)
				return 1;
		} else if (d > 9) {
			return 1;
		} else {
			part[at] = part[at] * 10 + d;
		}
	}
	for (u32 m = 0; m < 12 && m + 1 < part[1]; m++)
		days += lengths[m];
	result = days + part[2];
	return 0;
}

LOOP(dfa_table)
{
	u8 state = 0;

	for (int i = 0; i < 64; i++)
		state = bytes[(state & 15) << 4 | (text[i] & 15)];
	result = state;
	return 0;
}

LOOP(rpn)
{
	s32 stack[8] = { 0 };
	u32 n = 0;

	for (int i = 0; i < 16; i++) {
		u8 c = text[i];

		if (c >= '0' && c <= '9') {
			if (n == 8)
				return 1;
			stack[n++ & 7] = c - '0';
			continue;
		}
		if (n < 2)
			return 1;
		n--;
		switch (c) {
		case '+':
			stack[(n - 1) & 7] += stack[n & 7];
			break;
		case '-':
			stack[(n - 1) & 7] -= stack[n & 7];
			break;
		case '*':
			stack[(n - 1) & 7] *= stack[n & 7];
			break;
		default:
			return 1;
		}
	}
	result = stack[0];
	return 0;
}
