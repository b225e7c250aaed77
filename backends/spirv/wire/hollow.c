/* SPDX-License-Identifier: Apache-2.0 */
#include "hollow.h"

#include <stdint.h>
#include <string.h>

/*
 * Byte offsets in a PoCL binary. Its header has "poclbin", device, version, number of kernels, flags, number of files,
 * and 41 bytes of a hash. The files follow, each after its size in bytes. Version 9 (PoCL 3) stores a missing file with
 * size 0. From version 10 on, missing files are not stored and not counted.
 */
enum { VERSION = 16, FILES = 32, FIRST_FILE = 77, LAST_VERSION = 12 };

bool gpubpf_pocl_binary_lacks_code(const void *binary, size_t size)
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
	if (version == 9)
		return files && !length;
	return version > 9 && version <= LAST_VERSION && !files;
}
