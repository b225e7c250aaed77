/* SPDX-License-Identifier: Apache-2.0 */
/* log_once.c: messages for the user */
#ifndef GPUBPF_HOOKS_LOG_ONCE_H
#define GPUBPF_HOOKS_LOG_ONCE_H

#include <stdbool.h>

/* Show the user one line, through the session or, without one, on standard error. A text is shown once per process. */
void gpubpf_log_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Like gpubpf_log_once(), but always to standard error, and also after a filter has ended the session. */
void gpubpf_log_stderr(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Is `fd` still the file `known`? The application may have closed it and reused the number. */
struct stat;
bool gpubpf_same_file(int fd, const struct stat *known);

#endif
