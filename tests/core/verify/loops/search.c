/* SPDX-License-Identifier: Apache-2.0 */
/* Searching. */
#include "loop.h"

LOOP(binary)
{
	u32 lo = 0, hi = 64, key = length;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (words[mid & 63] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	result = lo;
	return 0;
}

LOOP(binary_steps)
{
	u32 at = 0, key = length;

	for (u32 step = 32; step; step >>= 1)
		if (words[at + step] <= key)
			at += step;
	result = at;
	return 0;
}

LOOP(binary_masks)
{
	u32 at = 0, key = length;

	for (u32 step = 32; step; step >>= 1)
		at += step & -(words[(at + step) & 63] <= key);
	result = at;
	return 0;
}

LOOP(linear)
{
	u32 key = length, at = 64;

	for (u32 i = 0; i < 64; i++)
		if (words[i] == key) {
			at = i;
			break;
		}
	result = at;
	return 0;
}

LOOP(linear_masks)
{
	s32 at = -1;

	for (s32 i = 0; i < 64; i++) {
		s32 m = -(words[i] == length);

		at = (at & ~m) | (i & m);
	}
	result = at;
	return 0;
}

LOOP(largest)
{
	u32 at = 0;

	for (u32 i = 1; i < 64; i++)
		if (words[i] > words[at])
			at = i;
	made[at] = 1;
	return 0;
}

LOOP(two_largest)
{
	u32 a = 0, b = 0;

	for (int i = 0; i < 64; i++) {
		if (words[i] > a) {
			b = a;
			a = words[i];
		} else if (words[i] > b) {
			b = words[i];
		}
	}
	result = (u64)a << 32 | b;
	return 0;
}

LOOP(two_pointers)
{
	u32 i = 0, k = 31, want = length;

	while (i < k) {
		u32 sum = words[i] + words[k];

		if (sum == want)
			break;
		if (sum < want)
			i++;
		else
			k--;
	}
	result = i < k;
	return 0;
}

LOOP(majority)
{
	u32 who = 0, votes = 0;

	for (int i = 0; i < 64; i++) {
		if (!votes)
			who = words[i];
		votes += words[i] == who ? 1 : -1;
	}
	result = who;
	return 0;
}

LOOP(longest_run)
{
	u32 run = 0, best = 0;

	for (int i = 0; i < 48; i++) {
		run = bytes[i] & 1 ? run + 1 : 0;
		if (run > best)
			best = run;
	}
	result = best;
	return 0;
}

LOOP(best_sum)
{
	s32 sum = 0, best = 0;

	for (int i = 0; i < 64; i++) {
		sum += (s32)words[i];
		if (sum < 0)
			sum = 0;
		if (sum > best)
			best = sum;
	}
	result = best;
	return 0;
}

LOOP(failure_table)
{
	u8 fail[16] = { 0 };

	for (u32 i = 1, k = 0; i < 12; i++) {
		for (int n = 0; n < 4 && k && text[i] != text[k & 15]; n++)
			k = fail[(k - 1) & 15];
		if (text[i] == text[k & 15])
			k++;
		fail[i] = k & 15;
	}
	result = fail[11];
	return 0;
}

LOOP(duplicates)
{
	u32 n = 0;

	for (int i = 0; i < 16; i++)
		for (int k = i + 1; k < 16; k++)
			n += bytes[i] == bytes[k];
	result = n;
	return 0;
}

LOOP(first_missing)
{
	u64 seen = 0;
	u32 at = 0;

	for (int i = 0; i < 64; i++)
		if (bytes[i] < 64)
			seen |= 1ull << bytes[i];
	while (at < 64 && seen >> at & 1)
		at++;
	result = at;
	return 0;
}
