/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results on disk. The key is the SHA-256 of the job and the worker's identity. A file has the SHA-256 of its key and
 * content, then the content (an encoded result). It appears by rename, so a reader sees all or nothing. A damaged file,
 * or a file of another key, counts as missing. The folder must belong to the user and be closed to others. If its files
 * exceed the bound, the least recently used ones are evicted. Every failure is a cache miss, never an error.
 */
#ifndef GPUBPF_WORKER_RESULT_CACHE_H
#define GPUBPF_WORKER_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_RESULT_CACHE_KEY 32
#define GPUBPF_RESULT_CACHE_BOUND (256ull << 20) /* bytes of all files */

void gpubpf_result_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_RESULT_CACHE_KEY]);
/* Can the folder be used? 0, also if it is missing, because gpubpf_result_cache_put() creates it; or -errno: -EPERM if
 * other users have access. */
int gpubpf_result_cache_check(const char *dir);
/* Returns the content, malloc'd, or NULL. */
void *gpubpf_result_cache_get(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size);
void gpubpf_result_cache_put(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
			     uint64_t bound);

#endif
