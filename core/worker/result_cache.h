/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches results of jobs on disk. The key is the SHA-256 of the job and the worker's identity. A file contains the
 * SHA-256 of its key and content, then the content, which is an encoded result. It appears by rename, so readers see a
 * complete file or none. A damaged file, or a file with another key, counts as missing. The folder must belong to the
 * user, and other users must have no access. If the files exceed the maximum size, the least recently used files are
 * removed. No failure is reported as an error: it is a cache miss.
 */
#ifndef GPUBPF_WORKER_RESULT_CACHE_H
#define GPUBPF_WORKER_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_RESULT_CACHE_KEY 32
#define GPUBPF_RESULT_CACHE_BOUND (256ull << 20) /* maximum size of all files in bytes */

void gpubpf_result_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_RESULT_CACHE_KEY]);
/*
 * Checks whether the folder can be used. Returns 0, or -errno: -EPERM if other users have access. A missing folder is
 * no error, because gpubpf_result_cache_put() creates it.
 */
int gpubpf_result_cache_check(const char *dir);
/* Returns the content, which the caller frees, or NULL. */
void *gpubpf_result_cache_get(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], size_t *size);
void gpubpf_result_cache_put(const char *dir, const uint8_t key[GPUBPF_RESULT_CACHE_KEY], const void *data, size_t size,
			     uint64_t bound);

#endif
