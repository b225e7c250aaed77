/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a memfd's size against the process's limit on file sizes (ulimit -f). A write beyond the limit would raise
 * SIGXFSZ, which ends the process.
 */
#ifndef GPUBPF_WIRE_FILE_SIZE_H
#define GPUBPF_WIRE_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

static inline bool gpubpf_file_size_allowed(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

#endif
