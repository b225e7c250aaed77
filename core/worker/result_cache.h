/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results on disk, by the SHA-256 of the job and the worker's identity. A file is the SHA-256 of its key and its
 * content, then the content (an encoded result). It appears by rename, so a reader sees all or nothing. A damaged file,
 * or one of another key, counts as missing. The folder must belong to the user and be closed to others. The least
 * recently used files are evicted when it exceeds its bound. Every failure here is a miss, never an error.
 */
#ifndef GPUBPF_WORKER_RESULT_CACHE_H
#define GPUBPF_WORKER_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_RESULT_CACHE_KEY 32
#define GPUBPF_RESULT_CACHE_BOUND (256ull << 20) /* bytes of all files */

void gpubpf_result_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_RESULT_CACHE_KEY]);
/* 0, or the reason why the folder is not used: -EPERM: other users have access. A missing folder will be created. */
int gpubpf_result_cache_check(const char *dir);
/* Returns the content, malloc'd, or NULL. */
void *gpubpf_result_cache_get(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size);
void gpubpf_result_cache_put(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
			     uint64_t bound);

#endif
