/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "core/wire/kept.h"
#include "core/wire/sha256.h"

#define CACHE_FILES_MAX (64u << 20)

void gpubpf_cache_key(const void *data, size_t size, char key[65])
{
	gpubpf_sha256_hex(data, size, key);
}

static bool below(const char *folder, char path[PATH_MAX])
{
	char root[PATH_MAX - 64];

	return gpubpf_env_cache(root, sizeof(root)) && snprintf(path, PATH_MAX, "%s/%.32s", root, folder) < PATH_MAX;
}

int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size)
{
	char path[PATH_MAX];

	if (size > CACHE_FILES_MAX)
		return -E2BIG;
	return below(folder, path) ? gpubpf_kept_put(path, key, data, size) : -ENOENT;
}

int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size)
{
	char path[PATH_MAX];

	return below(folder, path) ? gpubpf_kept_get(path, key, max, data, size) : -ENOENT;
}
