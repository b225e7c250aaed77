/* SPDX-License-Identifier: Apache-2.0 */
#include "hollow.h"

#include <stdint.h>
#include <string.h>

/* A header, of versions 9 on: "poclbin", device, version, number of kernels, flags, number of files, 41 bytes of a hash. Then
 * files, each behind the bytes that it takes. */
enum { VERSION = 16, FILES = 32, FIRST_FILE = 77, FIRST_VERSION = 9 };

bool gpubpf_cl_is_hollow(const void *binary, size_t size)
{
	static const char magic[8] = "poclbin";
	const char *bytes = binary;
	uint32_t version, files;
	uint64_t length;

	if (size < FIRST_FILE + sizeof(length) || memcmp(bytes, magic, sizeof(magic)))
		return false;
	memcpy(&version, bytes + VERSION, sizeof(version));
	memcpy(&files, bytes + FILES, sizeof(files));
	memcpy(&length, bytes + FIRST_FILE, sizeof(length));
	return version >= FIRST_VERSION && files && !length;
}
