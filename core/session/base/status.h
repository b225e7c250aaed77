/* SPDX-License-Identifier: Apache-2.0 */
/* The state and options of a session, the reason of its last error, and its notes to the user. */
#ifndef GPUBPF_SESSION_STATUS_H
#define GPUBPF_SESSION_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#define GPUBPF_BUILD_TIMEOUT_MS 300000 /* time limit of one twin's compilation, unless --wait is longer */
#define GPUBPF_ERROR_SIZE 4096 /* maximum bytes of an error text with its NUL */

struct gpubpf_diag;
struct gpubpf_session;
struct gpubpf_session_opts;

enum gpubpf_session_state {
	GPUBPF_SESSION_NEW,
	GPUBPF_SESSION_LOADED,
	GPUBPF_SESSION_STARTED,
	GPUBPF_SESSION_STOPPED,
};

int gpubpf_status_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_status_destroy(struct gpubpf_session *s);

enum gpubpf_session_state gpubpf_session_state(const struct gpubpf_session *s);
const struct gpubpf_session_opts *gpubpf_session_options(const struct gpubpf_session *s);
/*
 * Let processes that join be loaders (libbpf applications). supervised: a supervisor intercepts their system calls, so
 * the session preloads no library for bpf(2). Call it before the session starts.
 */
void gpubpf_session_admit_loaders(struct gpubpf_session *s, bool supervised);

/* Set the text of an error, which gpubpf_session__error() returns. Returns err. */
int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int gpubpf_session_fail_diag(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag);
void gpubpf_session_clear_error(struct gpubpf_session *s);
/* Like gpubpf_session_fail_diag(); also stores the diagnostic as the reason why gpubpf_session__load() failed. */
int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag);
/* Returns why gpubpf_session__load() failed, or NULL if it has not failed. */
const struct gpubpf_diag *gpubpf_session_refusal(const struct gpubpf_session *s);
/* Report a note to the user. The same text is reported once, and the number of notes is limited. */
void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the i-th note, or NULL after the last. */
const char *gpubpf_session_note_at(const struct gpubpf_session *s, uint32_t i);

uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s); /* time limit of a compiler for one twin */
uint64_t gpubpf_now_ns(void);

#endif
