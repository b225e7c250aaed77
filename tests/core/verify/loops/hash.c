/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of bytes and of words. */
#include "loop.h"

static u32 rotl(u32 x, int n)
{
	return x << n | x >> (32 - n);
}

static u64 rotl64(u64 x, int n)
{
	return x << n | x >> (64 - n);
}

LOOP(fnv1a)
{
	u32 h = 2166136261u;

	for (int i = 0; i < 256; i++)
		h = (h ^ bytes[i]) * 16777619u;
	result = h;
	return 0;
}

LOOP(fnv1a_bucket)
{
	u32 h = 2166136261u;

	for (int i = 0; i < 32; i++)
		h = (h ^ bytes[i]) * 16777619u;
	made32[h % 64]++;
	return 0;
}

LOOP(djb2_string)
{
	u32 h = 5381;

	for (int i = 0; i < 64 && text[i]; i++)
		h = h * 33 + text[i];
	result = h;
	return 0;
}

LOOP(sdbm)
{
	u32 h = 0;

	for (int i = 0; i < 64; i++) {
		if (!text[i])
			break;
		h = text[i] + (h << 6) + (h << 16) - h;
	}
	made32[h & 63] = h;
	return 0;
}

LOOP(one_at_a_time)
{
	u32 h = 0;

	for (int i = 0; i < 96; i++) {
		h += bytes[i];
		h += h << 10;
		h ^= h >> 6;
	}
	h += h << 3;
	h ^= h >> 11;
	h += h << 15;
	result = h;
	return 0;
}

LOOP(murmur3_words)
{
	u32 h = length;

	for (int i = 0; i < 48; i++) {
		u32 k = words[i] * 0xcc9e2d51;

		h ^= rotl(k, 15) * 0x1b873593;
		h = rotl(h, 13) * 5 + 0xe6546b64;
	}
	h ^= h >> 16;
	h *= 0x85ebca6b;
	h ^= h >> 13;
	h *= 0xc2b2ae35;
	h ^= h >> 16;
	result = h;
	return 0;
}

LOOP(elf_hash)
{
	u32 h = 0;

	for (int i = 0; i < 48 && text[i]; i++) {
		u32 g;

		h = (h << 4) + text[i];
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	result = h;
	return 0;
}

LOOP(xx_lanes)
{
	u32 a = 1, b = 2, c = 3, d = 4;

	for (int i = 0; i < 64; i += 4) {
		a = rotl(a + words[i] * 2246822519u, 13) * 2654435761u;
		b = rotl(b + words[i + 1] * 2246822519u, 13) * 2654435761u;
		c = rotl(c + words[i + 2] * 2246822519u, 13) * 2654435761u;
		d = rotl(d + words[i + 3] * 2246822519u, 13) * 2654435761u;
	}
	result = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
	return 0;
}

LOOP(sip_rounds)
{
	u64 v0 = longs[0], v1 = longs[1], v2 = longs[2], v3 = longs[3];

	for (int i = 0; i < 24; i++) {
		v3 ^= longs[i];
		v0 += v1;
		v1 = rotl64(v1, 13) ^ v0;
		v0 = rotl64(v0, 32);
		v2 += v3;
		v3 = rotl64(v3, 16) ^ v2;
		v0 += v3;
		v3 = rotl64(v3, 21) ^ v0;
		v2 += v1;
		v1 = rotl64(v1, 17) ^ v2;
		v2 = rotl64(v2, 32);
		v0 ^= longs[i];
	}
	result = v0 ^ v1 ^ v2 ^ v3;
	return 0;
}

LOOP(mix64)
{
	for (int i = 0; i < 32; i++) {
		u64 x = longs[i];

		x ^= x >> 30;
		x *= 0xbf58476d1ce4e5b9ull;
		x ^= x >> 27;
		x *= 0x94d049bb133111ebull;
		made64[i] = x ^ x >> 31;
	}
	return 0;
}

LOOP(pearson)
{
	u8 h = 0;

	for (int i = 0; i < 64; i++)
		h = bytes[h ^ text[i]];
	result = h;
	return 0;
}

LOOP(bloom_add)
{
	for (int i = 0; i < 16; i++) {
		u32 h = words[i] * 2654435761u;

		for (int k = 0; k < 3; k++) {
			made[h >> 24] |= 1 << (h & 7);
			h = h * 1664525 + 1013904223;
		}
	}
	return 0;
}

LOOP(rolling)
{
	u32 h = 0, best = ~0u, at = 0;

	for (u32 i = 0; i < 128; i++) {
		h = h * 31 + bytes[i];
		if (i >= 16)
			h -= bytes[i - 16] * 2111290369u;
		if (h < best) {
			best = h;
			at = i;
		}
	}
	made[at] = 1;
	return 0;
}
