/* SPDX-License-Identifier: Apache-2.0 */
#include "result_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/files/blob_store.h"
#include "core/wire/files/open_file.h"
#include "core/wire/files/write_all.h"

#define SUFFIX ".gpubpf"

void gpubpf_result_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_RESULT_CACHE_KEY])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, strlen(identity) + 1, (const uint8_t *)identity);
	sha256_update(&ctx, size, job);
	sha256_digest(&ctx, GPUBPF_RESULT_CACHE_KEY, key);
}

/*
 * Computes the digest of key and content. Because the digest depends on the key, a file that was renamed to another key
 * is invalid.
 */
static void digest(const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
		   uint8_t out[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, GPUBPF_RESULT_CACHE_KEY, key);
	sha256_update(&ctx, size, data);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, out);
}

static void file_name(const uint8_t key[GPUBPF_RESULT_CACHE_KEY], char name[2 * GPUBPF_RESULT_CACHE_KEY + sizeof(SUFFIX)])
{
	for (int i = 0; i < GPUBPF_RESULT_CACHE_KEY; i++)
		sprintf(name + 2 * i, "%02x", key[i]);
	strcat(name, SUFFIX);
}

static bool read_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t n = read(fd, at, size);

		if (n <= 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

/* Returns the maximum size of one result in bytes, so that a large result does not displace all others. */
static uint64_t max_result_bytes(uint64_t bound)
{
	return bound / 4;
}

static void *read_checked(int fd, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size)
{
	uint8_t want[SHA256_DIGEST_SIZE], got[SHA256_DIGEST_SIZE];
	struct stat st;
	void *data;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return NULL;
	if (st.st_size <= (off_t)sizeof(want) ||
	    (uint64_t)st.st_size > max_result_bytes(GPUBPF_RESULT_CACHE_BOUND) + sizeof(want))
		return NULL;
	*size = st.st_size - sizeof(want);
	data = malloc(*size);
	if (!data)
		return NULL;
	if (read_all(fd, want, sizeof(want)) && read_all(fd, data, *size)) {
		digest(key, data, *size, got);
		if (!memcmp(want, got, sizeof(want)))
			return data;
	}
	free(data);
	return NULL;
}

int gpubpf_result_cache_check(const char *dir)
{
	int fd = gpubpf_blob_open_dir(dir, false);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -ENOENT ? 0 : fd;
}

void *gpubpf_result_cache_get(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size)
{
	char name[2 * GPUBPF_RESULT_CACHE_KEY + sizeof(SUFFIX)];
	int dirfd = gpubpf_blob_open_dir(dir, false), fd;
	void *data = NULL;

	if (dirfd < 0)
		return NULL;
	file_name(key, name);
	fd = gpubpf_open_regular(dirfd, name, O_NOFOLLOW);
	data = fd >= 0 ? read_checked(fd, key, size) : NULL;
	if (data)
		futimens(fd, NULL); /* the modification time is the time of the last use */
	else if (fd != -ENOENT)
		/* remove an invalid result: a link, a FIFO, another user's file or a damaged file */
		unlinkat(dirfd, name, 0);
	if (fd >= 0)
		close(fd);
	close(dirfd);
	return data;
}

struct entry {
	char name[2 * GPUBPF_RESULT_CACHE_KEY + sizeof(SUFFIX)];
	struct timespec used;
	uint64_t size;
};

static int is_older(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static bool is_result_file(const char *name)
{
	size_t n = strlen(name);

	return n == sizeof(((struct entry *)0)->name) - 1 && !strcmp(name + 2 * GPUBPF_RESULT_CACHE_KEY, SUFFIX);
}

/* Does the file count towards the cache's maximum size? Removes temporary files that no process writes any more. */
static bool is_counted(int dir, const char *name, struct stat *st)
{
	if (!is_result_file(name) && (!gpubpf_blob_is_temp(name) || gpubpf_blob_delete_temp(dir, name)))
		return false;
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Lists the result files in `dir`. Stores in *total the size of all result and temporary files in bytes. */
static struct entry *list(DIR *dir, size_t *n, uint64_t *total)
{
	struct entry *entries = NULL;
	size_t room = 0;
	struct dirent *d;
	struct stat st;

	*n = 0;
	*total = 0;
	while ((d = readdir(dir))) {
		if (!is_counted(dirfd(dir), d->d_name, &st))
			continue;
		*total += st.st_size;
		if (!is_result_file(d->d_name))
			continue;
		if (*n == room) {
			struct entry *grown = realloc(entries, (room = room ? 2 * room : 64) * sizeof(*entries));

			if (!grown)
				break;
			entries = grown;
		}
		strcpy(entries[*n].name, d->d_name);
		entries[*n].used = st.st_mtim;
		entries[*n].size = st.st_size;
		++*n;
	}
	return entries;
}

/*
 * Returns true once per bound / 16 added bytes. An eviction after every added file would take too long, because it
 * lists a folder of thousands of files.
 */
static bool is_eviction_due(size_t size, uint64_t bound)
{
	/* bytes added since the last eviction; the initial value triggers an eviction after the first file */
	static uint64_t since = UINT64_MAX / 2;

	if (__atomic_add_fetch(&since, size, __ATOMIC_RELAXED) < bound / 16)
		return false;
	__atomic_store_n(&since, 0, __ATOMIC_RELAXED);
	return true;
}

static void evict(int dirfd, uint64_t bound)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct entry *entries;
	uint64_t total;
	size_t n;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	entries = list(dir, &n, &total);
	if (total > bound) {
		qsort(entries, n, sizeof(*entries), is_older);
		for (size_t i = 0; i < n && total > bound; i++) {
			unlinkat(dirfd, entries[i].name, 0);
			total -= entries[i].size;
		}
	}
	free(entries);
	closedir(dir);
}

static int write_file(int fd, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size)
{
	uint8_t sum[SHA256_DIGEST_SIZE];

	digest(key, data, size, sum);
	return gpubpf_write_all(fd, sum, sizeof(sum)) < 0 ? -EIO : gpubpf_write_all(fd, data, size);
}

void gpubpf_result_cache_put(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
			     uint64_t bound)
{
	char name[2 * GPUBPF_RESULT_CACHE_KEY + sizeof(SUFFIX)], temp[GPUBPF_BLOB_TEMP_NAME_SIZE];
	int fd, dirfd;

	if (size > max_result_bytes(bound))
		return;
	dirfd = gpubpf_blob_open_dir(dir, true);
	if (dirfd < 0)
		return;
	file_name(key, name);
	fd = gpubpf_blob_create_temp(dirfd, temp);
	if (fd >= 0 && !gpubpf_blob_finish_file(dirfd, fd, temp, name, write_file(fd, key, data, size)) &&
	    is_eviction_due(size, bound))
		evict(dirfd, bound);
	close(dirfd);
}
