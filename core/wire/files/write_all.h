/* SPDX-License-Identifier: Apache-2.0 */
/* Writes all bytes to a blocking file descriptor (file, pipe or memfd). Returns 0 or -errno. */
#ifndef GPUBPF_WIRE_WRITE_ALL_H
#define GPUBPF_WIRE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

static inline int gpubpf_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		size -= n;
	}
	return 0;
}

#endif
