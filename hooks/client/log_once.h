/* SPDX-License-Identifier: Apache-2.0 */
/* log_once.c: messages for the user */
#ifndef GPUBPF_HOOKS_LOG_ONCE_H
#define GPUBPF_HOOKS_LOG_ONCE_H

#include <stdbool.h>

/*
 * Show the user one line, through the session if there is one, otherwise on standard error. Each text is shown once per
 * process, or once per session of a tool that attaches.
 */
void gpubpf_log_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Like gpubpf_log_once(), but always writes to standard error, even after a seccomp filter has ended the session. */
void gpubpf_log_stderr(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void gpubpf_log_forget(void); /* a tool has detached: show all texts again to the next one */

/* Returns true if `fd` still refers to the file `known`. The application may have closed `fd` and reused its number. */
struct stat;
bool gpubpf_same_file(int fd, const struct stat *known);

#endif
