/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens regular files at paths that other users may control. The functions neither block at a FIFO nor open a device.
 * This file uses only libc.
 */
#ifndef GPUBPF_WIRE_OPEN_FILE_H
#define GPUBPF_WIRE_OPEN_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Opens a regular file in the folder `dir` for reading; with AT_FDCWD, `name` is a path. `flags` are additional flags
 * of open(2). Returns a descriptor or -errno: -EISDIR for a folder, -EINVAL for another type of file.
 */
static inline int gpubpf_open_regular(int dir, const char *name, int flags)
{
	struct stat st;
	int fd;

	/* check the type before open(2), because opening a device may have side effects */
	if (fstatat(dir, name, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) /* check again, because the file may have been replaced */
		return fd;
	close(fd);
	return -EINVAL;
}

/* Opens a regular file for reading. On error, returns NULL and sets errno. */
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
