/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's end of the session. One connection per process. The process joins once. It loses the session for good
 * when the tool exits or breaks the protocol. The child of a fork starts unconnected and joins again.
 */
#ifndef GPUBPF_HOOKS_CLIENT_H
#define GPUBPF_HOOKS_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/msg.h"
#include "core/wire/protocol.h"

struct gpubpf_request;

/*
 * Functions of the launch path that the client calls (hooks/launch/init.c). They run in the reader thread, except
 * `has_copied_arena`, which may run in any thread, and `reset_child`.
 */
struct gpubpf_client_handlers {
	/* Map pages [offset, offset + size) of the arena from `fd`, and close `fd`. False on failure, with errno
	 * set. */
	bool (*share)(int fd, uint64_t offset, uint64_t size);
	void (*pull)(uint32_t device, uint32_t asked); /* update that device's mirror; asked: the request's number */
	void (*hold)(uint32_t ms);                     /* pause launches for `ms` ms, copy all maps, send HELD */
	bool (*has_copied_arena)(void);                /* does an arena outside host memory exist? */
	void (*copy_all_at_exit)(void);
	void (*reset_child)(void); /* in the child of a fork: drop the parent's devices */
};

/* Join the session; the adapter of each runtime calls it once, all with the same handlers. 0 or -ENOENT. */
int gpubpf_session_join(const char *backend, const struct gpubpf_client_handlers *handlers);
void gpubpf_session_rejoin(void); /* in the child of a fork: join once; else costs one load */
/* Before the process exits: request that the tool reads the rings, and wait up to 1 s for its answer. Acts once per
 * process. Waits for no lock and allocates no memory. */
void gpubpf_session_flush_rings(void);
bool gpubpf_session_up(void);
bool gpubpf_session_enabled(void);                             /* is the session up, and does the tool allow twins? */
struct gpubpf_kernel_table *gpubpf_session_kernel_table(void); /* NULL before the first session */
uint32_t gpubpf_session_process(void);
uint32_t gpubpf_session_wait_ms(void);
const char *gpubpf_session_strerror(int err); /* text for an -errno of the functions below */
/* The user's selection of launches to probe: every sample-th launch; the first `first` probeable ones (0: all). */
uint64_t gpubpf_session_sample(void);
uint64_t gpubpf_session_first(void);
uint32_t gpubpf_session_flags(void); /* enum gpubpf_welcome_flags */

/* Send a request; the first one starts the reader thread. *request holds a reference for the caller, who waits with
 * gpubpf_request_wait(). Each reference, also of gpubpf_request_hold(), ends with gpubpf_request_drop(). */
int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds, uint32_t nfds,
			  struct gpubpf_request **request);
/* May a twin request be sent now? False at the limit of pending requests, or if the tool does not read its socket. */
bool gpubpf_client_can_request(void);
int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload);
/* Like gpubpf_client_notify(), and sends a descriptor; -1: none. */
int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd);
/* Wait for the answer until deadline_ns, in gpubpf_now_ns() time. 0, -ETIMEDOUT (the caller may call it again), or
 * -EPIPE: the session was lost. */
int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns);
bool gpubpf_request_is_done(const struct gpubpf_request *request); /* one load; never waits */
struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request);
void gpubpf_request_hold(struct gpubpf_request *request);
void gpubpf_request_drop(struct gpubpf_request *request);

/*
 * wait_budget.c: the --wait budget of the process. gpubpf_wait_budget_begin() returns until when this thread may wait
 * for the session, in gpubpf_now_ns() time; it may not wait if that is 0 or past. Each call needs a
 * gpubpf_wait_budget_end(), which subtracts the time waited from the budget. gpubpf_wait_budget_suspend() makes all
 * threads stop waiting after the tool missed a deadline, until it sends something again (gpubpf_wait_budget_resume()).
 */
uint64_t gpubpf_wait_budget_begin(void);
void gpubpf_wait_budget_end(void);
void gpubpf_wait_budget_suspend(void);
bool gpubpf_wait_budget_is_suspended(void);
bool gpubpf_wait_budget_is_left(void); /* may a launch wait now? */
void gpubpf_wait_budget_resume(void);
void gpubpf_wait_budget_exempt(bool exempt); /* true: waits of this thread do not use the budget */

/* kernel_table.c: counters of one kernel name on one device, shared with the tool (`shared`) and private to this
 * process */
struct gpubpf_kernel_entry {
	struct gpubpf_kernel_entry *next;
	struct gpubpf_kernel_row *shared;
	atomic_uint_fast64_t number;   /* index of the next launch, from 0 */
	atomic_uint_fast64_t admitted; /* launches that --first N has admitted */
	uint64_t copied_launches;      /* launches that the copy of the maps in progress covers */
	uint32_t generation, device;
	const char *backend;
	char name[];
};

/* Find or create the entry. device: its number for users. begun: the caller launches the kernel or records a launch;
 * false: a prefetch. */
struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const char *backend, uint32_t device, bool begun);
void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *entry);
void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason);
void gpubpf_kernel_table_add(uint64_t *word, uint64_t n);
/* Call these around a copy of the device's maps: they record how many launches the copy covers. */
void gpubpf_kernel_table_begin_copy(const char *backend, uint32_t device);
void gpubpf_kernel_table_end_copy(const char *backend, uint32_t device);

#endif
