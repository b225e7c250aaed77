/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the real function behind an interposed function, for a library that may be loaded in several versions at the
 * same time. The dynamic linker has bound every caller to the agent's function. The linker's search order determines
 * which version a caller would use without the agent: first the global scope, then the caller's own dependencies.
 */
#include "hooks/process/agent_thread.h"
#include "dlsym.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

bool gpubpf_dlsym_is_hook(const void *address)
{
	static const char here;
	Dl_info theirs, ours;

	return dladdr(address, &theirs) && dladdr(&here, &ours) && theirs.dli_fbase == ours.dli_fbase;
}

void *gpubpf_dlsym_library(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Look up the name in the loaded object of this file and in its dependencies. */
static void *find_in_file(const char *file, const char *name)
{
	void *object = *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = object ? gpubpf_dlsym_next()(object, name) : NULL;

	if (object)
		dlclose(object);
	return found && !gpubpf_dlsym_is_hook(found) ? found : NULL;
}

struct files {
	char **names;
	size_t n;
};

static int add_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct files *f = arg;
	char **grown = realloc(f->names, (f->n + 1) * sizeof(*grown));

	if (!grown)
		return 1;
	f->names = grown;
	f->names[f->n] = strdup(info->dlpi_name);
	return !f->names[f->n++];
}

/* Returns true if the file defines the function, false if only a dependency of the file defines it. */
static bool defines(const char *file, const void *function)
{
	Dl_info info;

	return dladdr(function, &info) && !strcmp(info.dli_fname, file);
}

/*
 * Look up the name from each loaded object, and use only results that a dependency of the object defines. Returns the
 * function if all objects find the same function, otherwise NULL. This is used for a caller that got the address of the
 * agent's function from another object.
 */
static void *find_in_all(const char *name)
{
	struct files f = { 0 };
	void *found = NULL;
	bool several = false;

	dl_iterate_phdr(add_file, &f); /* collect the names first, because the callback must not call dlopen() */
	for (size_t i = 0; i < f.n; i++) {
		void *one = f.names[i] ? find_in_file(f.names[i], name) : NULL;

		if (one && !defines(f.names[i], one)) {
			several |= found && found != one;
			found = one;
		}
		free(f.names[i]);
	}
	free(f.names);
	return several ? NULL : found;
}

struct lookup {
	const char *file, *name;
	void *found;
};

static void find_in_caller_file(void *arg)
{
	struct lookup *l = arg;

	l->found = find_in_file(l->file, l->name);
}

void *gpubpf_dlsym_visible(const char *name, const void *caller)
{
	struct lookup l = { NULL, name, gpubpf_dlsym_next()(RTLD_NEXT, name) };
	Dl_info info;

	if (l.found || !caller || !dladdr(caller, &info) || !info.dli_fname)
		return l.found;
	l.file = info.dli_fname;
	/* on an agent thread, because dlopen() uses 2.7 KiB of stack */
	gpubpf_run_on_agent_thread(find_in_caller_file, &l);
	return l.found;
}

void *gpubpf_dlsym_bound(const char *name, const void *caller)
{
	void *found = gpubpf_dlsym_visible(name, caller);

	return found ? found : find_in_all(name);
}
