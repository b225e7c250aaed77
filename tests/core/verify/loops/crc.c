/* SPDX-License-Identifier: Apache-2.0 */
/* Cyclic redundancy checks, bit by bit and by tables. */
#include "loop.h"

LOOP(crc32_mask)
{
	u32 crc = ~0u;

	for (int i = 0; i < 32; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0xedb88320 & -(crc & 1));
	}
	result = ~crc;
	return 0;
}

LOOP(crc32_branch)
{
	u32 crc = ~0u;

	for (int i = 0; i < 16; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			if (crc & 1)
				crc = (crc >> 1) ^ 0xedb88320;
			else
				crc >>= 1;
	}
	result = ~crc;
	return 0;
}

LOOP(crc32_up)
{
	u32 crc = 0;

	for (int i = 0; i < 32; i++) {
		crc ^= (u32)bytes[i] << 24;
		for (int k = 0; k < 8; k++)
			crc = (crc << 1) ^ (0x04c11db7 & (u32)((s32)crc >> 31));
	}
	result = crc;
	return 0;
}

LOOP(crc16_ccitt)
{
	u16 crc = 0xffff;

	for (int i = 0; i < 64; i++) {
		crc ^= (u16)(bytes[i] << 8);
		for (int k = 0; k < 8; k++)
			crc = crc & 0x8000 ? (u16)(crc << 1) ^ 0x1021 : (u16)(crc << 1);
	}
	result = crc;
	return 0;
}

LOOP(crc8_maxim)
{
	u8 crc = 0;

	for (int i = 0; i < 64; i++) {
		u8 b = bytes[i];

		for (int k = 0; k < 8; k++) {
			u8 mix = (crc ^ b) & 1;

			crc >>= 1;
			if (mix)
				crc ^= 0x8c;
			b >>= 1;
		}
	}
	result = crc;
	return 0;
}

LOOP(crc64_mask)
{
	u64 crc = 0;

	for (int i = 0; i < 32; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0xc96c5795d7870f42ull & -(crc & 1));
	}
	result = crc;
	return 0;
}

LOOP(crc32_table)
{
	u32 crc = ~0u;

	for (int i = 0; i < 32; i++)
		crc = (crc >> 8) ^ words[(crc ^ bytes[i]) & 63];
	result = ~crc;
	return 0;
}

LOOP(crc32_nibbles)
{
	static const u32 table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	u32 crc = ~0u;

	for (int i = 0; i < 64; i++) {
		crc = (crc >> 4) ^ table[(crc ^ bytes[i]) & 15];
		crc = (crc >> 4) ^ table[(crc ^ (bytes[i] >> 4)) & 15];
	}
	result = ~crc;
	return 0;
}

LOOP(crc32_make_table)
{
	for (u32 i = 0; i < 64; i++) {
		u32 c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ 0xedb88320 : c >> 1;
		made32[i] = c;
	}
	return 0;
}

LOOP(crc_of_length)
{
	u32 crc = ~0u, n = length;

	for (u32 i = 0; i < 256 && i < n; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0x82f63b78 & -(crc & 1));
	}
	result = ~crc;
	return 0;
}

LOOP(crc_compare)
{
	u32 crc = ~0u;

	for (int i = 0; i < 20; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (0xedb88320 & -(crc & 1));
	}
	if (crc == words[0])
		result = 1;
	else
		made[crc & 255]++;
	return 0;
}
