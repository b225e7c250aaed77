/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposes dlsym: a program that looks up a runtime's function gets the agent's function. Adapters register in one
 * table, since there is one dlsym.
 */
#ifndef GPUBPF_HOOKS_DLSYM_H
#define GPUBPF_HOOKS_DLSYM_H

#include <stdbool.h>

typedef void *(*gpubpf_dlsym_fn)(void *handle, const char *name);

/* The C library's dlsym. */
gpubpf_dlsym_fn gpubpf_dlsym_next(void);

/*
 * dlnext.c: the function that the object of `caller` would find under `name` without the agent. Used for functions
 * exported under names of a library that may be loaded in several versions. With a NULL caller it searches the global
 * scope. NULL: not found.
 */
void *gpubpf_dlsym_visible(const char *name, const void *caller);
/* Like gpubpf_dlsym_visible(), for a caller that calls the agent's function. It was bound to that function, or got its
 * address from another object. NULL: not found, or ambiguous. */
void *gpubpf_dlsym_bound(const char *name, const void *caller);
/* A handle of the loaded library that contains the address, for look-ups; close it with dlclose(). NULL: none. */
void *gpubpf_dlsym_library(const void *address);
bool gpubpf_dlsym_is_hook(const void *address);

struct gpubpf_dlsym_user {
	const char *prefix;                /* common prefix of the runtime's symbols */
	void *(*find)(const char *symbol); /* the agent's function, or NULL */
	bool (*init)(void);                /* initialize the adapter; is its runtime loaded? */
	/* Optional. dlsym is about to return the agent's function in place of `real`. False: it already stands in for
	 * another function, so dlsym returns `real`. */
	bool (*take)(const char *symbol, void *real);
	/* Optional, for a name that several libraries define: the agent's function that stands in for `real`, or
	 * NULL. */
	void *(*stand_in)(const char *symbol, void *real);
};

/* GPUBPF_DLSYM_USER(name, prefix, find, init[, take[, stand_in]]) registers an adapter, in the adapter's own file: it
 * adds a pointer to the section that dlsym.c reads. */
#define GPUBPF_DLSYM_USER(name, ...)                                                     \
	static const struct gpubpf_dlsym_user name = { __VA_ARGS__ };                     \
	static const struct gpubpf_dlsym_user *const name##_listed                        \
		__attribute__((used, section("gpubpf_dlsym"))) = &name

#endif
