/* SPDX-License-Identifier: Apache-2.0 */
/* Where our workers and our agent are: beside us in a build tree, or where they were installed. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool own_folder(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	buf[n] = 0;
	slash = strrchr(buf, '/');
	if (slash)
		*slash = 0;
	return slash != NULL;
}

/* The first of the candidates that is there; the last one is taken unseen, so that its name is told. */
static void choose(const char *own, const char *const *candidates, const char *probe, char *buf, size_t size)
{
	char real[4096];

	for (; *candidates; candidates++) {
		char path[1024];

		snprintf(buf, size, "%s%s%s", (*candidates)[0] == '/' ? "" : own,
			 (*candidates)[0] == '/' ? "" : "/", *candidates);
		snprintf(path, sizeof(path), "%s%s", buf, probe);
		if (!access(path, R_OK) && realpath(buf, real) && strlen(real) < size) {
			strcpy(buf, real);
			return;
		}
	}
}

void cli_find_paths(struct cli_paths *paths)
{
	static const char *const workers[] = { "core/worker", "../libexec/gpubpf", GPUBPF_LIBEXECDIR, NULL };
	static const char *const agents[] = {
		"hooks/libgpubpf-agent.so", "../" GPUBPF_LIBDIR "/gpubpf/libgpubpf-agent.so", GPUBPF_AGENT, NULL,
	};
	char own[512];

	if (!own_folder(own, sizeof(own)))
		strcpy(own, "/");
	choose(own, workers, "/gpubpf-compile", paths->workers, sizeof(paths->workers));
	choose(own, agents, "", paths->agent, sizeof(paths->agent));
}

void cli_make_parent(const char *path)
{
	char parent[512];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return;
	*slash = 0;
	mkdir(parent, 0700); /* if it fails there is no cache, which costs time only */
}
