/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in a folder of the user's own, which has mode 0700 and is made where it is missing; the files have 0600, and appear
 * whole or not at all. What is read back is as untrusted as any file. Libc only.
 */
#ifndef GPUBPF_WIRE_KEPT_H
#define GPUBPF_WIRE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* The folder, open; make: it and those above it, where they are missing. -EPERM: it is another's, or open to others. */
int gpubpf_kept_open(const char *folder, bool make);

/* By a name; what is there already stays. 0 or -errno. */
int gpubpf_kept_put(const char *folder, const char *name, const void *data, size_t size);
/* *data is malloc'd. -ENOENT: not there. */
int gpubpf_kept_get(const char *folder, const char *name, size_t max, void **data, size_t *size);

/* By all that they follow from. A file has that, whole, and a digest: one that is torn, or another's under this name, is
 * removed, and as good as none. malloc'd, or NULL. */
void *gpubpf_kept_find(const char *folder, const void *key, size_t nkey, size_t *size);
void gpubpf_kept_add(const char *folder, const void *key, size_t nkey, const void *data, size_t size); /* as far as it can */
void gpubpf_kept_forget(const char *folder, const void *key, size_t nkey);

#endif
