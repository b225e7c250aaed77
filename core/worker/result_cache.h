/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results on disk, by the SHA-256 of the job and of what identifies the worker. A file is the SHA-256 of
 * its key and its content, then the content (an encoded result); it appears by rename, so a reader sees all or
 * nothing, and one that is damaged, or another's under this name, is as good as none. The folder must be the user's
 * own and closed to others. Least recently used files go when it exceeds its bound. Every failure here means a
 * miss, never an error.
 */
#ifndef GPUBPF_WORKER_RESULT_CACHE_H
#define GPUBPF_WORKER_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_RESULT_CACHE_KEY 32
#define GPUBPF_RESULT_CACHE_BOUND (256ull << 20) /* bytes of all files together */

void gpubpf_result_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_RESULT_CACHE_KEY]);
/* 0, or why the folder is not used: -EPERM: it is not this user's alone. One that is missing will be made. */
int gpubpf_result_cache_check(const char *dir);
/* The content, malloc'd, or NULL. */
void *gpubpf_result_cache_get(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size);
void gpubpf_result_cache_put(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
			     uint64_t bound);

#endif
