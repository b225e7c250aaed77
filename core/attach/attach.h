/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the agent into a running process that was not prepared for it. The process continues if the tool dies at any
 * instant; boot.h says how. x86-64 only.
 */
#ifndef GPUBPF_ATTACH_ATTACH_H
#define GPUBPF_ATTACH_ATTACH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GPUBPF_ATTACH_LIBRARY "gpubpf-agent" /* name of the memfd from which the process has loaded the agent */

struct gpubpf_attach_process_opts {
	const char *library; /* path of the agent's library, which the tool reads */
	const char *entry;   /* name of the agent's entry function; NULL: GPUBPF_BOOT_ENTRY */
	/* time limit in ms for each of two waits, for a thread at a safe point and for the agent; 0: 2000 */
	uint32_t wait_ms;
};

/* Times of one attach, in ns. */
struct gpubpf_attach_times {
	uint64_t stopped; /* how long the tool stopped the thread in which it started the boot code */
	uint64_t total;
};

/*
 * Start the agent in process `pid`. Returns the session's end of a connected socket, which the caller owns. On failure,
 * returns -errno and stores one line in `why`. The error is -ESRCH if there is no such process, and -EPERM if the
 * caller may not trace it. The error is -EOPNOTSUPP if gpubpf cannot attach to the process, and -EBUSY if another
 * program traces it. The error is -ETIMEDOUT if no thread reached a safe point or the agent did not answer in time.
 * Every other error is the agent's. The process is unharmed in every case. `times` may be NULL.
 */
int gpubpf_attach_process(pid_t pid, const struct gpubpf_attach_process_opts *opts, struct gpubpf_attach_times *times,
			  char *why, size_t size);

/*
 * Undo what killed tools left in the process. Returns 0 if they left nothing. Returns a positive number after a change,
 * with a line about it in `what`. On failure, returns -errno and stores one line in `why`.
 */
int gpubpf_attach_clean(pid_t pid, char *what, size_t what_size, char *why, size_t why_size);

#endif
