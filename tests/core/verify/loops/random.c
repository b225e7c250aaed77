/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random numbers and their uses. */
#include "loop.h"

LOOP(lcg)
{
	u32 x = words[0];

	for (int i = 0; i < 64; i++) {
		x = x * 1103515245 + 12345;
		made32[i] = x >> 16 & 0x7fff;
	}
	return 0;
}

LOOP(xorshift)
{
	u64 x = longs[0] | 1;

	for (int i = 0; i < 32; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		made64[i] = x;
	}
	return 0;
}

LOOP(pcg)
{
	u64 state = longs[0];

	for (int i = 0; i < 32; i++) {
		u32 x = (u32)((state >> 18 ^ state) >> 27), r = state >> 59;

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		made32[i] = x >> r | x << (-r & 31);
	}
	return 0;
}

LOOP(lfsr_galois)
{
	u16 x = halves[0] | 1;

	for (int i = 0; i < 256; i++) {
		x = x >> 1 ^ (-(x & 1) & 0xb400);
		made[i] = (u8)x;
	}
	return 0;
}

LOOP(lfsr_fibonacci)
{
	u16 x = halves[0] | 1;

	for (int i = 0; i < 200; i++) {
		u16 bit = (x ^ x >> 2 ^ x >> 3 ^ x >> 5) & 1;

		x = (u16)(x >> 1 | bit << 15);
	}
	result = x;
	return 0;
}

LOOP(lfsr_branch)
{
	u32 x = words[0];

	for (int i = 0; i < 128; i++) {
		if (x & 1)
			x = x >> 1 ^ 0x80200003;
		else
			x >>= 1;
	}
	made[x & 255] = 1;
	return 0;
}

LOOP(lfsr_period)
{
	u32 x = 1, n = 0;

	do {
		x = x & 1 ? x >> 1 ^ 0x60 : x >> 1;
		n++;
	} while (x != 1 && n < 200);
	result = n;
	return 0;
}

LOOP(middle_square)
{
	u32 x = words[0];

	for (int i = 0; i < 32; i++) {
		x = (u32)((u64)x * x >> 16);
		made32[i] = x;
	}
	return 0;
}

LOOP(shuffle)
{
	u32 x = words[0];

	for (u32 i = 63; i > 0; i--) {
		u32 k, t;

		x = x * 1664525 + 1013904223;
		k = (x >> 8) % (i + 1);
		t = made32[i];
		made32[i] = made32[k & 63];
		made32[k & 63] = t;
	}
	return 0;
}

LOOP(reservoir)
{
	u32 x = length;

	for (u32 i = 0; i < 64; i++) {
		u32 at = i;

		if (i >= 8) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			at = x % (i + 1);
		}
		if (at < 8)
			made32[at] = words[i];
	}
	return 0;
}

LOOP(helper)
{
	for (int i = 0; i < 32; i++)
		made[bpf_get_prandom_u32() & 255]++;
	return 0;
}

LOOP(helper_bounded)
{
	u32 n = bpf_get_prandom_u32() % 24;

	for (u32 i = 0; i < n; i++)
		made[i] += bpf_get_prandom_u32() & 1 ? 2 : 1;
	return 0;
}

LOOP(walk)
{
	s32 at = 32;

	for (int i = 0; i < 24; i++) {
		at += bpf_get_prandom_u32() & 1 ? 1 : -1;
		if (at < 0 || at > 63)
			break;
		made[at]++;
	}
	return 0;
}
