/* SPDX-License-Identifier: Apache-2.0 */
#include "blob_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open_file.h"
#include "sha256.h"
#include "core/wire/wire.h"
#include "write_all.h"

#define MAGIC 0x3174706b66706267ull /* "gbpfkpt1" */
#define MAX_FILE_BYTES (16u << 20)
#define CACHE "gpubpf" /* name of the cache's root folder */

/* Does the folder belong to this user or to root? Other users can then not replace its content. */
static bool is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || !st->st_uid;
}

/*
 * Create the folder `name` in `dir`. Returns -EPERM if `dir` belongs to another user, who could replace the new folder.
 * Returns -ENOENT if `make` is false.
 */
static int make_in(int dir, const char *name, bool make)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return -errno;
	if (!is_trusted(&st))
		return -EPERM;
	if (!make)
		return -ENOENT;
	return mkdirat(dir, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Open a folder above the cache's root. If `name` is a symbolic link, it must belong to root or this user. */
static int open_above(int dir, const char *name, bool make)
{
	struct stat st;
	int err = 0, fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		err = errno == ENOENT ? make_in(dir, name, make) : -errno;
	else if (S_ISLNK(st.st_mode) && !is_trusted(&st))
		err = -EPERM;
	if (err < 0)
		return err;
	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Open the cache's root or a folder below it. Returns -EPERM if other users own it or have access. */
static int open_own(int dir, const char *name, bool make)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), err;
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		err = make_in(dir, name, make);
		if (err < 0)
			return err;
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/*
 * Returns the position of the cache's root in the path: the last component that is named CACHE, or the last component
 * if none is.
 */
static const char *find_root(const char *path)
{
	const char *root = NULL, *last = path;

	for (const char *at = path; *at; at += strcspn(at, "/")) {
		at += strspn(at, "/");
		if (*at)
			last = at;
		if (strcspn(at, "/") == strlen(CACHE) && !strncmp(at, CACHE, strlen(CACHE)))
			root = at;
	}
	return root ? root : last;
}

int gpubpf_blob_open_dir(const char *folder, bool make)
{
	char path[PATH_MAX], *next;
	const char *root;
	int fd;

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	root = find_root(path);
	fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (char *at = path + strspn(path, "/"); *at; at = next) {
		size_t size = strcspn(at, "/");
		int above = fd;

		next = at + size + strspn(at + size, "/");
		at[size] = 0;
		fd = (at < root ? open_above : open_own)(above, at, make);
		close(above);
		if (fd < 0)
			return fd;
	}
	return fd;
}

/* -- temporary files; the process that writes one holds a lock on it -- */

#define TEMP ".tmp."

int gpubpf_blob_create_temp(int dir, char name[GPUBPF_BLOB_TEMP_NAME_SIZE])
{
	uint64_t any;
	int fd;

	if (getrandom(&any, sizeof(any), 0) != sizeof(any))
		return -EIO;
	snprintf(name, GPUBPF_BLOB_TEMP_NAME_SIZE, TEMP "%016llx", (unsigned long long)any);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd < 0 ? -errno : fd;
}

int gpubpf_blob_finish_file(int dir, int fd, const char *temp, const char *name, int err)
{
	if (!err && renameat(dir, temp, dir, name) < 0) {
		err = -errno;
		if (err == -EISDIR && !unlinkat(dir, name, AT_REMOVEDIR))
			err = renameat(dir, temp, dir, name) < 0 ? -errno : 0;
	}
	if (err)
		unlinkat(dir, temp, 0);
	close(fd);
	return err;
}

bool gpubpf_blob_is_temp(const char *name)
{
	return name[0] == '.' && name[1] && strcmp(name, "..");
}

bool gpubpf_blob_delete_temp(int dir, const char *name)
{
	int fd = gpubpf_open_regular(dir, name, O_NOFOLLOW);
	bool left = fd >= 0 ? flock(fd, LOCK_EX | LOCK_NB) == 0 : fd == -EINVAL;

	if (left)
		unlinkat(dir, name, 0);
	if (fd >= 0)
		close(fd);
	return left;
}

/*
 * Is this the first use of the folder in this process? Used to remove stale temporary files only once, because listing
 * a folder may take longer than writing a file. Returns false for all folders after the first eight.
 */
static bool is_first_use(int dir)
{
	static uint64_t known[8];
	struct stat st;

	if (fstat(dir, &st) < 0)
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&known[i], &none, st.st_ino, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (none == st.st_ino)
			return false;
	}
	return false;
}

