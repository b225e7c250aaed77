/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over bytes, half words and words. */
#include "loop.h"

LOOP(internet)
{
	u32 sum = 0;

	for (int i = 0; i < 64; i++)
		sum += halves[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	result = (u16)~sum;
	return 0;
}

LOOP(internet_of_length)
{
	u32 sum = 0, n = length & 127;

	for (u32 i = 0; i < n; i++)
		sum += halves[i & 127];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	result = (u16)~sum;
	return 0;
}

LOOP(adler32)
{
	u32 a = 1, b = 0;

	for (int i = 0; i < 128; i++) {
		a = (a + bytes[i]) % 65521;
		b = (b + a) % 65521;
	}
	result = b << 16 | a;
	return 0;
}

LOOP(fletcher16)
{
	u16 a = 0, b = 0;

	for (int i = 0; i < 100; i++) {
		a += bytes[i];
		if (a >= 255)
			a -= 255;
		b += a;
		if (b >= 255)
			b -= 255;
	}
	result = b << 8 | a;
	return 0;
}

LOOP(fletcher32)
{
	u32 a = 0xffff, b = 0xffff;

	for (int i = 0; i < 60; i++) {
		a += halves[i];
		b += a;
		a = (a & 0xffff) + (a >> 16);
		b = (b & 0xffff) + (b >> 16);
	}
	result = b << 16 | a;
	return 0;
}

LOOP(xor_words)
{
	u32 x = 0;

	for (int i = 0; i < 64; i++)
		x ^= words[i];
	result = x;
	return 0;
}

LOOP(rotate_sum)
{
	u16 sum = 0;

	for (int i = 0; i < 200; i++) {
		sum = (u16)(sum >> 1 | sum << 15);
		sum += bytes[i];
	}
	result = sum;
	return 0;
}

LOOP(luhn)
{
	u32 sum = 0;

	for (int i = 0; i < 16; i++) {
		u32 d = text[i] - '0';

		if (d > 9) {
			result = 0;
			return 0;
		}
		if (!(i & 1)) {
			d *= 2;
			if (d > 9)
				d -= 9;
		}
		sum += d;
	}
	result = sum % 10 == 0;
	return 0;
}

LOOP(isbn10)
{
	u32 sum = 0;

	for (int i = 0; i < 10; i++) {
		u32 d = text[i] == 'X' && i == 9 ? 10 : text[i] - '0';

		if (d > 10)
			return 1;
		sum += (10 - i) * d;
	}
	result = sum % 11 == 0;
	return 0;
}

LOOP(saturating_sum)
{
	u32 sum = 0;

	for (int i = 0; i < 64; i++) {
		u32 next = sum + words[i];

		sum = next < sum ? ~0u : next;
	}
	result = sum;
	return 0;
}

LOOP(carry_sum)
{
	u64 sum = 0, carry = 0;

	for (int i = 0; i < 32; i++) {
		sum += longs[i];
		carry += sum < longs[i];
	}
	result = sum + carry;
	return 0;
}
