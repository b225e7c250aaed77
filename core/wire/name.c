/* SPDX-License-Identifier: Apache-2.0 */
#include "name.h"

#include <stdint.h>
#include <stdio.h>
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
	snprintf(out, GPUBPF_NAME_SIZE, "%.*s$%016llx$%.*s", (int)HEAD, name, (unsigned long long)hash, (int)TAIL,
		 name + len - TAIL);
}