static void delete_stale_temps(int folder)
{
	int copy = is_first_use(folder) ? openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (gpubpf_blob_is_temp(d->d_name))
			gpubpf_blob_delete_temp(folder, d->d_name);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

int gpubpf_blob_write(const char *folder, const char *name, const void *data, size_t size)
{
	int dir = gpubpf_blob_open_dir(folder, true), fd, err;
	char temp[GPUBPF_BLOB_TEMP_NAME_SIZE];
	struct stat st;

	if (dir < 0)
		return dir;
	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode)) {
		close(dir);
		return 0;
	}
	delete_stale_temps(dir);
	fd = gpubpf_blob_create_temp(dir, temp);
	err = fd < 0 ? fd : gpubpf_blob_finish_file(dir, fd, temp, name, gpubpf_write_all(fd, data, size));
	close(dir);
	return err;
}

static int read_all(int fd, size_t max, void **data, size_t *size)
{
	struct stat st;
	char *bytes;
	size_t got = 0;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
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

int gpubpf_blob_read(const char *folder, const char *name, size_t max, void **data, size_t *size)
{
	int dir = gpubpf_blob_open_dir(folder, false), fd, err;

	if (dir < 0)
		return -ENOENT;
	fd = gpubpf_open_regular(dir, name, O_NOFOLLOW);
	close(dir);
	if (fd < 0)
		return -ENOENT;
	err = read_all(fd, max, data, size);
	close(fd);
	return err;
}

/* -- blobs; each file also contains the blob's key -- */

/* Returns the data in a cache file. Returns NULL if the file is incomplete or damaged, or has another key. */
static const void *find_content(const uint8_t *file, size_t nfile, const void *key, size_t nkey, size_t *size)
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

static void delete_blob(const char *folder, const char *name)
{
	int dir = gpubpf_blob_open_dir(folder, false);

	if (dir < 0)
		return;
	unlinkat(dir, name, 0);
	close(dir);
}

void *gpubpf_blob_cache_find(const char *folder, const void *key, size_t nkey, size_t *size)
{
	const void *bytes = NULL;
	char name[65];
	void *file = NULL;
	size_t nfile;
	int err;

	gpubpf_sha256_hex(key, nkey, name);
	err = gpubpf_blob_read(folder, name, MAX_FILE_BYTES, &file, &nfile);
	if (err == -ENOENT)
		return NULL;
	if (!err)
		bytes = find_content(file, nfile, key, nkey, size);
	if (bytes)
		return memmove(file, bytes, *size);
	free(file);
	/* the file is damaged or has another key; the caller computes the blob again and adds it */
	delete_blob(folder, name);
	return NULL;
}

void gpubpf_blob_cache_delete(const char *folder, const void *key, size_t nkey)
{
	char name[65];

	gpubpf_sha256_hex(key, nkey, name);
	delete_blob(folder, name);
}

void gpubpf_blob_cache_add(const char *folder, const void *key, size_t nkey, const void *data, size_t size)
{
	struct gpubpf_writer w = { 0 };
	uint8_t digest[32] = { 0 };
	char name[65];

	gpubpf_put_raw(&w, digest, sizeof(digest));
	gpubpf_put_u64(&w, MAGIC);
	gpubpf_put_bytes(&w, key, nkey);
	gpubpf_put_bytes(&w, data, size);
	if (!w.failed && w.size <= MAX_FILE_BYTES) {
		gpubpf_sha256(w.data + sizeof(digest), w.size - sizeof(digest), w.data);
		gpubpf_sha256_hex(key, nkey, name);
		gpubpf_blob_write(folder, name, w.data, w.size);
	}
	gpubpf_writer_finish(&w);
}
