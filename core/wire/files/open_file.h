/* SPDX-License-Identifier: Apache-2.0 */
/* Opens regular files at paths that other users may control: it neither blocks at a FIFO nor opens a device.
 * Libc only. */
#ifndef GPUBPF_WIRE_OPEN_FILE_H
#define GPUBPF_WIRE_OPEN_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Opens a regular file in the folder `dir` (AT_FDCWD: by its path) for reading. `flags`: additional flags of open(2).
 * Returns a descriptor or -errno: -EISDIR for a folder, -EINVAL for another kind of file.
 */
static inline int gpubpf_open_regular(int dir, const char *name, int flags)
{
	struct stat st;
	int fd;

	/* check the type first, because opening a device may have effects */
	if (fstatat(dir, name, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) /* the file may have been replaced since */
		return fd;
	close(fd);
	return -EINVAL;
}

/* Opens a regular file for reading. After an error: NULL, and errno is set. */
static inline FILE *gpubpf_fopen_regular(const char *path)
{
	int fd = gpubpf_open_regular(AT_FDCWD, path, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd < 0)
		errno = -fd;
	else if (!file)
		close(fd);
	return file;
}

#endif
