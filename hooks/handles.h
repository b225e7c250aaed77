/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter's records of runtime handles. Each handle is the key of a record in a hash table, whose lists only grow.
 * So a launch finds its function without a lock. Runtimes reuse handles, so the record of an unloaded object stays,
 * marked as dead. Also stores the images of modules.
 */
#ifndef GPUBPF_HOOKS_HANDLES_H
#define GPUBPF_HOOKS_HANDLES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An image that the application passed, by reference or as a copy. If the image is unavailable, `data` is NULL and
 * `why` has the reason.
 */
struct gpubpf_kept {
	const void *data;
	size_t size;
	bool owned; /* data is the agent's copy */
	const char *why;
	/* valid if !owned: load address of the executable or library that contains the image, and hash of its name */
	uintptr_t object;
	uint64_t name_hash;
};

/*
 * Record the image [data, data + size): by reference if it is in a read-only segment of a loaded executable or library,
 * otherwise as a copy. NULL `data` means that the adapter does not know the image's format, and hence not its size.
 */
void gpubpf_kept_init(struct gpubpf_kept *kept, const void *data, size_t size);
void gpubpf_kept_init_file(struct gpubpf_kept *kept, const char *path);
void gpubpf_kept_copy(struct gpubpf_kept *kept, const struct gpubpf_kept *of);
void gpubpf_kept_finish(struct gpubpf_kept *kept);
/*
 * Call read(kept, arg) if the image is still available. Returns NULL, or the reason why the image is unavailable. For
 * example, the library that contains it may be unloaded.
 */
const char *gpubpf_kept_read(const struct gpubpf_kept *kept, void (*read)(const struct gpubpf_kept *kept, void *arg),
			     void *arg);

struct gpubpf_handle { /* embedded as the first member of an adapter's record */
	struct gpubpf_handle *next;
	_Atomic(void *) handle; /* NULL: dead */
};

#define GPUBPF_HANDLE_BUCKETS 1024

struct gpubpf_handles {
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_handle *) bucket[GPUBPF_HANDLE_BUCKETS];
};

#define GPUBPF_HANDLES_INIT { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Returns the newest record of a handle, or NULL. */
struct gpubpf_handle *gpubpf_handles_find(struct gpubpf_handles *handles, const void *handle);
/* Add a record whose `handle` the caller has set. Look-ups find this record before older records of the same handle. */
void gpubpf_handles_add(struct gpubpf_handles *handles, struct gpubpf_handle *record);

/*
 * Counts the threads that use a record, while another thread may mark the record as dead. If gpubpf_users_enter()
 * returns false, the record is dead, but the caller must still call gpubpf_users_leave(). One call of
 * gpubpf_users_leave() or gpubpf_users_kill() returns true: the record is dead and unused, and the caller must release
 * its resources.
 */
struct gpubpf_users {
	atomic_uint n;
	atomic_bool released;
};

bool gpubpf_users_enter(struct gpubpf_users *users);
bool gpubpf_users_leave(struct gpubpf_users *users);
bool gpubpf_users_kill(struct gpubpf_users *users);

/* Call fn() for each record, including dead ones. */
void gpubpf_handles_each(struct gpubpf_handles *handles, void (*fn)(struct gpubpf_handle *record, void *arg), void *arg);

/* Free all records. No thread may use a record or look one up. */
void gpubpf_handles_clear(struct gpubpf_handles *handles);

#endif
