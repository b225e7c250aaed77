/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results on disk, by the SHA-256 of the job and of what identifies the worker. A file is the SHA-256 of
 * its content, then the content (an encoded result); it appears by rename, so a reader sees all or
 * nothing, and a damaged one is as good as none. Least recently used files go when the folder exceeds
 * its bound. Every failure here means a miss, never an error.
 */
#ifndef GPUBPF_WORKER_CACHE_H
#define GPUBPF_WORKER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_CACHE_KEY 32
#define GPUBPF_CACHE_BOUND (256ull << 20) /* bytes of all files together */

void gpubpf_cache_key(const char *identity, const void *job, size_t size, uint8_t key[GPUBPF_CACHE_KEY]);
/* The content, malloc'd, or NULL. */
void *gpubpf_cache_get(const char *dir, const uint8_t key[GPUBPF_CACHE_KEY], size_t *size);
void gpubpf_cache_put(const char *dir, const uint8_t key[GPUBPF_CACHE_KEY], const void *data, size_t size,
		      uint64_t bound);

#endif
