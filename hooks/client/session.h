/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/client: the client's state, and calls on the session's socket. A process joins one session. */
#ifndef GPUBPF_HOOKS_CLIENT_SESSION_H
#define GPUBPF_HOOKS_CLIENT_SESSION_H

#include <sys/stat.h>

#include <pthread.h>

#include "client.h"
#include "hooks/process/process.h"
#include "hooks/process/time.h"
#include "log_once.h"
#include "parse.h"

enum { STAYING, LEAVING, LEFT };

struct gpubpf_request {
	struct gpubpf_request *next;
	uint32_t seq;
	atomic_int users;
	atomic_int outcome; /* 0 while waiting, 1 if answered, -EPIPE if the session ended */
	struct gpubpf_packet packet;
	void *bytes;
};

/* client.c */
extern struct gpubpf_client_state {
	atomic_int up, enabled;
	int sock;
	/* identity of the socket's file, since the application may close the socket and reuse its number */
	struct stat identity;
	struct gpubpf_kernel_table *_Atomic table;
	const char *backend; /* name of the runtime whose adapter joined first */
	/* functions of the launch path; set before the first join */
	_Atomic(const struct gpubpf_client_handlers *) handlers;
	struct gpubpf_welcome welcome;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t cond;
	struct gpubpf_request *waiting;
	/* pending_twins: number of unanswered twin requests, including requests for which no thread waits */
	uint32_t seq, pending_twins;
	bool reading;
	atomic_int reader; /* id of the process whose reader thread runs */
	atomic_int reader_tid;
	/*
	 * Copies of struct gpubpf_session_attachment's members, in an attached session. serial is 0 in other sessions.
	 */
	uint64_t serial;
	int joining; /* socket of an attached session that waits for the tool's answer, plus 1; 0: none */
	void (*detach)(uint64_t serial);
	void (*after_fork)(void);
	atomic_int end; /* LEAVING: the reader thread must do the work at exit. LEFT: the work is done. */
} gpubpf_client;

/* join.c: store the handlers, and register the fork handlers once. */
void gpubpf_client_prepare(const struct gpubpf_client_handlers *handlers);
/*
 * join.c: join the session over a connected socket. The client owns the socket, and closes it if the function fails.
 * The caller holds the client's lock. Returns 0 or a negative errno value.
 */
int gpubpf_client_join_socket(int fd, const char *backend);
/* The two parts of gpubpf_client_join_socket(). The first part needs no lock, and does not close the socket. */
int gpubpf_client_send_hello(int fd, const char *backend);
int gpubpf_client_receive_welcome(int fd);
int gpubpf_client_start_reader(void);   /* client.c; the caller holds the client's lock */
void gpubpf_kernel_table_release(void); /* kernel_table.c: free all entries, which no launch may use any more */
/* End the session and report `why` to the user; NULL: already reported. The caller holds the client's lock. */
void gpubpf_client_end_session(const char *why);

/*
 * socket.c. Functions with a deadline (in gpubpf_now_ns() time) return 0, -ETIMEDOUT or another negative errno value.
 */
bool gpubpf_socket_is_own(void); /* is the descriptor still the agent's socket? */
int gpubpf_socket_wait(int fd, short events, uint64_t deadline_ns);
int gpubpf_socket_send(int fd, enum gpubpf_msg type, uint32_t seq, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds);
int gpubpf_socket_receive(int fd, void *buf, struct gpubpf_packet *packet, uint64_t deadline_ns);
/* Move a descriptor of the agent to a number of at least FD_FLOOR, above the numbers that applications use. */
int gpubpf_move_fd_up(int fd);

/* kernel_table.c: take and release the table's lock around fork(). Take this lock before the client's lock. */
void gpubpf_kernel_table_lock(void);
void gpubpf_kernel_table_unlock(void);
/*
 * wait_budget.c: take and release the budget's lock around fork(). If `child` is true, this process is the child
 * of the fork. No thread waits there, and the child inherits the rest of its parent's budget.
 */
void gpubpf_wait_budget_lock(void);
void gpubpf_wait_budget_unlock(bool child);

/* leave.c */
extern const struct gpubpf_process_handlers gpubpf_client_process_handlers;

#endif
