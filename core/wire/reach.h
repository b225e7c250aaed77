/* SPDX-License-Identifier: Apache-2.0 */
/* Can a preloaded library intercept a program's system calls? */
#ifndef GPUBPF_WIRE_REACH_H
#define GPUBPF_WIRE_REACH_H

#include <limits.h>
#include <stdbool.h>

enum gpubpf_reach {
	GPUBPF_REACHED,            /* through libc's functions; also for unknown files */
	GPUBPF_STATIC,             /* statically linked */
	GPUBPF_OTHER_LIBC,         /* another libc, whose loader does not fit ours */
	GPUBPF_OWN_CALLS,          /* makes system calls directly, as Go does */
};

/* Classifies a file, or the interpreter of a script. */
enum gpubpf_reach gpubpf_reach(const char *path);
/* Returns the reason if it is not reached, for a sentence that begins with its name. */
const char *gpubpf_reach_why(enum gpubpf_reach reach);

/* Finds the file that execvp(3) runs for that name, in the folders of `path` (PATH; NULL: libc's default). */
bool gpubpf_reach_find(const char *name, const char *path, char out[PATH_MAX]);

#endif
