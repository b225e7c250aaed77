/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/client: the client's state (a process joins one session), and calls on the session's socket. */
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
	atomic_int outcome; /* 0: waiting, 1: answered, -EPIPE: the session ended */
	struct gpubpf_packet packet;
	void *bytes;
};

/* client.c */
extern struct gpubpf_client_state {
	atomic_int up, enabled;
	int sock;
	struct stat identity; /* the socket's: the application may close it and reuse its number */
	struct gpubpf_kernel_table *_Atomic table;
	const char *backend;                                     /* name of the runtime whose adapter joined first */
	_Atomic(const struct gpubpf_client_handlers *) handlers; /* the launch path's; set before the first join */
	struct gpubpf_welcome welcome;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t cond;
	struct gpubpf_request *waiting;
	uint32_t seq, pending_twins; /* pending_twins: twin requests without an answer, including those that no thread waits for */
	bool reading;
	atomic_int reader; /* process id of the process that has the reader thread */
	atomic_int reader_tid;
	atomic_int end; /* STAYING; LEAVING: the reader does the work at exit; LEFT: it has */
} gpubpf_client;

/* End the session and report `why` to the user; NULL: already reported. The caller holds the client's lock. */
void gpubpf_client_end_session(const char *why);

/* socket.c. Calls with a deadline (gpubpf_now_ns() time) return 0, -ETIMEDOUT or another -errno. */
bool gpubpf_socket_is_own(void); /* Is the descriptor still the agent's socket? */
int gpubpf_socket_wait(int fd, short events, uint64_t deadline_ns);
int gpubpf_socket_send(int fd, enum gpubpf_msg type, uint32_t seq, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds);
int gpubpf_socket_receive(int fd, void *buf, struct gpubpf_packet *packet, uint64_t deadline_ns);
/* Move a descriptor of the agent above the numbers that the application opens and chooses. */
int gpubpf_move_fd_up(int fd);

/* kernel_table.c: its lock, which the fork handlers hold across fork(); taken before the client's lock */
void gpubpf_kernel_table_lock(void);
void gpubpf_kernel_table_unlock(void);
/* wait_budget.c: its lock, which the fork handlers hold across fork(). child: no thread waits in the child; it has the
 * rest of its parent's budget. */
void gpubpf_wait_budget_lock(void);
void gpubpf_wait_budget_unlock(bool child);

/* leave.c */
extern const struct gpubpf_process_handlers gpubpf_client_process_handlers;

#endif
