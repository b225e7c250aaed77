/* SPDX-License-Identifier: Apache-2.0 */
/* Two-dimensional tables, and computations by rows. */
#include "loop.h"

LOOP(multiply)
{
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++) {
			u32 sum = 0;

			for (int j = 0; j < 4; j++)
				sum += words[4 * i + j] * words[16 + 4 * j + k];
			made32[4 * i + k] = sum;
		}
	return 0;
}

LOOP(transpose)
{
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 8; k++)
			made32[8 * k + i] = words[8 * i + k];
	return 0;
}

LOOP(prefix_sums)
{
	u64 sum = 0;

	for (int i = 0; i < 32; i++) {
		sum += longs[i];
		made64[i] = sum;
	}
	return 0;
}

LOOP(convolve)
{
	static const s8 kernel[5] = { 1, -4, 6, -4, 1 };

	for (int i = 2; i < 62; i++) {
		s32 sum = 0;

		for (int k = -2; k <= 2; k++)
			sum += kernel[k + 2] * (s32)words[i + k];
		made32[i] = (u32)sum;
	}
	return 0;
}

LOOP(life)
{
	for (u32 y = 1; y < 7; y++)
		for (u32 x = 1; x < 7; x++) {
			u32 n = 0;

			for (int d = 0; d < 9; d++)
				n += d != 4 && bytes[8 * (y + d / 3 - 1) + x + d % 3 - 1] & 1;
			made[8 * y + x] = n == 3 || (n == 2 && bytes[8 * y + x] & 1);
		}
	return 0;
}

LOOP(shortest_ways)
{
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < 5; i++)
			for (int j = 0; j < 5; j++) {
				u32 over = words[8 * i + k] + words[8 * k + j];

				if (over < words[8 * i + j])
					words[8 * i + j] = over;
			}
	return 0;
}

LOOP(edit_distance)
{
	u8 row[9];

	for (int i = 0; i < 9; i++)
		row[i] = i;
	for (int i = 0; i < 6; i++) {
		u8 diagonal = row[0]++;

		for (int k = 0; k < 8; k++) {
			u8 best = diagonal + (text[i] != bytes[k]);

			diagonal = row[k + 1];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k + 1] + 1 < best)
				best = row[k + 1] + 1;
			row[k + 1] = best;
		}
	}
	result = row[8];
	return 0;
}

LOOP(knapsack)
{
	u32 best[32] = { 0 };

	for (int i = 0; i < 6; i++) {
		u32 weight = (bytes[i] & 7) + 1;

		for (u32 w = 31; w > 0; w--)
			if (w >= weight && best[(w - weight) & 31] + words[i] > best[w])
				best[w] = best[(w - weight) & 31] + words[i];
	}
	result = best[31];
	return 0;
}

LOOP(longest_common)
{
	u32 row[9] = { 0 };

	for (int i = 0; i < 8; i++) {
		u32 diagonal = 0;

		for (int k = 1; k < 9; k++) {
			u32 up = row[k];

			row[k] = text[i] == bytes[k - 1] ? diagonal + 1 : up > row[k - 1] ? up : row[k - 1];
			diagonal = up;
		}
	}
	result = row[8];
	return 0;
}

LOOP(determinant)
{
	s64 sum = 0;

	for (int i = 0; i < 3; i++) {
		int a = (i + 1) % 3, b = (i + 2) % 3;

		sum += (s64)(s32)words[i] *
		       ((s64)(s32)words[3 + a] * (s32)words[6 + b] - (s64)(s32)words[3 + b] * (s32)words[6 + a]);
	}
	result = (u64)sum;
	return 0;
}

LOOP(pascal)
{
	u32 row[16] = { 1 };

	for (int i = 1; i < 16; i++)
		for (int k = i; k > 0; k--)
			row[k] += row[k - 1];
	for (int i = 0; i < 16; i++)
		made32[i] = row[i];
	return 0;
}

LOOP(flood)
{
	u64 filled = 1, walls = longs[0];

	for (int i = 0; i < 24; i++) {
		u64 next = filled | filled << 8 | filled >> 8 | (filled << 1 & ~0x0101010101010101ull) |
			   (filled >> 1 & ~0x8080808080808080ull);

		next &= ~walls;
		if (next == filled)
			break;
		filled = next;
	}
	result = filled;
	return 0;
}

LOOP(queens_attack)
{
	for (int i = 0; i < 8; i++)
		for (int k = i + 1; k < 8; k++) {
			u32 a = bytes[i] & 7, b = bytes[k] & 7;

			if (a == b || a + (k - i) == b || b + (k - i) == a)
				return 1;
		}
	result = 1;
	return 0;
}
