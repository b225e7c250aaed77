/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha256.h"
#include "wire.h"
#include "write_all.h"

#define MAGIC 0x3174706b66706267ull /* "gbpfkpt1" */
#define MOST (16u << 20)

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

int gpubpf_kept_open(const char *folder, bool make)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
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

int gpubpf_kept_put(const char *folder, const char *name, const void *data, size_t size)
{
	int dir = gpubpf_kept_open(folder, true), fd, err;
	char temp[96];

	if (dir < 0)
		return dir;
	if (!faccessat(dir, name, F_OK, 0)) {
		close(dir);
		return 0;
	}
	snprintf(temp, sizeof(temp), ".%.64s.%d", name, (int)getpid());
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? -errno : gpubpf_write_all(fd, data, size);
	if (fd >= 0)
		close(fd);
	if (!err && renameat(dir, temp, dir, name) < 0)
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

int gpubpf_kept_get(const char *folder, const char *name, size_t max, void **data, size_t *size)
{
	int dir = gpubpf_kept_open(folder, false), fd, err;

	if (dir < 0)
		return -ENOENT;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	close(dir);
	if (fd < 0)
		return -ENOENT;
	err = read_all(fd, max, data, size);
	close(fd);
	return err;
}

/* -- by what they are, whole -- */

/* The file's part behind the digest of it. NULL: torn, or of another key. */
static const void *content(const uint8_t *file, size_t nfile, const void *key, size_t nkey, size_t *size)
{
	uint8_t digest[32];
	struct gpubpf_reader r;
	const void *bytes, *is;
	size_t nis;

	if (nfile < sizeof(digest))
		return NULL;
	gpubpf_sha256(file + sizeof(digest), nfile - sizeof(digest), digest);
	if (memcmp(digest, file, sizeof(digest)))
		return NULL;
	gpubpf_reader_init(&r, file + sizeof(digest), nfile - sizeof(digest));
	if (gpubpf_get_u64(&r) != MAGIC)
		return NULL;
	is = gpubpf_get_bytes(&r, &nis);
	bytes = gpubpf_get_bytes(&r, size);
	return gpubpf_reader_done(&r) && nis == nkey && !memcmp(is, key, nkey) && *size ? bytes : NULL;
}

static void drop(const char *folder, const char *name)
{
	int dir = gpubpf_kept_open(folder, false);

	if (dir < 0)
		return;
	unlinkat(dir, name, 0);
	close(dir);
}

void *gpubpf_kept_find(const char *folder, const void *key, size_t nkey, size_t *size)
{
	const void *bytes = NULL;
	char name[65];
	void *file = NULL;
	size_t nfile;
	int err;

	gpubpf_sha256_hex(key, nkey, name);
	err = gpubpf_kept_get(folder, name, MOST, &file, &nfile);
	if (err == -ENOENT)
		return NULL;
	if (!err)
		bytes = content(file, nfile, key, nkey, size);
	if (bytes)
		return memmove(file, bytes, *size);
	free(file);
	drop(folder, name); /* it is made anew */
	return NULL;
}

void gpubpf_kept_forget(const char *folder, const void *key, size_t nkey)
{
	char name[65];

	gpubpf_sha256_hex(key, nkey, name);
	drop(folder, name);
}

void gpubpf_kept_add(const char *folder, const void *key, size_t nkey, const void *data, size_t size)
{
	struct gpubpf_writer w = { 0 };
	uint8_t digest[32] = { 0 };
	char name[65];

	gpubpf_put_raw(&w, digest, sizeof(digest));
	gpubpf_put_u64(&w, MAGIC);
	gpubpf_put_bytes(&w, key, nkey);
	gpubpf_put_bytes(&w, data, size);
	if (!w.failed && w.size <= MOST) {
		gpubpf_sha256(w.data + sizeof(digest), w.size - sizeof(digest), w.data);
		gpubpf_sha256_hex(key, nkey, name);
		gpubpf_kept_put(folder, name, w.data, w.size);
	}
	gpubpf_writer_finish(&w);
}
