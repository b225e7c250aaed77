/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's end of the session: one connection per process. A process joins a session once. When the tool exits or breaks the
 * protocol, the process stays without a session. The child of a fork starts unconnected and joins again.
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
 * Functions of the launch path that the client calls (hooks/launch/init.c). The reader thread calls all of them except
 * two: any thread may call `has_copied_arena`, and the fork handler calls `reset_child`.
 */
struct gpubpf_client_handlers {
	/*
	 * Map the pages of `fd` at arena offsets [offset, offset + size), and close `fd`. On failure, return false and
	 * set errno.
	 */
	bool (*share)(int fd, uint64_t offset, uint64_t size);
	/* update the mirror of device number `device`; asked: number of the tool's request */
	void (*pull)(uint32_t device, uint32_t asked);
	/* pause launches for `ms` milliseconds, copy all maps, send GPUBPF_MSG_HELD */
	void (*hold)(uint32_t ms);
	bool (*has_copied_arena)(void); /* does any device have an arena outside host memory? */
	void (*copy_all_at_exit)(void);
	void (*reset_child)(void); /* in the child of a fork: drop the parent's devices */
};

/* Join the session. The adapter of each runtime calls this once; all pass the same handlers. Returns 0 or -ENOENT. */
int gpubpf_session_join(const char *backend, const struct gpubpf_client_handlers *handlers);
/* The session of a tool that attaches to this process, as hooks/attach passes it to the client. */
struct gpubpf_session_attachment {
	int sock;                        /* connected to the tool; the client takes ownership */
	uint64_t serial;                 /* number of the session in this process, from 1 */
	void (*detach)(uint64_t serial); /* undoes all hooks; the client calls it when the session ends */
	void (*after_fork)(void);        /* the client calls it in the child of a fork */
};

/* Join the session of a tool that attaches to this process. Returns 0 or a negative errno value. */
int gpubpf_session_attach(const struct gpubpf_session_attachment *a, const struct gpubpf_client_handlers *handlers);
/*
 * End an attached session and remove its state. Before the call, the caller undoes all hooks and releases all records.
 *
 * - left_hooks: number of hooks that the caller could not undo.
 * - keep: a call or a twin still uses the state, so it stays.
 */
void gpubpf_session_release(uint32_t left_hooks, bool keep);
/* Does the session begin or end at this moment? It ends if the tool has closed the connection, for example by its death. */
bool gpubpf_session_is_ending(void);
void gpubpf_session_rejoin(void); /* joins the session in the child of a fork; other calls cost one load */
/*
 * Call before the process exits: request that the tool reads the ring buffers, and wait up to 1 s for its answer. Only
 * the first call in a process acts. The function waits for no lock and allocates no memory.
 */
void gpubpf_session_flush_rings(void);
bool gpubpf_session_up(void);
bool gpubpf_session_enabled(void);                             /* is the session up, and does the tool allow twins? */
struct gpubpf_kernel_table *gpubpf_session_kernel_table(void); /* NULL before the first session */
uint32_t gpubpf_session_process(void);
uint32_t gpubpf_session_wait_ms(void);
const char *gpubpf_session_strerror(int err); /* returns the text for a negative errno value of the functions below */
/*
 * The user's selection of launches to probe: every gpubpf_session_sample()-th launch, and only the first
 * gpubpf_session_first() launches that can be probed (0: all).
 */
uint64_t gpubpf_session_sample(void);
uint64_t gpubpf_session_first(void);
uint64_t gpubpf_session_every_ns(void); /* time in ns in which at most one launch of a kernel is probed; 0: no limit */
uint64_t gpubpf_session_round(void);    /* number of changes of sample, first and every_ns by the tool */
uint32_t gpubpf_session_flags(void);    /* enum gpubpf_welcome_flags */

/*
 * Send a request; the first request of a process starts the reader thread. The caller receives a reference in *request
 * and waits with gpubpf_request_wait(). Each reference, also one from gpubpf_request_hold(), ends with
 * gpubpf_request_drop().
 */
