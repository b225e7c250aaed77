/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/write_all.h"
#include "sha256.h"

#define CACHE_FILES_MAX (64u << 20)

void gpubpf_cache_key(const void *data, size_t size, char key[65])
{
	uint8_t digest[32];

	gpubpf_sha256(data, size, digest);
	for (int i = 0; i < 32; i++)
		snprintf(key + 2 * i, 3, "%02x", digest[i]);
}

static int make_folder(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = 0;
		mkdir(path, 0700);
		*at = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Open the cache's folder; only one that is the user's own and closed to others will do. */
static int open_folder(const char *folder, bool make)
{
	char path[PATH_MAX], root[PATH_MAX - 64];
	struct stat st;
	int fd;

	if (!gpubpf_env_cache(root, sizeof(root)))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%.32s", root, folder);
	if (make && make_folder(path) < 0)
		return -EACCES;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size)
{
	int dir = open_folder(folder, true), fd, err;
	char temp[96];

	if (dir < 0)
		return dir;
	if (size > CACHE_FILES_MAX || !faccessat(dir, key, F_OK, 0)) {
		close(dir);
		return size > CACHE_FILES_MAX ? -E2BIG : 0;
	}
	snprintf(temp, sizeof(temp), ".%.64s.%d", key, (int)getpid());
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? -errno : gpubpf_write_all(fd, data, size);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(dir, temp, dir, key) < 0)
		err = -errno;
	if (err)
		unlinkat(dir, temp, 0);
	close(dir);
	return err;
}

static int read_all(int fd, size_t max, void **data, size_t *size)
{
	struct stat st;
	char *bytes;
	size_t got = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	if (st.st_size <= 0 || (uint64_t)st.st_size > max)
		return -E2BIG;
	bytes = malloc(st.st_size);
	while (bytes && got < (size_t)st.st_size) {
		ssize_t n = read(fd, bytes + got, st.st_size - got);

		if (n <= 0)
			break;
		got += n;
	}
	if (!bytes || got != (size_t)st.st_size) {
		free(bytes);
		return bytes ? -EIO : -ENOMEM;
	}
	*data = bytes;
	*size = got;
	return 0;
}

int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size)
{
	int dir = open_folder(folder, false), fd, err;

	if (dir < 0)
		return -ENOENT;
	fd = openat(dir, key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(dir);
	if (fd < 0)
		return -ENOENT;
	err = read_all(fd, max, data, size);
	close(fd);
	return err;
}
