/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of ciphers and digests. */
#include "loop.h"

static u32 rotl(u32 x, int n)
{
	return x << n | x >> (32 - n);
}

LOOP(xtea)
{
	u32 a = words[0], b = words[1], sum = 0;

	for (int i = 0; i < 32; i++) {
		a += (b << 4 ^ b >> 5) + b ^ sum + words[8 + (sum & 3)];
		sum += 0x9e3779b9;
		b += (a << 4 ^ a >> 5) + a ^ sum + words[8 + (sum >> 11 & 3)];
	}
	made32[0] = a;
	made32[1] = b;
	return 0;
}

LOOP(rc4_schedule)
{
	u8 k = 0;

	for (int i = 0; i < 256; i++)
		made[i] = i;
	for (int i = 0; i < 256; i++) {
		u8 t = made[i];

		k += t + bytes[i & 15];
		made[i] = made[k];
		made[k] = t;
	}
	return 0;
}

LOOP(rc4_stream)
{
	u8 i = 0, k = 0;

	for (int n = 0; n < 64; n++) {
		u8 t = made[++i];

		k += t;
		made[i] = made[k];
		made[k] = t;
		text[n] ^= made[(u8)(made[i] + t)];
	}
	return 0;
}

#define QUARTER(a, b, c, d)                                     \
	do {                                                    \
		x[a] += x[b], x[d] = rotl(x[d] ^ x[a], 16);     \
		x[c] += x[d], x[b] = rotl(x[b] ^ x[c], 12);     \
		x[a] += x[b], x[d] = rotl(x[d] ^ x[a], 8);      \
		x[c] += x[d], x[b] = rotl(x[b] ^ x[c], 7);      \
	} while (0)

LOOP(chacha)
{
	u32 x[16];

	for (int i = 0; i < 16; i++)
		x[i] = words[i];
	for (int i = 0; i < 10; i++) {
		QUARTER(0, 4, 8, 12);
		QUARTER(1, 5, 9, 13);
		QUARTER(2, 6, 10, 14);
		QUARTER(3, 7, 11, 15);
		QUARTER(0, 5, 10, 15);
		QUARTER(1, 6, 11, 12);
		QUARTER(2, 7, 8, 13);
		QUARTER(3, 4, 9, 14);
	}
	for (int i = 0; i < 16; i++)
		made32[i] = x[i] + words[i];
	return 0;
}

LOOP(speck)
{
	u32 x = words[0], y = words[1], k = words[2], l = words[3];

	for (u32 i = 0; i < 27; i++) {
		x = (rotl(x, 24) + y) ^ k;
		y = rotl(y, 3) ^ x;
		l = (rotl(l, 24) + k) ^ i;
		k = rotl(k, 3) ^ l;
	}
	made32[0] = x;
	made32[1] = y;
	return 0;
}

LOOP(aes_multiply)
{
	for (int i = 0; i < 16; i++) {
		u8 a = bytes[i], b = bytes[i + 16], p = 0;

		for (int k = 0; k < 8; k++) {
			if (b & 1)
				p ^= a;
			a = (u8)(a << 1) ^ (a & 0x80 ? 0x1b : 0);
			b >>= 1;
		}
		made[i] = p;
	}
	return 0;
}

LOOP(aes_multiply_masks)
{
	for (int i = 0; i < 16; i++) {
		u8 a = bytes[i], b = bytes[i + 16], p = 0;

		for (int k = 0; k < 8; k++) {
			p ^= -(b & 1) & a;
			a = (u8)(a << 1) ^ (-(a >> 7) & 0x1b);
			b >>= 1;
		}
		made[i] = p;
	}
	return 0;
}

LOOP(aes_columns)
{
	for (int c = 0; c < 4; c++) {
		u8 all = bytes[4 * c] ^ bytes[4 * c + 1] ^ bytes[4 * c + 2] ^ bytes[4 * c + 3];

		for (int r = 0; r < 4; r++) {
			u8 t = bytes[4 * c + r] ^ bytes[4 * c + ((r + 1) & 3)];

			made[4 * c + r] = bytes[4 * c + r] ^ all ^ (u8)(t << 1 ^ (t >> 7) * 0x1b);
		}
	}
	return 0;
}

LOOP(sha256_schedule)
{
	for (int i = 0; i < 16; i++)
		made32[i] = words[i];
	for (int i = 16; i < 64; i++) {
		u32 a = made32[i - 15], b = made32[i - 2];

		made32[i] = made32[i - 16] + (rotl(a, 25) ^ rotl(a, 14) ^ a >> 3) + made32[i - 7] +
			    (rotl(b, 15) ^ rotl(b, 13) ^ b >> 10);
	}
	return 0;
}

LOOP(sha1_rounds)
{
	u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;

	for (int i = 0; i < 80; i++) {
		u32 f, k, t;

		if (i < 20) {
			f = (b & c) | (~b & d);
			k = 0x5a827999;
		} else if (i < 40) {
			f = b ^ c ^ d;
			k = 0x6ed9eba1;
		} else if (i < 60) {
			f = (b & c) | (b & d) | (c & d);
			k = 0x8f1bbcdc;
		} else {
			f = b ^ c ^ d;
			k = 0xca62c1d6;
		}
		t = rotl(a, 5) + f + e + k + words[i & 63];
		e = d;
		d = c;
		c = rotl(b, 30);
		b = a;
		a = t;
	}
	result = a + b + c + d + e;
	return 0;
}

LOOP(md5_half)
{
	static const u8 turns[4] = { 7, 12, 17, 22 };
	u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;

	for (int i = 0; i < 32; i++) {
		u32 f = i < 16 ? (b & c) | (~b & d) : (d & b) | (~d & c), t = d;
		u32 x = a + f + words[(i < 16 ? i : 5 * i + 1) & 15];

		d = c;
		c = b;
		b += x << turns[i & 3] | x >> (32 - turns[i & 3]);
		a = t;
	}
	result = a ^ b ^ c ^ d;
	return 0;
}

LOOP(caesar)
{
	u32 shift = length % 26;

	for (int i = 0; i < 64; i++) {
		u8 c = text[i];

		if (c >= 'a' && c <= 'z')
			c = 'a' + (c - 'a' + shift) % 26;
		else if (c >= 'A' && c <= 'Z')
			c = 'A' + (c - 'A' + shift) % 26;
		made[i] = c;
	}
	return 0;
}

LOOP(vigenere)
{
	u32 k = 0;

	for (int i = 0; i < 64; i++) {
		made[i] = text[i] ^ bytes[k];
		if (++k == 7)
			k = 0;
	}
	return 0;
}

LOOP(equal_in_constant_time)
{
	u8 differ = 0;

	for (int i = 0; i < 64; i++)
		differ |= text[i] ^ bytes[i];
	result = ((u32)differ - 1) >> 31;
	return 0;
}
