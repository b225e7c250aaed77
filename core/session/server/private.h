/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct session_server, and functions for the files of this folder. */
#ifndef GPUBPF_SESSION_SERVER_PRIVATE_H
#define GPUBPF_SESSION_SERVER_PRIVATE_H

#include "core/session/private.h"
#include "core/session/report/kernel_table.h"

struct gpubpf_rescue;

struct session_server {
	char dir[256], path[280]; /* folder of the sockets, and path of the session's socket or "" */
	char name[64];            /* the session's name; "": the name of the process */
	/* wake: an eventfd; a builder thread writes to it when it has finished a request */
	int listener, epoll, wake, timer;
	/* a spare descriptor; the session closes it to accept a connection when no descriptor is free */
	int spare;
	uint64_t interval_ns;          /* period of the timer that reads rings; 0: off */
	void *buffer;                  /* receive buffer of GPUBPF_MSG_BUF bytes */
	struct gpubpf_rescue *rescues; /* queue of rescues; only the first one runs */
	/* time from which agents hold launches for a query that reads the maps; 0: they do not */
	uint64_t hold_start_ns;
	/* gpubpf_server_set_patch(); NULL: the tool cannot patch */
	int (*patch)(pid_t pid, bool patch, char *why, size_t size);
	/* bytes of images that the session has stored, so that peers need not send them again */
	uint64_t retained_bytes;
};

void gpubpf_pins_remove(const char *session); /* removes the pin folder of the session with that socket */
void gpubpf_peer_forget_images(struct gpubpf_session *s, struct gpubpf_peer *peer);
/*
 * Implemented in peer.c. Handles one packet. After -EPROTO, the caller must close the connection. Descriptors in msg
 * that the function uses are removed from msg.
 */
int gpubpf_peer_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);

/*
 * Implemented in rescue.c. Copies a device's memory into the arena's mirror, once per device, if the device's process
 * cannot. A helper process does this. It takes some hundred milliseconds, because it opens the GPU. The function takes
 * ownership of dev->memory_fd.
 */
void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev);
/* Call it when the helper process that gpubpf_server_watch_rescue() watches has exited. */
void gpubpf_rescue_ended(struct gpubpf_session *s);
/* Wait for all rescues, for a limited time. */
void gpubpf_rescues_finish(struct gpubpf_session *s);
int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd);
/* Report a note that the session accepts no process of this user. Returns -EPERM. */
int gpubpf_server_reject_user(struct gpubpf_session *s, uint32_t user);

/*
 * Report a note if probed launches of an ended process are not counted in the maps, because their mirror was not
 * copied.
 */
void gpubpf_peer_note_lost_counts(struct gpubpf_session *s, const struct gpubpf_peer *peer);

/* Implemented in twin_answers.c. Answers all finished requests for twins, and returns their number. */
int gpubpf_twins_answer(struct gpubpf_session *s);

/* Implemented in info.c. Writes the answer to GPUBPF_QUERY_INFO. */
void gpubpf_info_write(const struct gpubpf_session *s, FILE *out);
/*
 * setting.c: apply the words of gpubpf session set, and write the values that hold now. If a word is invalid, nothing
 * changes. Returns 0, or -errno with the reason in gpubpf_session__error().
 */
int gpubpf_setting_query(struct gpubpf_session *s, uint32_t flags, char **words, uint32_t n, FILE *out);
/*
 * where.c: parse a condition such as `block >= 64 && kernel == "gemm*"` into the setting. Returns 0, or -EINVAL with the
 * reason in gpubpf_session__error().
 */
int gpubpf_where_parse(struct gpubpf_session *s, const char *text, struct gpubpf_link_setting *setting);
/* Parse a decimal number and return the text after it, or NULL. */
const char *gpubpf_parse_number(const char *text, uint64_t *n);

/* query.c */
int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg);
/* Answer the peer's query if its mirrors have arrived, or if its deadline has passed. */
void gpubpf_query_try_answer(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Let launches continue if agents hold them for the peer's query, and free the query. */
void gpubpf_query_release(struct gpubpf_session *s, struct gpubpf_peer *peer);
/* Answer the query for which agents hold launches, if all agents have answered. */
void gpubpf_query_answer_held(struct gpubpf_session *s);
/*
 * Implemented in snapshot.c. Request that agents hold launches and then copy their mirrors, so that all mirrors show
 * one moment. Returns -EBUSY with the reason in gpubpf_session__error() if launches are already held for another query.
 */
int gpubpf_hold_begin(struct gpubpf_session *s);
/*
 * Returns 0 if the mirrors show one moment, or -EAGAIN if agents have not answered yet, or another -errno with the
 * reason in gpubpf_session__error(). Call it again after reading the maps, to check that launches were held until then.
 */
int gpubpf_hold_check(struct gpubpf_session *s);
void gpubpf_hold_end(struct gpubpf_session *s);
/* Returns true if devices can change the maps while they are read. */
bool gpubpf_session_is_live(const struct gpubpf_session *s);

#endif
