/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs under the user's cache folder, named by a key of hexadecimal digits; the folder has mode 0700, the
 * files 0600, and they appear whole or not at all. What is read back is as untrusted as any file.
 */
#ifndef GPUBPF_HOOKS_CACHE_H
#define GPUBPF_HOOKS_CACHE_H

#include <stdbool.h>
#include <stddef.h>

const char *gpubpf_env_variable(const char *name); /* NULL: there is none */
bool gpubpf_env_cache(char *path, size_t size); /* $XDG_CACHE_HOME/gpubpf or ~/.cache/gpubpf */

/* A key for something known by its content: its SHA-256. */
void gpubpf_cache_key(const void *data, size_t size, char key[65]);
int gpubpf_cache_put(const char *folder, const char *key, const void *data, size_t size);
/* *data is malloc'd. -ENOENT: not there. */
int gpubpf_cache_get(const char *folder, const char *key, size_t max, void **data, size_t *size);

#endif
