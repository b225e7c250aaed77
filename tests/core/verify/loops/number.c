/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back. */
#include "loop.h"

static __always_inline s32 hex(u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

LOOP(decimal)
{
	u64 n = 0;

	for (int i = 0; i < 20; i++) {
		u8 d = text[i] - '0';

		if (d > 9)
			break;
		n = n * 10 + d;
	}
	result = n;
	return 0;
}

LOOP(decimal_signed)
{
	s64 n = 0;
	u32 i = 0;
	bool minus = text[0] == '-';

	if (minus || text[0] == '+')
		i++;
	for (; i < 20 && text[i] >= '0' && text[i] <= '9'; i++)
		n = n * 10 + (text[i] - '0');
	result = minus ? -n : n;
	return 0;
}

LOOP(decimal_checked)
{
	u32 n = 0;

	for (int i = 0; i < 12; i++) {
		u32 d = (u32)text[i] - '0';

		if (d > 9)
			break;
		if (n > 0xffffffff / 10 || (n == 0xffffffff / 10 && d > 0xffffffff % 10))
			return 1;
		n = n * 10 + d;
	}
	if (n < 256)
		made[n]++;
	return 0;
}

LOOP(hexadecimal)
{
	u64 n = 0;

	for (int i = 0; i < 16; i++) {
		s32 d = hex(text[i]);

		if (d < 0)
			break;
		n = n << 4 | (u32)d;
	}
	result = n;
	return 0;
}

LOOP(hex_bytes)
{
	for (int i = 0; i < 32; i++) {
		s32 hi = hex(text[2 * i]), lo = hex(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return 1;
		made[i] = (u8)(hi << 4 | lo);
	}
	return 0;
}

LOOP(hex_signs)
{
	u32 bad = 0;

	for (int i = 0; i < 32; i++) {
		s32 d = hex(text[i]);

		bad |= (u32)(d >> 31);
		made[i] = d & ~(d >> 31);
	}
	result = bad;
	return 0;
}

LOOP(octal_or_any)
{
	u32 base = 10, i = 0;
	u64 n = 0;

	if (text[0] == '0') {
		base = text[1] == 'x' ? 16 : 8;
		i = base == 16 ? 2 : 1;
	}
	for (int k = 0; k < 20; k++, i++) {
		s32 d = hex(text[i & 63]);

		if (d < 0 || (u32)d >= base)
			break;
		n = n * base + (u32)d;
	}
	result = n;
	return 0;
}

LOOP(print_decimal)
{
	u64 x = longs[0];
	u32 at = 20;

	do {
		at--;
		made[at] = '0' + x % 10;
		x /= 10;
	} while (x && at > 0);
	result = at;
	return 0;
}

LOOP(print_hex)
{
	static const char digits[16] = "0123456789abcdef";

	for (int i = 0; i < 16; i++)
		made[i] = digits[longs[0] >> (60 - 4 * i) & 15];
	return 0;
}

LOOP(print_binary)
{
	for (int i = 0; i < 64; i++)
		made[i] = '0' + (longs[0] >> (63 - i) & 1);
	return 0;
}

LOOP(print_padded)
{
	char buf[12];
	u32 x = words[0];

	for (int i = 11; i >= 0; i--) {
		buf[i] = x || i == 11 ? '0' + x % 10 : ' ';
		x /= 10;
	}
	for (int i = 0; i < 12; i++)
		made[i] = buf[i];
	return 0;
}

LOOP(roman)
{
	static const u16 value[13] = { 1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1 };
	u32 x = halves[0] & 4095, n = 0;

	for (int i = 0; i < 13; i++)
		for (int k = 0; k < 4 && x >= value[i]; k++) {
			x -= value[i];
			made[n++ & 63] = i;
		}
	return 0;
}

LOOP(bcd_add)
{
	u32 carry = 0;

	for (int i = 0; i < 32; i++) {
		u32 s = (bytes[i] & 15) + (bytes[i + 32] & 15) + carry;

		carry = s > 9;
		made[i] = s - (carry ? 10 : 0);
	}
	return 0;
}

LOOP(double_dabble)
{
	u64 bcd = 0;
	u32 x = words[0];

	for (int i = 0; i < 32; i++) {
		for (int k = 0; k < 40; k += 4)
			if ((bcd >> k & 15) >= 5)
				bcd += 3ull << k;
		bcd = bcd << 1 | x >> 31;
		x <<= 1;
	}
	result = bcd;
	return 0;
}

LOOP(varint)
{
	u64 n = 0;

	for (int i = 0; i < 10; i++) {
		n |= (u64)(bytes[i] & 127) << (7 * i);
		if (!(bytes[i] & 128))
			break;
	}
	result = n;
	return 0;
}

LOOP(varint_write)
{
	u64 x = longs[0];
	u32 n = 0;

	while (x >= 128 && n < 9) {
		made[n++] = (u8)x | 128;
		x >>= 7;
	}
	made[n] = (u8)x;
	return 0;
}

LOOP(zigzag)
{
	for (int i = 0; i < 64; i++) {
		s32 x = (s32)words[i];

		made32[i] = (u32)x << 1 ^ (u32)(x >> 31);
	}
	return 0;
}
