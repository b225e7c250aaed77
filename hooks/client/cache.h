/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in the user's cache folder, named by a key of hexadecimal digits. The folder has mode 0700 and the files 0600.
 * Files appear whole or not at all. Callers must treat data read back as untrusted.
 */
#ifndef GPUBPF_HOOKS_CACHE_H
#define GPUBPF_HOOKS_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* The key of a blob: the SHA-256 of its content. */
void gpubpf_cache_key(const void *data, size_t size, char key[65]);
int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size);
/* *data is malloc'd. -ENOENT: no such file. */
int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size);

#endif
