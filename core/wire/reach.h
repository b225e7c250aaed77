/* SPDX-License-Identifier: Apache-2.0 */
/* Does a library that is preloaded stand before a program's system calls? */
#ifndef GPUBPF_WIRE_REACH_H
#define GPUBPF_WIRE_REACH_H

#include <limits.h>
#include <stdbool.h>

enum gpubpf_reach {
	GPUBPF_REACHED,            /* by libc's functions; or it is nothing that we know, which is as good */
	GPUBPF_STATIC,             /* it has no libraries */
	GPUBPF_OTHER_LIBC,         /* whose loader ours is not for */
	GPUBPF_OWN_CALLS,          /* it makes system calls by itself: Go's */
};

/* Of a file, or of what a script's first line names. */
enum gpubpf_reach gpubpf_reach(const char *path);
/* Why it is not, for a sentence that begins with its name. */
const char *gpubpf_reach_why(enum gpubpf_reach reach);

/* The file that execvp(3) runs for that name, by the folders of `path` (PATH; NULL: libc's own). */
bool gpubpf_reach_find(const char *name, const char *path, char out[PATH_MAX]);

#endif