int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds, uint32_t nfds,
			  struct gpubpf_request **request);
/*
 * Returns true if a twin request may be sent now. Returns false at the limit of pending requests, or while the tool
 * does not read its socket.
 */
bool gpubpf_client_can_request(void);
int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload);
/* Like gpubpf_client_notify(), but also sends file descriptor `fd`; -1: none. */
int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd);
/*
 * Wait for the answer until deadline_ns, in gpubpf_now_ns() time. Returns 0, -ETIMEDOUT (the caller may wait again), or
 * -EPIPE if the session has ended.
 */
int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns);
bool gpubpf_request_is_done(const struct gpubpf_request *request); /* costs one load and never waits */
struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request);
void gpubpf_request_hold(struct gpubpf_request *request);
void gpubpf_request_drop(struct gpubpf_request *request);

/*
 * wait_budget.c: the --wait budget of the process. gpubpf_wait_budget_begin() returns the time (as gpubpf_now_ns())
 * until which this thread may wait for the session. If that time is 0 or in the past, the thread may not wait. After
 * each call, gpubpf_wait_budget_end() subtracts the time waited from the budget. If the tool misses a deadline,
 * gpubpf_wait_budget_suspend() makes all threads stop waiting. gpubpf_wait_budget_resume() ends that state when the
 * tool sends something again. gpubpf_wait_budget_renew() gives the next session a whole budget.
 */
uint64_t gpubpf_wait_budget_begin(void);
void gpubpf_wait_budget_end(void);
void gpubpf_wait_budget_suspend(void);
bool gpubpf_wait_budget_is_suspended(void);
bool gpubpf_wait_budget_is_left(void); /* may a launch wait now? */
void gpubpf_wait_budget_resume(void);
void gpubpf_wait_budget_renew(void);
void gpubpf_wait_budget_exempt(bool exempt); /* true: waits of the calling thread do not use the budget */

/* The counters of a link's gate (core/wire/gate/gate.h) for launches of one kernel in this process. */
struct gpubpf_gate_state {
	struct gpubpf_gate_state *next;
	uint32_t link;
	/* as in struct gpubpf_kernel_entry, for the gate's rate */
	atomic_uint_fast64_t round, admitted, every_from_ns;
};

/*
 * kernel_table.c: counters of one kernel name on one device. The counters in `shared` are visible to the tool; the
 * other members are private to this process.
 */
struct gpubpf_kernel_entry {
	struct gpubpf_kernel_entry *next;
	bool has_own_row; /* `shared` is malloc'd, because the kernel table is missing or full */
	struct gpubpf_kernel_row *shared;
	atomic_uint_fast64_t number;        /* index of the next launch, from 0 */
	atomic_uint_fast64_t admitted;      /* launches that --first N has admitted in this round */
	atomic_uint_fast64_t round;         /* value of gpubpf_session_round() for which `admitted` counts */
	atomic_uint_fast64_t every_from_ns; /* CLOCK_MONOTONIC of the last launch that `every` admitted; 0: none */
	atomic_uint_fast64_t id;            /* 1 + the session's id of the name; 0: not requested yet */
	_Atomic(struct gpubpf_gate_state *) gates; /* counters of the links' gates; only grows */
	uint64_t copied_launches; /* number of launches whose results the current copy of the maps contains */
	uint32_t generation, device;
	const char *backend;
	char name[];
};

/*
 * Find or create the entry. device: the device number that users see. begun: true if the caller launches the kernel or
 * records a launch, false for a prefetch.
 */
struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const char *backend, uint32_t device, bool begun);
void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *entry);
void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason);
void gpubpf_kernel_table_add(uint64_t *word, uint64_t n);
/* Call these functions before and after a copy of the device's maps. They record how many launches the copy covers. */
void gpubpf_kernel_table_begin_copy(const char *backend, uint32_t device);
void gpubpf_kernel_table_end_copy(const char *backend, uint32_t device);

#endif
