/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the ready probes, which are the objects in the folder where ready probes are installed. */
#include "cli.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/installed.h"

#define MAX_PROBES 64
#define SUFFIX ".bpf.o"

static struct {
	char folder[PATH_MAX];
	char name[MAX_PROBES][64];
	size_t n;
	bool read;
} ready;

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_name(const char *file)
{
	size_t n = strlen(file), suffix = strlen(SUFFIX);

	if (n <= suffix || strcmp(file + n - suffix, SUFFIX) || n - suffix >= sizeof(ready.name[0]) || ready.n == MAX_PROBES)
		return;
	memcpy(ready.name[ready.n], file, n - suffix);
	ready.name[ready.n++][n - suffix] = 0;
}

static void read_folder(void)
{
	struct dirent *entry;
	DIR *dir;

	if (ready.read)
		return;
	ready.read = true;
	dir = gpubpf_probes_find(ready.folder, sizeof(ready.folder)) < 0 ? NULL : opendir(ready.folder);
	while (dir && (entry = readdir(dir)))
		add_name(entry->d_name);
	if (dir)
		closedir(dir);
	qsort(ready.name, ready.n, sizeof(ready.name[0]), by_name);
}

const char *cli_probe_at(size_t i)
{
	read_folder();
	return i < ready.n ? ready.name[i] : NULL;
}

bool cli_probe_path(const char *name, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s" SUFFIX, ready.folder, name);

	return n > 0 && (size_t)n < size;
}

const char *cli_probe_folder(void)
{
	read_folder();
	return ready.folder;
}
