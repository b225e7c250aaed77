/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter's records of runtime handles: module images, and records found by handle. Tables are hash buckets whose
 * lists only grow, so a launch finds its function without a lock. An unloaded object stays as a dead record, because
 * runtimes reuse handles.
 */
#ifndef GPUBPF_HOOKS_HANDLES_H
#define GPUBPF_HOOKS_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An image as the application passed it, by reference or as a copy. Unavailable: data is NULL, and `why` has the
 * reason. */
struct gpubpf_kept {
	const void *data;
	size_t size;
	bool owned; /* data is the agent's copy */
	const char *why;
	/* if not owned: load address of the program or library that contains the image, and hash of its name */
	uintptr_t object;
	uint64_t name_hash;
};

/* Record [data, data + size): by reference if it is in a read-only segment of a loaded program or library, else as a
 * copy. NULL `data`: the adapter does not know the format, hence not the size. */
void gpubpf_kept_init(struct gpubpf_kept *kept, const void *data, size_t size);
void gpubpf_kept_init_file(struct gpubpf_kept *kept, const char *path);
void gpubpf_kept_copy(struct gpubpf_kept *kept, const struct gpubpf_kept *of);
void gpubpf_kept_finish(struct gpubpf_kept *kept);
/* Call read(kept, arg) if the data is still available. Returns NULL, or why it is not: its library may be unloaded. */
const char *gpubpf_kept_read(const struct gpubpf_kept *kept, void (*read)(const struct gpubpf_kept *kept, void *arg),
			     void *arg);

struct gpubpf_handle { /* first member of the adapter's record */
	struct gpubpf_handle *next;
	_Atomic(void *) handle; /* NULL: dead */
};

#define GPUBPF_HANDLE_BUCKETS 1024

struct gpubpf_handles {
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_handle *) bucket[GPUBPF_HANDLE_BUCKETS];
};

#define GPUBPF_HANDLES_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/* The newest record of a handle, or NULL. */
struct gpubpf_handle *gpubpf_handles_find(struct gpubpf_handles *handles, const void *handle);
/* The caller sets record->handle. Look-ups find this record before older ones of the same handle. */
void gpubpf_handles_add(struct gpubpf_handles *handles, struct gpubpf_handle *record);

/*
 * Counts the threads that use a record, which another thread may kill meanwhile. If gpubpf_users_enter() returns false,
 * the record is dead, but the caller must still call gpubpf_users_leave(). If gpubpf_users_leave() or
 * gpubpf_users_kill() returns true, which happens once, the record is dead and unused: release its resources now.
 */
struct gpubpf_users {
	atomic_uint n;
	atomic_bool released;
};

bool gpubpf_users_enter(struct gpubpf_users *users);
bool gpubpf_users_leave(struct gpubpf_users *users);
bool gpubpf_users_kill(struct gpubpf_users *users);

/* Call fn for each record, including dead ones. */
void gpubpf_handles_each(struct gpubpf_handles *handles, void (*fn)(struct gpubpf_handle *record, void *arg), void *arg);

#endif
