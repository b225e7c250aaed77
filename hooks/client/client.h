/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's end of the session. One connection per process. The process joins once. It loses the session for good when
 * the tool exits or breaks the protocol. The child of a fork starts unconnected and joins again.
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
 * The part of the launch path that the client calls. The functions run in the reader thread, except `has_copied_arena`, which
 * runs in any thread, and `reset_child`.
 */
struct gpubpf_client_handlers {
	/* Map these pages of the arena from `fd` and take over `fd`. Returns false and sets errno on failure. */
	bool (*share)(int fd, uint64_t offset, uint64_t size);
	void (*pull)(uint32_t device, uint32_t asked);   /* update the mirror of the numbered device */
	void (*hold)(uint32_t ms);                       /* pause launches, copy all maps and report it */
	bool (*has_copied_arena)(void);                  /* does an arena outside host memory exist? */
	void (*copy_all_at_exit)(void);
	void (*reset_child)(void);                       /* in the child of a fork: forget the parent's devices */
};

/* Called once per runtime; a process may use several, with the same handlers. */
int gpubpf_session_join(const char *backend, const struct gpubpf_client_handlers *handlers);
void gpubpf_session_rejoin(void);                   /* in the child of a fork, once; otherwise costs one load */
/* The process is about to exit: ask the tool to read the rings, and wait up to a limit for its answer. Acts once per
 * process. Does not wait for a lock and allocates no memory. */
void gpubpf_session_flush_rings(void);
bool gpubpf_session_up(void);
bool gpubpf_session_enabled(void);                  /* up, and the tool allows twins */
struct gpubpf_kernel_table *gpubpf_session_kernel_table(void);    /* NULL before the first session */
uint32_t gpubpf_session_process(void);
uint32_t gpubpf_session_wait_ms(void);
const char *gpubpf_session_strerror(int err);       /* for errors that the functions below return */
/* The user's selection of launches to probe. */
uint64_t gpubpf_session_sample(void);
uint64_t gpubpf_session_first(void);
uint32_t gpubpf_session_flags(void);           /* enum gpubpf_welcome_flags */

/* Send a request; starts the reader thread. The caller waits with gpubpf_request_wait() and releases its reference
 * with gpubpf_request_drop(), once more per gpubpf_request_hold(). */
int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds, struct gpubpf_request **request);
/* Is there room for one more twin request? False if the tool has stopped reading its socket. */
bool gpubpf_client_can_request(void);
int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload);
/* Also sends a descriptor; -1: none. */
int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd);
/* 0, -ETIMEDOUT (may be called again), or -EPIPE: the session was lost. */
int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns);
bool gpubpf_request_is_done(const struct gpubpf_request *request); /* one load; never waits */
struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request);
void gpubpf_request_hold(struct gpubpf_request *request);
void gpubpf_request_drop(struct gpubpf_request *request);

/*
 * wait_budget.c: until when this thread may wait for the session, in gpubpf_now_ns() time. It may not wait if that is 0 or
 * past. Each gpubpf_wait_budget_begin() needs a gpubpf_wait_budget_end(), which subtracts the time waited from the process's
 * --wait budget.
 */
uint64_t gpubpf_wait_budget_begin(void);
void gpubpf_wait_budget_end(void);
void gpubpf_wait_budget_suspend(void);                 /* the tool missed a deadline: stop waiting for it, */
bool gpubpf_wait_budget_is_suspended(void);
bool gpubpf_wait_budget_is_left(void);                    /* a launch may wait now */
void gpubpf_wait_budget_resume(void);                   /* until the tool sends something again */
void gpubpf_wait_budget_exempt(bool exempt);           /* do waits of this thread not use the budget? */

/* kernel_table.c: shared counters of one kernel name on one device, and counters private to this process */
struct gpubpf_kernel_entry {
	struct gpubpf_kernel_entry *next;
	struct gpubpf_kernel_row *shared;
	atomic_uint_fast64_t number;                /* number of the next launch */
	atomic_uint_fast64_t taken;                 /* launches counted against --first */
	uint64_t copying;                           /* launches whose results the current copy of the maps includes */
	uint32_t generation, device;
	const char *backend;
	char name[];
};

/* device: its number for users. begun: the kernel is launched, or recorded for a later launch. */
struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const char *backend, uint32_t device, bool begun);
void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *entry);
void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason);
void gpubpf_kernel_table_add(uint64_t *word, uint64_t n);
/* A copy of the device's maps begins, or has finished: record how many launches it covers. */
void gpubpf_kernel_table_begin_copy(const char *backend, uint32_t device);
void gpubpf_kernel_table_end_copy(const char *backend, uint32_t device);

#endif
