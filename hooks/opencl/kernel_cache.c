/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains in a refusal why a program has a binary but no source: the application caches compiled kernels. The
 * explanation says how to make the application build the kernels from source.
 */
#include "opencl.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct cache {
	const char *name, *file, *remedy;
} caches[] = {
#define OCL_KERNEL_CACHE(name, file, remedy) { name, file, remedy },
#include "kernel_caches.def"
};

static bool is_loaded_from(struct dl_phdr_info *info, const struct cache *c)
{
	const char *path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : program_invocation_short_name;

	return strstr(path, c->file);
}

static int find_cache(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct cache **found = arg;

	(void)size;
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]) && !*found; i++)
		if (is_loaded_from(info, &caches[i]))
			*found = &caches[i];
	return *found != NULL;
}

static char text[256];

static void make_text(void)
{
	const struct cache *c = NULL;

	dl_iterate_phdr(find_cache, &c);
	if (c)
		snprintf(text, sizeof(text), "loaded as a binary from %s's own cache of kernels, without its source; %s",
			 c->name, c->remedy);
	else
		snprintf(text, sizeof(text),
			 "loaded as a binary whose source is unknown; empty the folder in which %.60s caches compiled "
			 "kernels, or disable that cache, so that it builds from source",
			 program_invocation_short_name);
}

const char *ocl_binary_reason(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_text);
	return text;
}
