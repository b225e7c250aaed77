/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores blobs in the user's cache folder (gpubpf_env_cache()). A file's name is the key of its blob, in hexadecimal
 * digits. The folder has mode 0700 and the files have mode 0600. A file appears in the folder only when it is complete.
 * Callers must not trust the data that they read back. The functions return 0 or -errno.
 */
#ifndef GPUBPF_HOOKS_CACHE_H
#define GPUBPF_HOOKS_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Compute the key of a blob: the SHA-256 of its content, in hexadecimal digits. */
void gpubpf_cache_key(const void *data, size_t size, char key[65]);
int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size);
/* Read a blob of at most `max` bytes; *data is malloc'd. -ENOENT: no such file. */
int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size);

#endif
