/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, rings, maps and the stack. */
#include "loop.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u64);
} cells SEC(".maps");

struct entry {
	u32 key, value;
};
struct entry table[32];

LOOP(move)
{
	for (int i = 0; i < 128; i++)
		made[i] = bytes[i];
	return 0;
}

LOOP(move_overlapping)
{
	u32 by = length & 15;

	for (int i = 100; i >= 0; i--)
		made[i + by] = made[i];
	return 0;
}

LOOP(fill_of_length)
{
	u32 n = length;

	for (u32 i = 0; i < sizeof(made) && i < n; i++)
		made[i] = (u8)(i ^ n);
	return 0;
}

LOOP(compare)
{
	s32 d = 0;

	for (int i = 0; i < 256; i++)
		if (bytes[i] != made[i]) {
			d = bytes[i] - made[i];
			break;
		}
	result = (u64)(s64)d;
	return 0;
}

LOOP(histogram)
{
	u32 count[16] = { 0 };

	for (int i = 0; i < 128; i++)
		count[bytes[i] >> 4]++;
	for (int i = 0; i < 16; i++)
		made32[i] = count[i];
	return 0;
}

LOOP(histogram_log2)
{
	for (int i = 0; i < 32; i++) {
		u32 slot = 0;
		u64 x = longs[i];

		while (x && slot < 15) {
			x >>= 4;
			slot++;
		}
		made64[slot]++;
	}
	return 0;
}

LOOP(ring)
{
	u32 head = 0, tail = 0;

	for (int i = 0; i < 64; i++) {
		if (bytes[i] & 1) {
			if (head - tail < 16)
				made[head++ & 15] = bytes[i];
		} else if (head != tail) {
			result += made[tail++ & 15];
		}
	}
	return 0;
}

LOOP(open_addressing)
{
	for (int i = 0; i < 8; i++) {
		u32 key = words[i], at = key * 2654435761u >> 27;

		for (int probe = 0; probe < 8; probe++) {
			if (!table[at].key || table[at].key == key) {
				table[at].key = key;
				table[at].value++;
				break;
			}
			at = (at + 1) & 31;
		}
	}
	return 0;
}

LOOP(linked_list)
{
	u32 at = length & 31, sum = 0;

	for (int i = 0; i < 32 && at < 32; i++) {
		sum += table[at].value;
		at = table[at].key;
	}
	result = sum;
	return 0;
}

LOOP(tree_walk)
{
	u32 at = 1, key = length;

	for (int depth = 0; depth < 6 && at < 64; depth++)
		at = 2 * at + (words[at] < key);
	result = at;
	return 0;
}

LOOP(count_in_hash)
{
	for (int i = 0; i < 16; i++) {
		u32 key = bytes[i] & 63;
		u64 *n = bpf_map_lookup_elem(&counts, &key), one = 1;

		if (n)
			__sync_fetch_and_add(n, 1);
		else
			bpf_map_update_elem(&counts, &key, &one, BPF_ANY);
	}
	return 0;
}

LOOP(sum_of_array)
{
	u64 sum = 0;

	for (u32 i = 0; i < 64; i++) {
		u64 *n = bpf_map_lookup_elem(&cells, &i);

		if (n)
			sum += *n;
	}
	result = sum;
	return 0;
}

LOOP(array_until_missing)
{
	u32 key = length & 7;

	for (int i = 0; i < 24; i++) {
		u64 *n = bpf_map_lookup_elem(&cells, &key);

		if (!n)
			return 1;
		key = (u32)*n;
	}
	return 0;
}

static __noinline u32 digit_sum(u32 x)
{
	u32 sum = 0;

	for (int i = 0; i < 10 && x; i++) {
		sum += x % 10;
		x /= 10;
	}
	return sum;
}

LOOP(calls)
{
	u32 sum = 0;

	for (int i = 0; i < 16; i++)
		sum += digit_sum(words[i]);
	result = sum;
	return 0;
}

static __noinline int pick(u32 i)
{
	return i & 1 ? bytes[i & 255] : halves[i & 127];
}

LOOP(calls_decide)
{
	u32 n = 0;

	for (u32 i = 0; i < 32; i++)
		if (pick(i) > 100)
			n++;
	made[n & 63] = 1;
	return 0;
}

LOOP(spills)
{
	u32 a = words[0], b = words[1], c = words[2], d = words[3], e = words[4], f = words[5], g = words[6], h = words[7];

	for (int i = 0; i < 24; i++) {
		u32 t = a ^ b + c ^ d;

		a = b + e;
		b = c ^ f;
		c = d + g;
		d = e ^ h;
		e = f + t;
		f = g ^ words[i];
		g = h + i;
		h = t;
		if (a > b)
			c += d;
	}
	result = a + b + c + d + e + f + g + h;
	return 0;
}
