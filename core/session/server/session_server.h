/* SPDX-License-Identifier: Apache-2.0 */
/* The server of a session: its socket, its event loop, and the messages of peers. */
#ifndef GPUBPF_SESSION_SERVER_H
#define GPUBPF_SESSION_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct gpubpf_session;
struct gpubpf_writer;

int gpubpf_server_create(struct gpubpf_session *s);   /* 0 or -ENOMEM */
void gpubpf_server_destroy(struct gpubpf_session *s); /* closes it */

/*
 * Create and check the folder for sockets, and choose the socket's path. Returns 0, or -errno with the reason in
 * gpubpf_session__error().
 */
int gpubpf_session_dir(struct gpubpf_session *s);
int gpubpf_server_open(struct gpubpf_session *s);
int gpubpf_server_poll(struct gpubpf_session *s, int timeout_ms);
void gpubpf_server_close(struct gpubpf_session *s);
/*
 * Serve a process to which the tool has attached (core/attach). sock: connected to the agent. On success, returns 0,
 * and the session owns the socket. Otherwise returns -errno, with the reason in gpubpf_session__error().
 */
int gpubpf_server_adopt(struct gpubpf_session *s, int sock);
/*
 * Set the function that patches, or restores, functions in a process to which the tool has attached (core/attach/patch.h).
 * It returns 0, or -errno with one line in `why`.
 */
void gpubpf_server_set_patch(struct gpubpf_session *s, int (*patch)(pid_t pid, bool patch, char *why, size_t size));
bool gpubpf_server_has_attached(const struct gpubpf_session *s, uint32_t pid); /* the process is attached and connected */
uint32_t gpubpf_server_count_attached(const struct gpubpf_session *s); /* number of connected attached processes */
/* Detach from all attached processes, and wait up to `ms`. Returns the number of processes that are still connected. */
uint32_t gpubpf_server_detach(struct gpubpf_session *s, uint32_t ms);
int gpubpf_server_wake_fd(const struct gpubpf_session *s); /* eventfd that wakes the event loop */
/* Request the mirrors of all devices with their own memory, and wait for a limited time until they arrive. */
void gpubpf_session_refresh_mirrors(struct gpubpf_session *s);

/* Set the session's name for lists. By default, it is the name of the tool's process. */
void gpubpf_session_set_name(struct gpubpf_session *s, const char *name);

/*
 * Call `found` with the path of each running session's socket in `dir` (NULL: default folder). Returns the number of
 * sessions. Removes what killed tools left in the folder, and calls `removed` with the path of each such socket. Both
 * functions may be NULL.
 */
typedef void (*gpubpf_session_path_fn)(const char *path, void *arg);
int gpubpf_sessions_find(const char *dir, gpubpf_session_path_fn found, gpubpf_session_path_fn removed, void *arg);
/*
 * The client's part: send a query to the session with the socket `path`. Writes the text of the answer to `out`, and
 * its remark or "" to `why`. Returns 0, or -errno with the reason in `why`. `more` has further arguments of the query;
 * the function frees it. Only root can query sessions of other users.
 */
int gpubpf_query_request(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
			 char *why, size_t why_size);
/* gpubpf_query_request() with a descriptor for the session; -1: none. The caller keeps the descriptor. */
int gpubpf_query_request_with(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, int fd,
			      FILE *out, char *why, size_t why_size);

#endif
