/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym in the application's place: programs that look a runtime's functions up come to ours as those do
 * that link them. One table for all adapters, since there is one dlsym.
 */
#ifndef GPUBPF_HOOKS_DLSYM_H
#define GPUBPF_HOOKS_DLSYM_H

#include <stdbool.h>

typedef void *(*gpubpf_dlsym_fn)(void *handle, const char *name);

/* The C library's own. */
gpubpf_dlsym_fn gpubpf_dlsym_next(void);

/*
 * dlnext.c: what the object of `caller` would find under `name`, were it not for us: for functions that we export under
 * names of a library of which several may be loaded. caller NULL: what is loaded for everybody. NULL: nothing.
 */
void *gpubpf_dlsym_visible(const char *name, const void *caller);
/* The same of a caller that was bound to our function, or has its address from one that was. NULL: it cannot be told. */
void *gpubpf_dlsym_bound(const char *name, const void *caller);
/* The loaded library that an address belongs to, to be looked up in and closed; NULL: none. */
void *gpubpf_dlsym_library(const void *address);
bool gpubpf_dlsym_ours(const void *address);

struct gpubpf_dlsym_user {
	const char *prefix;                  /* of its symbols */
	void *(*find)(const char *symbol);   /* our function, NULL where we have none */
	bool (*init)(void);                  /* the runtime behind it is there */
	/* Ours is about to be given out for `real`; false: it stands for another. NULL: that cannot be. */
	bool (*take)(const char *symbol, void *real);
	/* Where several libraries have functions of that name at once: which of ours stands for `real`; NULL: none. */
	void *(*stand_in)(const char *symbol, void *real);
};

/* GPUBPF_DLSYM_USER(name, prefix, find, init[, take[, stand_in]]): one of them, where its adapter is. No list names it: the
 * linker gathers the section. */
#define GPUBPF_DLSYM_USER(name, ...)                                                     \
	static const struct gpubpf_dlsym_user name = { __VA_ARGS__ };                     \
	static const struct gpubpf_dlsym_user *const name##_listed                        \
		__attribute__((used, section("gpubpf_dlsym"))) = &name

#endif
