/* SPDX-License-Identifier: Apache-2.0 */
/* Bit manipulation, mostly without branches. */
#include "loop.h"

LOOP(popcount_kernighan)
{
	u32 n = 0;

	for (u32 x = words[0]; x; x &= x - 1)
		if (++n == 32)
			break;
	result = n;
	return 0;
}

LOOP(popcount_swar)
{
	u32 n = 0;

	for (int i = 0; i < 64; i++) {
		u32 x = words[i];

		x -= (x >> 1) & 0x55555555;
		x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
		n += ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
	}
	result = n;
	return 0;
}

LOOP(parity)
{
	u32 odd = 0;

	for (int i = 0; i < 64; i++) {
		u32 x = words[i];

		x ^= x >> 16;
		x ^= x >> 8;
		x ^= x >> 4;
		odd += (0x6996 >> (x & 15)) & 1;
	}
	result = odd;
	return 0;
}

LOOP(reverse_bits)
{
	for (int i = 0; i < 16; i++) {
		u32 x = words[i], r = 0;

		for (int k = 0; k < 32; k++) {
			r = r << 1 | (x & 1);
			x >>= 1;
		}
		made32[i] = r;
	}
	return 0;
}

LOOP(log2_steps)
{
	for (int i = 0; i < 32; i++) {
		u64 x = longs[i];
		u32 n = 0;

		for (int s = 32; s; s >>= 1)
			if (x >> s) {
				x >>= s;
				n += s;
			}
		made[n]++;
	}
	return 0;
}

LOOP(log2_masks)
{
	for (int i = 0; i < 16; i++) {
		u32 x = words[i], r, shift;

		r = (x > 0xffff) << 4;
		x >>= r;
		shift = (x > 0xff) << 3;
		x >>= shift;
		r |= shift;
		shift = (x > 0xf) << 2;
		x >>= shift;
		r |= shift;
		shift = (x > 3) << 1;
		x >>= shift;
		r |= shift | x >> 1;
		made[r & 31]++;
	}
	return 0;
}

LOOP(min_max_masks)
{
	s32 lo = 0x7fffffff, hi = -0x7fffffff;

	for (int i = 0; i < 32; i++) {
		s32 x = (s32)words[i];

		lo = x ^ ((lo ^ x) & -(lo < x));
		hi = x ^ ((hi ^ x) & -(hi > x));
	}
	result = (u64)(u32)hi << 32 | (u32)lo;
	return 0;
}

LOOP(abs_sum)
{
	s64 sum = 0;

	for (int i = 0; i < 32; i++) {
		s32 x = (s32)words[i], m = x >> 31;

		sum += (x ^ m) - m;
	}
	result = (u64)sum;
	return 0;
}

LOOP(sign_constants)
{
	s64 sum = 0;

	for (int i = 0; i < 64; i++) {
		s32 m = (s32)words[i] >> 31;

		sum += (m & 17) | (~m & 5);
	}
	result = (u64)sum;
	return 0;
}

LOOP(sign_bit_masks64)
{
	u64 x = longs[0];

	for (int i = 0; i < 64; i++)
		x = x << 1 ^ (0x1b & (u64)((s64)x >> 63));
	result = x;
	return 0;
}

LOOP(gray)
{
	for (u32 i = 0; i < 256; i++)
		made[i] = (u8)(i ^ i >> 1);
	return 0;
}

LOOP(gray_back)
{
	for (int i = 0; i < 64; i++) {
		u32 g = words[i];

		for (int s = 1; s < 32; s <<= 1)
			g ^= g >> s;
		made32[i] = g;
	}
	return 0;
}

LOOP(morton)
{
	for (int i = 0; i < 32; i++) {
		u32 x = halves[i], y = halves[i + 32], z = 0;

		for (int k = 0; k < 16; k++)
			z |= (x & 1u << k) << k | (y & 1u << k) << (k + 1);
		made32[i] = z;
	}
	return 0;
}

LOOP(bit_positions)
{
	u32 n = 0;

	for (int i = 0; i < 64; i++)
		if (longs[0] >> i & 1 && n < 64)
			made[n++] = i;
	result = n;
	return 0;
}

LOOP(transpose8)
{
	for (int i = 0; i < 8; i++) {
		u8 b = 0;

		for (int k = 0; k < 8; k++)
			b |= (u8)((bytes[k] >> i & 1) << k);
		made[i] = b;
	}
	return 0;
}

LOOP(next_power)
{
	for (int i = 0; i < 64; i++) {
		u32 x = words[i] - 1;

		x |= x >> 1;
		x |= x >> 2;
		x |= x >> 4;
		x |= x >> 8;
		made32[i] = (x | x >> 16) + 1;
	}
	return 0;
}

LOOP(select_by_mask)
{
	u32 a = words[0], b = words[1];

	for (int i = 0; i < 40; i++) {
		u32 m = -(u32)(bytes[i] & 1);

		a = (a & ~m) | (b & m);
		b += 0x9e3779b9 & m;
	}
	result = a ^ b;
	return 0;
}
