/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an adapter remembers of its runtime's handles: images that modules were loaded from, and records
 * found by a handle. Tables are lists in buckets that only grow: a launch finds its function without a
 * lock, and what was unloaded stays as a dead record, since runtimes give handles out again.
 */
#ifndef GPUBPF_HOOKS_HANDLES_H
#define GPUBPF_HOOKS_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An image as the application gave it; data is NULL where it is not kept, and why says so. */
struct gpubpf_kept {
	const void *data;
	size_t size;
	bool owned;                  /* a copy of ours */
	const char *why;
	uintptr_t object;            /* else of a loaded program or library: where that lies, and what its name comes to */
	uint64_t named;
};

/* Keep [data, data + size): by reference where it belongs to what a loaded program or library only reads, else a copy.
 * NULL: an image whose size is not known. */
void gpubpf_kept_init(struct gpubpf_kept *kept, const void *data, size_t size);
void gpubpf_kept_init_file(struct gpubpf_kept *kept, const char *path);
void gpubpf_kept_copy(struct gpubpf_kept *kept, const struct gpubpf_kept *of);
void gpubpf_kept_finish(struct gpubpf_kept *kept);
/* Calls `read` with data that is there. NULL, or why it is not: a library may have been unloaded since. */
const char *gpubpf_kept_read(const struct gpubpf_kept *kept, void (*read)(const struct gpubpf_kept *kept, void *arg), void *arg);

struct gpubpf_handle {                   /* first in the adapter's record */
	struct gpubpf_handle *next;
	_Atomic(void *) handle;      /* NULL: dead */
};

#define GPUBPF_HANDLE_BUCKETS 1024

struct gpubpf_handles {
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_handle *) bucket[GPUBPF_HANDLE_BUCKETS];
};

#define GPUBPF_HANDLES_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/* The newest record of a handle, NULL if there is none. */
struct gpubpf_handle *gpubpf_handles_find(struct gpubpf_handles *handles, const void *handle);
/* record->handle is set. Later look-ups find it before older ones of that handle. */
void gpubpf_handles_add(struct gpubpf_handles *handles, struct gpubpf_handle *record);

/*
 * Who uses a record that may die meanwhile: the last one that leaves a dead record lets go of what it holds.
 * False of enter: it is dead, leave it. True of leave and kill, once: let go of it now.
 */
struct gpubpf_users {
	atomic_uint n;
	atomic_bool let_go;
};

bool gpubpf_users_enter(struct gpubpf_users *users);
bool gpubpf_users_leave(struct gpubpf_users *users);
bool gpubpf_users_kill(struct gpubpf_users *users);

/* Call fn for each record, dead ones too. */
void gpubpf_handles_each(struct gpubpf_handles *handles, void (*fn)(struct gpubpf_handle *record, void *arg),
			 void *arg);

#endif
