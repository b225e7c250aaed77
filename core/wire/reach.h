/* SPDX-License-Identifier: Apache-2.0 */
/* Determines whether a preloaded library can intercept the system calls of a program. */
#ifndef GPUBPF_WIRE_REACH_H
#define GPUBPF_WIRE_REACH_H

#include <limits.h>
#include <stdbool.h>

enum gpubpf_reach {
	GPUBPF_REACHED, /* the program calls libc's functions; also the result for unknown files */
	GPUBPF_STATIC,  /* statically linked */
	/* linked with a libc other than glibc; the dynamic linker of that libc cannot load the preloaded library */
	GPUBPF_OTHER_LIBC,
	GPUBPF_OWN_CALLS, /* the program makes system calls directly, as Go programs do */
};

/* Classifies an executable file. For a script, classifies its interpreter. */
enum gpubpf_reach gpubpf_reach(const char *path);
/* Returns the reason as a phrase that follows the program's name, such as "is linked statically". */
const char *gpubpf_reach_why(enum gpubpf_reach reach);

/*
 * Stores in `out` the file that execvp(3) would run for this name. `path` is the value of PATH; NULL: libc's default.
 * Returns false if there is none.
 */
bool gpubpf_reach_find(const char *name, const char *path, char out[PATH_MAX]);

#endif
