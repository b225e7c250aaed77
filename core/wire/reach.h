/* SPDX-License-Identifier: Apache-2.0 */
/* Can a preloaded library intercept a program's system calls? */
#ifndef GPUBPF_WIRE_REACH_H
#define GPUBPF_WIRE_REACH_H

#include <limits.h>
#include <stdbool.h>

enum gpubpf_reach {
	GPUBPF_REACHED,    /* calls go through libc's functions; also the value for unknown files */
	GPUBPF_STATIC,     /* statically linked */
	GPUBPF_OTHER_LIBC, /* linked with another libc than glibc, whose dynamic linker cannot load
				    * our library */
	GPUBPF_OWN_CALLS,  /* makes system calls directly, as Go does */
};

/* Classifies a file, or the interpreter of a script. */
enum gpubpf_reach gpubpf_reach(const char *path);
/* Returns the reason as the predicate of a sentence that begins with the program's name, such as "is linked
 * statically". */
const char *gpubpf_reach_why(enum gpubpf_reach reach);

/* Finds the file that execvp(3) runs for that name, in the folders of `path` (PATH; NULL: libc's default). */
bool gpubpf_reach_find(const char *name, const char *path, char out[PATH_MAX]);

#endif
