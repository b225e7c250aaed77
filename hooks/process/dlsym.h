/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposes dlsym(): an application that looks up a runtime's function gets the agent's function. All adapters
 * register in one table, since a process has only one dlsym().
 */
#ifndef GPUBPF_HOOKS_DLSYM_H
#define GPUBPF_HOOKS_DLSYM_H

#include <stdbool.h>

typedef void *(*gpubpf_dlsym_fn)(void *handle, const char *name);

/* The C library's dlsym. */
gpubpf_dlsym_fn gpubpf_dlsym_next(void);

/*
 * dlnext.c: returns the function that the object of `caller` would find under `name` without the agent, or NULL. It is
 * used for functions that the agent exports under names of a library that may be loaded in several versions. If
 * `caller` is NULL, the function searches the global scope.
 */
void *gpubpf_dlsym_visible(const char *name, const void *caller);
/*
 * Like gpubpf_dlsym_visible(), for a caller that calls the agent's function. The dynamic linker has bound the caller to
 * that function, or the caller got its address from another object. Returns NULL if the real function is not found, or
 * if several are found.
 */
void *gpubpf_dlsym_bound(const char *name, const void *caller);
/* Returns a handle of the loaded library that contains the address, for look-ups, or NULL. Close it with dlclose(). */
void *gpubpf_dlsym_library(const void *address);
bool gpubpf_dlsym_is_hook(const void *address);

struct gpubpf_dlsym_user {
	const char *prefix;                /* common prefix of the runtime's symbols */
	void *(*find)(const char *symbol); /* returns the agent's function for a symbol, or NULL */
	bool (*init)(void);                /* initializes the adapter; returns true if its runtime is loaded */
	/*
	 * Optional. Called before dlsym() returns the agent's function instead of `real`. Returns false if the agent's
	 * function already replaces another function; then dlsym() returns `real`.
	 */
	bool (*take)(const char *symbol, void *real);
	/*
	 * Optional, for a name that several libraries define. Returns the agent's function that replaces `real`, or
	 * NULL.
	 */
	void *(*stand_in)(const char *symbol, void *real);
};

/*
 * GPUBPF_DLSYM_USER(name, prefix, find, init[, take[, stand_in]]) registers an adapter. Use it in the adapter's own
 * file. It adds a pointer to the section that dlsym.c reads.
 */
#define GPUBPF_DLSYM_USER(name, ...)                                                     \
	static const struct gpubpf_dlsym_user name = { __VA_ARGS__ };                     \
	static const struct gpubpf_dlsym_user *const name##_listed                        \
		__attribute__((used, section("gpubpf_dlsym"))) = &name

#endif
