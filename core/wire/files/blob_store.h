/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs, one file each, in a folder of the user with mode 0700, which is created if it is missing. Files have mode 0600
 * and appear as a whole or not at all. Callers must not trust data that they read back. Libc only.
 */
#ifndef GPUBPF_WIRE_BLOB_CACHE_H
#define GPUBPF_WIRE_BLOB_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens a folder. make: also creates it and the folders above it if they are missing. From the cache's root
 * (.../gpubpf) down, the user must own each folder, with mode 0700, and none may be a link. Above the root, links must
 * belong to the user or root, and folders are created only inside a folder of either. -EPERM: one of these rules is
 * violated.
 */
int gpubpf_blob_open_dir(const char *folder, bool make);

#define GPUBPF_BLOB_TEMP_NAME_SIZE 24

/* Creates and locks a temporary file with a new name. Returns a descriptor, or -errno. */
int gpubpf_blob_create_temp(int dir, char name[GPUBPF_BLOB_TEMP_NAME_SIZE]);
/* Closes a temporary file, and renames it to `name`, or removes it if `err` is not 0. 0 or -errno. */
int gpubpf_blob_finish_file(int dir, int fd, const char *temp, const char *name, int err);
/* Is this a name from gpubpf_blob_create_temp()? */
bool gpubpf_blob_is_temp(const char *name);
/* Removes a temporary file if no process writes it any more. Returns true if it tried to remove the file. */
bool gpubpf_blob_delete_temp(int dir, const char *name);

/* Stores data in the file `name`, unless that file exists. 0 or -errno. */
int gpubpf_blob_write(const char *folder, const char *name, const void *data, size_t size);
/* Reads the file `name`, of at most `max` bytes; *data is malloc'd. -ENOENT: there is no such file. */
int gpubpf_blob_read(const char *folder, const char *name, size_t max, void **data, size_t *size);

/*
 * Finds a blob by its key, which is all inputs that the blob was computed from. A file contains the whole key and a
 * digest. A torn file, or a file of another key, is removed and counts as missing. Returns a malloc'd copy, or NULL.
 */
void *gpubpf_blob_cache_find(const char *folder, const void *key, size_t nkey, size_t *size);
/* Adds a blob. Ignores errors. */
void gpubpf_blob_cache_add(const char *folder, const void *key, size_t nkey, const void *data, size_t size);
void gpubpf_blob_cache_delete(const char *folder, const void *key, size_t nkey);

#endif
