/* SPDX-License-Identifier: Apache-2.0 */
#include "name.h"

#include <stdint.h>
#include <string.h>

#define HASH 18                                      /* "$0123456789abcdef$" */
#define HEAD ((GPUBPF_SHORT_NAME - HASH) / 2)
#define TAIL (GPUBPF_SHORT_NAME - HASH - HEAD)

void gpubpf_name_short(const char *name, size_t len, char out[GPUBPF_NAME_SIZE])
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	if (len <= GPUBPF_SHORT_NAME) {
		memcpy(out, name, len);
		out[len] = 0;
		return;
	}
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
	out = mempcpy(out, name, HEAD);
	*out++ = '$';
	/* Avoid printf(), which needs 2 KiB of stack: launches of the application call this function to match names. */
	for (int bit = 60; bit >= 0; bit -= 4)
		*out++ = "0123456789abcdef"[hash >> bit & 15];
	*out++ = '$';
	out = mempcpy(out, name + len - TAIL, TAIL);
	*out = 0;
}
