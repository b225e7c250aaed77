/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, by networks and by loops, in shared memory and on the stack. */
#include "loop.h"

static __always_inline void order(u32 *a, int i, int j)
{
	if (a[i] > a[j]) {
		u32 t = a[i];

		a[i] = a[j];
		a[j] = t;
	}
}

static __always_inline void order_masked(u32 *a, int i, int j)
{
	u32 d = (a[i] ^ a[j]) & -(u32)(a[i] > a[j]);

	a[i] ^= d;
	a[j] ^= d;
}

static __always_inline void take(u32 *a, int n)
{
	for (int i = 0; i < n; i++)
		a[i] = words[i];
}

static __always_inline void give(const u32 *a, int n)
{
	for (int i = 0; i < n; i++)
		made32[i] = a[i];
}

LOOP(network4)
{
	u32 a[4];

	take(a, 4);
	order(a, 0, 1);
	order(a, 2, 3);
	order(a, 0, 2);
	order(a, 1, 3);
	order(a, 1, 2);
	give(a, 4);
	return 0;
}

LOOP(network8_masked)
{
	static const u8 pairs[19][2] = {
		{ 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 }, { 0, 2 }, { 1, 3 }, { 4, 6 }, { 5, 7 }, { 1, 2 }, { 5, 6 },
		{ 0, 4 }, { 3, 7 }, { 1, 5 }, { 2, 6 }, { 1, 4 }, { 3, 6 }, { 2, 4 }, { 3, 5 }, { 3, 4 },
	};
	u32 a[8];

	take(a, 8);
	for (int i = 0; i < 19; i++)
		order_masked(a, pairs[i][0] & 7, pairs[i][1] & 7);
	give(a, 8);
	return 0;
}

LOOP(odd_even)
{
	u32 a[8];

	take(a, 8);
	for (int round = 0; round < 8; round++)
		for (int i = round & 1; i + 1 < 8; i += 2)
			order(a, i, i + 1);
	give(a, 8);
	return 0;
}

LOOP(bitonic)
{
	for (u32 k = 2; k <= 16; k <<= 1)
		for (u32 j = k >> 1; j; j >>= 1)
			for (u32 i = 0; i < 16; i++) {
				u32 l = i ^ j;

				if (l > i && l < 16 && ((words[i] > words[l]) == !(i & k))) {
					u32 t = words[i];

					words[i] = words[l];
					words[l] = t;
				}
			}
	return 0;
}

LOOP(bubble)
{
	for (int i = 0; i < 12; i++)
		for (int k = 0; k + 1 < 12 - i; k++)
			order(words, k, k + 1);
	return 0;
}

LOOP(insertion)
{
	for (int i = 1; i < 12; i++) {
		u32 x = words[i];
		int k = i;

		while (k > 0 && words[k - 1] > x) {
			words[k] = words[k - 1];
			k--;
		}
		words[k] = x;
	}
	return 0;
}

LOOP(selection)
{
	for (u32 i = 0; i < 10; i++) {
		u32 least = i, t;

		for (u32 k = i + 1; k < 10; k++)
			if (words[k] < words[least & 15])
				least = k;
		t = words[i];
		words[i] = words[least & 15];
		words[least & 15] = t;
	}
	return 0;
}

LOOP(shell)
{
	for (int gap = 8; gap; gap >>= 1)
		for (int i = gap; i < 16; i++) {
			int k = i;

			for (int n = 0; n < 16 && k >= gap && words[k - gap] > words[k]; n++) {
				u32 t = words[k];

				words[k] = words[k - gap];
				words[k - gap] = t;
				k -= gap;
			}
		}
	return 0;
}

LOOP(counting)
{
	u8 count[16] = { 0 };
	u32 at = 0;

	for (int i = 0; i < 64; i++)
		count[bytes[i] & 15]++;
	for (int v = 0; v < 16; v++)
		for (int n = 0; n < count[v] && n < 64; n++)
			made[at++ & 255] = v;
	return 0;
}

LOOP(radix_pass)
{
	u16 start[16] = { 0 };

	for (int i = 0; i < 64; i++)
		start[words[i] & 15]++;
	for (u32 sum = 0, v = 0; v < 16; v++) {
		u32 n = start[v];

		start[v] = sum;
		sum += n;
	}
	for (int i = 0; i < 64; i++)
		made32[start[words[i] & 15]++ & 63] = words[i];
	return 0;
}

LOOP(merge)
{
	u32 i = 0, k = 32;

	for (u32 n = 0; n < 64; n++) {
		bool left = k >= 64 || (i < 32 && words[i] <= words[k]);

		if (left && i < 32)
			made32[n] = words[i++];
		else if (k < 64)
			made32[n] = words[k++];
	}
	return 0;
}

LOOP(heap_push)
{
	u32 a[16];
	u32 n = 0;

	for (u32 k = 0; k < 16; k++) {
		u32 i = n++;

		a[i & 15] = words[k];
		while (i > 0) {
			u32 up = (i - 1) / 2;

			if (a[up & 15] <= a[i & 15])
				break;
			u32 t = a[up & 15];

			a[up & 15] = a[i & 15];
			a[i & 15] = t;
			i = up;
		}
	}
	result = a[0];
	return 0;
}

LOOP(median_of_5)
{
	u32 a[5];

	for (int i = 0; i + 5 < 20; i++) {
		for (int k = 0; k < 5; k++)
			a[k] = words[i + k];
		order(a, 0, 1);
		order(a, 3, 4);
		order(a, 0, 3);
		order(a, 1, 4);
		order(a, 1, 2);
		order(a, 2, 3);
		order(a, 1, 2);
		made32[i] = a[2];
	}
	return 0;
}

LOOP(is_sorted)
{
	u32 sorted = 1;

	for (int i = 1; i < 64; i++)
		sorted &= words[i - 1] <= words[i];
	result = sorted;
	return 0;
}
