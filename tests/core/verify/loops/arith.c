/* SPDX-License-Identifier: Apache-2.0 */
/* Number theory and fixed-point numbers. */
#include "loop.h"

LOOP(gcd)
{
	u32 a = words[0], b = words[1];

	for (int i = 0; i < 48 && b; i++) {
		u32 t = a % b;

		a = b;
		b = t;
	}
	result = a;
	return 0;
}

LOOP(gcd_binary)
{
	u32 a = words[0] | 1, b = words[1] | 1;

	for (int i = 0; i < 64 && a != b; i++) {
		if (a < b) {
			u32 t = a;

			a = b;
			b = t;
		}
		a -= b;
		if (!(a & 1))
			a >>= 1;
	}
	result = a;
	return 0;
}

LOOP(root)
{
	u32 x = words[0], r = 0;

	for (u32 bit = 1u << 30; bit; bit >>= 2) {
		if (x >= r + bit) {
			x -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	result = r;
	return 0;
}

LOOP(root_newton)
{
	u64 x = longs[0], r = x;

	for (int i = 0; i < 40; i++) {
		u64 next;

		if (!r)
			break;
		next = (r + x / r) / 2;
		if (next >= r)
			break;
		r = next;
	}
	result = r;
	return 0;
}

LOOP(power_mod)
{
	u64 base = words[0] % 65521, r = 1;
	u32 e = words[1];

	for (int i = 0; i < 32; i++) {
		if (e & 1)
			r = r * base % 65521;
		base = base * base % 65521;
		e >>= 1;
	}
	result = r;
	return 0;
}

LOOP(power_mod_masks)
{
	u32 x = halves[0], r = 1, e = halves[1];

	for (int i = 0; i < 16; i++) {
		u32 m = -(e & 1);

		r = (r * x & m) | (r & ~m);
		x *= x;
		e >>= 1;
	}
	result = r;
	return 0;
}

LOOP(fibonacci)
{
	u64 a = 0, b = 1;

	for (u32 i = 0; i < (length & 63); i++) {
		u64 t = a + b;

		a = b;
		b = t;
	}
	result = a;
	return 0;
}

LOOP(sieve)
{
	u32 n = 0;

	for (u32 i = 2; i < 128; i++)
		made[i] = 1;
	for (u32 i = 2; i < 12; i++)
		for (u32 k = i * i; made[i] && k < 128; k += i)
			made[k] = 0;
	for (u32 i = 2; i < 128; i++)
		n += made[i];
	result = n;
	return 0;
}

LOOP(is_prime)
{
	u32 x = words[0];

	for (u32 d = 2; d < 200; d++) {
		if (d * d > x)
			break;
		if (x % d == 0)
			return 1;
	}
	return 0;
}

LOOP(collatz)
{
	u64 x = words[0];
	u32 n = 0;

	while (x != 1 && n < 48) {
		x = x & 1 ? 3 * x + 1 : x >> 1;
		n++;
	}
	result = n;
	return 0;
}

LOOP(divide_by_subtraction)
{
	u32 n = words[0], d = words[1] | 1, q = 0, r = 0;

	for (int i = 31; i >= 0; i--) {
		r = r << 1 | (n >> i & 1);
		if (r >= d) {
			r -= d;
			q |= 1u << i;
		}
	}
	result = (u64)q << 32 | r;
	return 0;
}

LOOP(multiply_by_shifts)
{
	u64 a = words[0], p = 0;
	u32 b = words[1];

	while (b) {
		if (b & 1)
			p += a;
		a <<= 1;
		b >>= 1;
	}
	result = p;
	return 0;
}

LOOP(add_big)
{
	u64 carry = 0;

	for (int i = 0; i < 16; i++) {
		u64 s = longs[i] + longs[i + 16], c = s < longs[i];

		made64[i] = s + carry;
		carry = c | (s + carry < s);
	}
	result = carry;
	return 0;
}

LOOP(multiply_big)
{
	for (int i = 0; i < 8; i++) {
		u64 carry = 0;

		for (int k = 0; k < 8; k++) {
			u64 t = (u64)words[i] * words[k + 8] + made32[i + k] + carry;

			made32[i + k] = (u32)t;
			carry = t >> 32;
		}
		made32[i + 8] = (u32)carry;
	}
	return 0;
}

LOOP(compare_big)
{
	s32 order = 0;

	for (int i = 15; i >= 0 && !order; i--)
		order = longs[i] < longs[i + 16] ? -1 : longs[i] > longs[i + 16];
	result = (u64)(s64)order;
	return 0;
}

LOOP(cordic)
{
	static const s32 angles[16] = {
		11520, 6801, 3593, 1824, 916, 458, 229, 115, 57, 29, 14, 7, 4, 2, 1, 1,
	};
	s32 x = 9949, y = 0, z = (s32)(words[0] % 23040) - 11520;

	for (int i = 0; i < 16; i++) {
		s32 m = z >> 31, dx = x >> i, dy = y >> i;

		x -= (dy ^ m) - m;
		y += (dx ^ m) - m;
		z -= (angles[i] ^ m) - m;
	}
	made32[0] = x;
	made32[1] = y;
	return 0;
}

LOOP(days_to_date)
{
	u32 days = words[0] % 36525, year = 1970;

	for (int i = 0; i < 100; i++) {
		u32 n = year % 4 ? 365 : 366;

		if (days < n)
			break;
		days -= n;
		year++;
	}
	result = year;
	return 0;
}

LOOP(average_decaying)
{
	s64 average = 0;

	for (int i = 0; i < 64; i++)
		average += ((s64)words[i] - average) / 8;
	result = (u64)average;
	return 0;
}

LOOP(clamp)
{
	for (int i = 0; i < 64; i++) {
		s32 x = (s32)words[i];

		x = x < 0 ? 0 : x > 255 ? 255 : x;
		made[x]++;
	}
	return 0;
}

LOOP(clamp_signs)
{
	for (int i = 0; i < 32; i++) {
		s32 x = (s32)words[i] >> 8;

		x &= ~(x >> 31);
		x |= (255 - x) >> 31;
		made[x & 255]++;
	}
	return 0;
}
