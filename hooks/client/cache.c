/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include "hooks/process/agent_thread.h"
#include "hooks/process/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "core/wire/files/blob_store.h"
#include "core/wire/files/sha256.h"

#define CACHE_FILES_MAX (64u << 20)

void gpubpf_cache_key(const void *data, size_t size, char key[65])
{
	gpubpf_sha256_hex(data, size, key);
}

static bool folder_path(const char *folder, char path[PATH_MAX])
{
	char root[PATH_MAX - 64];

	return gpubpf_env_cache(root, sizeof(root)) && snprintf(path, PATH_MAX, "%s/%.32s", root, folder) < PATH_MAX;
}

/*
 * Arguments of a read or write of a cache file. The access runs on an agent thread (gpubpf_run_on_agent_thread()),
 * because paths are too large for the stack of an application thread.
 */
struct access {
	const char *folder, *key;
	const void *from; /* data to write; NULL: read */
	void **data;
	size_t max, *size;
	int err;
};

static void access_file(void *arg)
{
	struct access *a = arg;
	char path[PATH_MAX];

	if (!folder_path(a->folder, path))
		a->err = -ENOENT;
	else if (a->from)
		a->err = gpubpf_blob_write(path, a->key, a->from, a->max);
	else
		a->err = gpubpf_blob_read(path, a->key, a->max, a->data, a->size);
}

int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size)
{
	struct access a = { folder, key, .from = data, .max = size };

	if (size > CACHE_FILES_MAX)
		return -E2BIG;
	gpubpf_run_on_agent_thread(access_file, &a);
	return a.err;
}

int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size)
{
	struct access a = { folder, key, .data = data, .max = max, .size = size };

	gpubpf_run_on_agent_thread(access_file, &a);
	return a.err;
}
