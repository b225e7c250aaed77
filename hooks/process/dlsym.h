/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposes dlsym: programs that look up a runtime's functions get the agent's, like programs that link them. All
 * adapters share one table, since there is one dlsym.
 */
#ifndef GPUBPF_HOOKS_DLSYM_H
#define GPUBPF_HOOKS_DLSYM_H

#include <stdbool.h>

typedef void *(*gpubpf_dlsym_fn)(void *handle, const char *name);

/* The C library's own. */
gpubpf_dlsym_fn gpubpf_dlsym_next(void);

/*
 * dlnext.c: the function that the object of `caller` would find under `name` without the agent. Used for functions
 * exported under names of a library that may be loaded in several versions. With a NULL caller it searches the global
 * scope. NULL: not found.
 */
void *gpubpf_dlsym_visible(const char *name, const void *caller);
/* The same for a caller that was bound to the agent's function, or got its address from such a caller. NULL:
 * ambiguous. */
void *gpubpf_dlsym_bound(const char *name, const void *caller);
/* A handle of the loaded library that contains the address, for look-ups; close it with dlclose(). NULL: none. */
void *gpubpf_dlsym_library(const void *address);
bool gpubpf_dlsym_is_hook(const void *address);

struct gpubpf_dlsym_user {
	const char *prefix;                  /* of the runtime's symbols */
	void *(*find)(const char *symbol);   /* the agent's function, or NULL */
	bool (*init)(void);                  /* initialize the adapter; is its runtime loaded? */
	/* The agent's function is about to replace `real`. False: it already stands for another function. NULL:
	 * never called. */
	bool (*take)(const char *symbol, void *real);
	/* For a name that several libraries define at once: the agent's function that stands for `real`, or NULL. */
	void *(*stand_in)(const char *symbol, void *real);
};

/* GPUBPF_DLSYM_USER(name, prefix, find, init[, take[, stand_in]]) registers an adapter in its own file. The linker
 * gathers the section. */
#define GPUBPF_DLSYM_USER(name, ...)                                                     \
	static const struct gpubpf_dlsym_user name = { __VA_ARGS__ };                     \
	static const struct gpubpf_dlsym_user *const name##_listed                        \
		__attribute__((used, section("gpubpf_dlsym"))) = &name

#endif
