/* SPDX-License-Identifier: Apache-2.0 */
#include "installed.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * folders in which files are searched, relative to the folder of the library, program or test that contains this code
 */
static const char *const workers[] = {
	"",
	"core/worker/",
	"../core/worker/",
	"../../core/worker/",
	"../../../core/worker/",
	"../../../../core/worker/",
	"hooks/",
	"../hooks/",
	"../../hooks/",
	"gpubpf/",
	"../libexec/gpubpf/",
	"../../libexec/gpubpf/",
	NULL,
};
static const char *const probes[] = {
	"examples/probes",        "../examples/probes",        "../../examples/probes",
	"../share/gpubpf/probes", "../../share/gpubpf/probes", NULL,
};
static const char *const agents[] = {
	"hooks/", "../hooks/", "../../hooks/", "gpubpf/", "../" GPUBPF_LIBDIR "/gpubpf/", NULL,
};

/*
 * Stores the folder of the file that contains this code, with a trailing slash. If the main program contains the code,
 * its name in the link map may be empty; the file is then /proc/self/exe.
 */
static bool own_folder(char dir[PATH_MAX])
{
	struct link_map *map;
	Dl_info info;
	char *slash;

	if (!dladdr1((void *)gpubpf_worker_find, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    !realpath(map->l_name[0] ? map->l_name : "/proc/self/exe", dir))
		return false;
	slash = strrchr(dir, '/');
	if (slash)
		slash[1] = 0;
	return slash;
}

static int find(const char *const *below, const char *name, const char *installed, char *path, size_t size)
{
	char dir[PATH_MAX], tried[2 * PATH_MAX], real[PATH_MAX];

	for (bool known = own_folder(dir); known && *below; below++) {
		snprintf(tried, sizeof(tried), "%s%s%s", dir, *below, name);
		if (!access(tried, R_OK) && realpath(tried, real) && strlen(real) < size) {
			strcpy(path, real);
			return 0;
		}
	}
	snprintf(path, size, "%s", installed);
	return access(path, R_OK) < 0 ? -ENOENT : 0;
}

int gpubpf_worker_find(const char *name, char *path, size_t size)
{
	char installed[PATH_MAX];

	snprintf(installed, sizeof(installed), "%s/%s", GPUBPF_LIBEXECDIR, name);
	return find(workers, name, installed, path, size);
}

int gpubpf_probes_find(char *path, size_t size)
{
	return find(probes, "", GPUBPF_PROBES, path, size);
}

int gpubpf_agent_find(char *path, size_t size)
{
	return find(agents, "libgpubpf-agent.so", GPUBPF_AGENT, path, size);
}

int gpubpf_idle_find(char *path, size_t size)
{
	return find(agents, "libgpubpf-idle.so", GPUBPF_IDLE, path, size);
}

int gpubpf_bpf_preload_find(char *path, size_t size)
{
	return find(agents, "libgpubpf-bpf.so", GPUBPF_BPF_PRELOAD, path, size);
}
