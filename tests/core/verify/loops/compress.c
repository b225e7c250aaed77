/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking. */
#include "loop.h"

LOOP(run_lengths)
{
	u32 n = 0, run = 1;

	for (int i = 1; i < 64; i++) {
		if (bytes[i] == bytes[i - 1] && run < 255) {
			run++;
			continue;
		}
		made[n & 127] = run;
		made[(n + 1) & 127] = bytes[i - 1];
		n += 2;
		run = 1;
	}
	result = n;
	return 0;
}

LOOP(run_lengths_back)
{
	u32 n = 0;

	for (int i = 0; i < 16; i += 2) {
		u32 run = bytes[i] & 15;

		for (u32 k = 0; k < run; k++)
			made[n++ & 255] = bytes[i + 1] + k;
	}
	result = n;
	return 0;
}

LOOP(differences)
{
	u8 last = 0;

	for (int i = 0; i < 256; i++) {
		made[i] = bytes[i] - last;
		last = bytes[i];
	}
	return 0;
}

LOOP(differences_back)
{
	u8 sum = 0;

	for (int i = 0; i < 256; i++) {
		sum += bytes[i];
		made[i] = sum;
	}
	return 0;
}

LOOP(lz_decode)
{
	u32 i = 0, n = 0;

	for (int step = 0; step < 12 && i < 60; step++) {
		u8 token = bytes[i++ & 63];

		if (token & 0x80) {
			u32 from = n - (bytes[i++ & 63] & 31) - 1;

			for (u32 k = 0; k < (token & 7); k++)
				made[n++ & 255] = made[from++ & 255];
		} else {
			made[n++ & 255] = token;
		}
	}
	result = n;
	return 0;
}

LOOP(pack_bits)
{
	u64 acc = 0;
	u32 have = 0, n = 0;

	for (int i = 0; i < 60; i++) {
		acc |= (u64)(bytes[i] & 31) << have;
		have += 5;
		while (have >= 8) {
			made[n++ & 63] = (u8)acc;
			acc >>= 8;
			have -= 8;
		}
	}
	result = n;
	return 0;
}

LOOP(unpack_bits)
{
	for (u32 i = 0; i < 40; i++) {
		u32 bit = 5 * i, pair = bytes[bit / 8] | bytes[bit / 8 + 1] << 8;

		made[i] = pair >> bit % 8 & 31;
	}
	return 0;
}

LOOP(huffman_decode)
{
	u32 node = 0, n = 0;

	for (int i = 0; i < 96; i++) {
		u32 bit = bytes[i / 8] >> i % 8 & 1;

		node = halves[2 * (node & 31) + bit];
		if (node >= 32) {
			made[n++ & 63] = (u8)node;
			node = 0;
		}
	}
	result = n;
	return 0;
}

LOOP(move_to_front)
{
	u8 order[16];

	for (int i = 0; i < 16; i++)
		order[i] = i;
	for (int i = 0; i < 12; i++) {
		u8 want = bytes[i] & 15, carried = want;

		for (int k = 0; k < 16; k++) {
			u8 here = order[k];

			order[k] = carried;
			carried = here;
			if (here == want) {
				made[i] = k;
				break;
			}
		}
	}
	return 0;
}

LOOP(golomb)
{
	u32 bit = 0;

	for (int i = 0; i < 12; i++) {
		u32 q = 0, r;

		while (q < 8 && bytes[bit / 8 & 31] >> bit % 8 & 1) {
			bit++;
			q++;
		}
		bit++;
		r = bytes[bit / 8 & 31] >> bit % 8 & 3;
		bit += 2;
		made[i] = q << 2 | r;
	}
	return 0;
}

LOOP(bitmap_to_list)
{
	u32 n = 0;

	for (u32 i = 0; i < 128; i++)
		if (bytes[i / 8] >> (i & 7) & 1)
			made[n++ & 127] = i;
	result = n;
	return 0;
}

LOOP(entropy)
{
	u32 sum = 0;

	for (int i = 0; i < 64; i++)
		made32[bytes[i] & 63]++;
	for (int i = 0; i < 64; i++) {
		u32 n = made32[i], bits = 0;

		while (n > 1 && bits < 8) {
			n >>= 1;
			bits++;
		}
		sum += bits;
	}
	result = sum;
	return 0;
}
