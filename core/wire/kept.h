/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in a folder of the user's own, which has mode 0700 and is made where it is missing; the files have 0600, and appear
 * whole or not at all. What is read back is as untrusted as any file. Libc only.
 */
#ifndef GPUBPF_WIRE_KEPT_H
#define GPUBPF_WIRE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

/* Open a folder; make: also make it and the folders above it if they are missing. The user must own each from the cache's
 * root (.../gpubpf) down, with mode 0700; none may be a link. Above the root links must belong to the user or root, and a
 * folder is made only inside a folder of either. -EPERM: one of these is not so. */
int gpubpf_kept_open(const char *folder, bool make);

#define GPUBPF_KEPT_TEMP_SIZE 24

/* Create a temporary file with a new name, and lock it. A descriptor, or -errno. */
int gpubpf_kept_create(int dir, char name[GPUBPF_KEPT_TEMP_SIZE]);
/* Close it and give it its name; after err remove it. 0 or -errno. */
int gpubpf_kept_finish_file(int dir, int fd, const char *temp, const char *name, int err);
/* A name that gpubpf_kept_create() gives. */
bool gpubpf_kept_is_temp(const char *name);
/* Remove such a file if no process writes it any more. */
bool gpubpf_kept_drop_temp(int dir, const char *name);

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
