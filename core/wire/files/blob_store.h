/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores blobs as files in a folder of the user. Folders have mode 0700 and are created if they are missing. Files have
 * mode 0600 and appear by rename, so readers see a complete file or none. Callers must not trust data that they read
 * back. This file uses only libc.
 */
#ifndef GPUBPF_WIRE_BLOB_STORE_H
#define GPUBPF_WIRE_BLOB_STORE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens a folder. With `make`, missing folders in the path are created. Returns a descriptor, or -errno. -EPERM means
 * that one of these rules is violated:
 * - The cache's root (.../gpubpf) and folders below it belong to the user, have mode 0700, and are not symbolic links.
 * - Symbolic links above the root belong to the user or root.
 * - Folders are created only inside a folder of the user or root.
 */
int gpubpf_blob_open_dir(const char *folder, bool make);

#define GPUBPF_BLOB_TEMP_NAME_SIZE 24

/* Creates and locks a temporary file with a new name. Returns a descriptor, or -errno. */
int gpubpf_blob_create_temp(int dir, char name[GPUBPF_BLOB_TEMP_NAME_SIZE]);
/* Closes a temporary file. If `err` is 0, first renames it to `name`, otherwise removes it. Returns 0 or -errno. */
int gpubpf_blob_finish_file(int dir, int fd, const char *temp, const char *name, int err);
/* Does the name have the form of names from gpubpf_blob_create_temp()? */
bool gpubpf_blob_is_temp(const char *name);
/* Removes a temporary file, unless a process still writes it. Returns true if it tried to remove the file. */
bool gpubpf_blob_delete_temp(int dir, const char *name);

/* Stores data in the file `name`, unless that file already exists. Returns 0 or -errno. */
int gpubpf_blob_write(const char *folder, const char *name, const void *data, size_t size);
/*
 * Reads the file `name`, which may have at most `max` bytes. The caller frees *data. Returns 0, or -errno: -ENOENT if
 * there is no such file.
 */
int gpubpf_blob_read(const char *folder, const char *name, size_t max, void **data, size_t *size);

/*
 * Finds a blob by its key. The key consists of all inputs from which the blob was computed. The file contains the
 * complete key and a digest. If the file is damaged or has another key, the function removes it. Returns a copy that
 * the caller frees, or NULL if there is no valid file.
 */
void *gpubpf_blob_cache_find(const char *folder, const void *key, size_t nkey, size_t *size);
/* Adds a blob to the cache. Errors are ignored. */
void gpubpf_blob_cache_add(const char *folder, const void *key, size_t nkey, const void *data, size_t size);
void gpubpf_blob_cache_delete(const char *folder, const void *key, size_t nkey);

#endif
