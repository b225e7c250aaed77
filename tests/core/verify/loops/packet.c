/* SPDX-License-Identifier: Apache-2.0 */
/* Headers, options and names of network packets. */
#include "loop.h"

LOOP(tlv)
{
	u32 at = 0, n = 0;

	for (int i = 0; i < 16 && at + 2 <= 64; i++) {
		u32 size = bytes[at + 1];

		if (bytes[at] == 0)
			break;
		if (at + 2 + size > 64)
			return 1;
		at += 2 + size;
		n++;
	}
	result = n;
	return 0;
}

LOOP(tcp_options)
{
	u32 at = 0, mss = 0;

	for (int i = 0; i < 10 && at < 40; i++) {
		u8 kind = bytes[at & 63], size;

		if (kind == 0)
			break;
		if (kind == 1) {
			at++;
			continue;
		}
		size = bytes[(at + 1) & 63];
		if (size < 2)
			return 1;
		if (kind == 2 && size == 4)
			mss = bytes[(at + 2) & 63] << 8 | bytes[(at + 3) & 63];
		at += size;
	}
	result = mss;
	return 0;
}

LOOP(dns_name)
{
	u32 at = 0, labels = 0;

	for (int i = 0; i < 12; i++) {
		u32 n = bytes[at & 255];

		if (!n)
			break;
		if (n > 63)
			return 1;
		at += n + 1;
		labels++;
	}
	result = labels;
	return 0;
}

LOOP(dns_copy)
{
	u32 left = 0, n = 0;

	for (u32 i = 0; i < 48; i++) {
		u8 c = bytes[i];

		if (!left) {
			if (!c)
				break;
			left = c & 63;
			made[n++ & 63] = '.';
		} else {
			made[n++ & 63] = c;
			left--;
		}
	}
	result = n;
	return 0;
}

LOOP(vlan_tags)
{
	u32 at = 12;
	u16 type = 0;

	for (int i = 0; i < 4; i++) {
		type = (u16)(bytes[at] << 8 | bytes[at + 1]);
		if (type != 0x8100 && type != 0x88a8)
			break;
		at += 4;
	}
	result = type;
	return 0;
}

LOOP(ipv6_extensions)
{
	u32 at = 40;
	u8 next = bytes[6];

	for (int i = 0; i < 6; i++) {
		if (next != 0 && next != 43 && next != 60)
			break;
		if (at > 192)
			return 1;
		next = bytes[at & 255];
		at += (bytes[(at + 1) & 255] + 1) * 8;
	}
	result = (u64)next << 32 | at;
	return 0;
}

LOOP(header_checksum)
{
	u32 words_in = bytes[0] & 15, sum = 0;

	if (words_in < 5)
		return 1;
	for (u32 i = 0; i < 2 * words_in; i++)
		sum += halves[i];
	sum = (sum & 0xffff) + (sum >> 16);
	result = (u16)~(sum + (sum >> 16));
	return 0;
}

LOOP(longest_prefix)
{
	u32 best = 0, at = 64;

	for (u32 i = 0; i < 16; i++) {
		u32 bits = bytes[i] & 31, mask = bits ? ~0u << (32 - bits) : 0;

		if ((words[i] & mask) == (length & mask) && bits >= best) {
			best = bits;
			at = i;
		}
	}
	if (at < 64)
		made32[at]++;
	return 0;
}

LOOP(toeplitz)
{
	u32 h = 0, key = words[0];

	for (int i = 0; i < 12; i++)
		for (int k = 7; k >= 0; k--) {
			if (bytes[i] >> k & 1)
				h ^= key;
			key = key << 1 | (words[i + 1] >> k & 1);
		}
	result = h;
	return 0;
}

LOOP(toeplitz_masks)
{
	u32 h = 0, key = words[0];

	for (int i = 0; i < 12; i++)
		for (int k = 7; k >= 0; k--) {
			h ^= key & -(u32)(bytes[i] >> k & 1);
			key = key << 1 | (words[i + 1] >> k & 1);
		}
	result = h;
	return 0;
}

LOOP(swap_bytes)
{
	for (int i = 0; i < 64; i++)
		made32[i] = __builtin_bswap32(words[i]);
	return 0;
}

LOOP(swap_by_shifts)
{
	for (int i = 0; i < 64; i++) {
		u32 x = words[i];

		made32[i] = x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
	}
	return 0;
}

LOOP(cobs_decode)
{
	u32 n = 0, left = 0;

	for (u32 i = 0; i < 64; i++) {
		u8 c = bytes[i];

		if (left) {
			made[n++ & 127] = c;
			left--;
			continue;
		}
		if (!c)
			break;
		left = c - 1;
		if (c < 255)
			made[n++ & 127] = 0;
	}
	result = n;
	return 0;
}
