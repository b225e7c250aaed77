/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPU runtimes and gpubpf's libraries that a process has mapped. */
#include "processes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/attach/attach.h"

static const char *const files[CLI_NRUNTIMES] = {
#define CLI_RUNTIME(id, file, name) [CLI_RUNTIME_##id] = file,
#include "runtimes.def"
};

const char *cli_runtime_name(enum cli_runtime runtime)
{
	static const char *const names[CLI_NRUNTIMES] = {
#define CLI_RUNTIME(id, file, name) [CLI_RUNTIME_##id] = name,
#include "runtimes.def"
	};

	return names[runtime];
}

/* Returns true if the file's name is `library`, optionally a version such as "-2.9.0", and ".so". */
static bool is_library(const char *file, const char *library)
{
	size_t n = strlen(library);

	if (strncmp(file, library, n))
		return false;
	file += n;
	if (file[0] == '-' && isdigit((unsigned char)file[1]))
		file += 1 + strspn(file + 1, "0123456789.");
	/* the version's last dot may be the one of ".so" */
	return !strncmp(file, ".so", 3) || (file[-1] == '.' && !strncmp(file, "so", 2));
}

/*
 * Return the path in a line of /proc/PID/maps, or NULL if the line maps no file. The kernel writes a newline in a path
 * as \012, so each line is one mapping.
 */
static const char *find_mapped_path(const char *line)
{
	for (int field = 0; field < 5; field++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line[0] == '/' ? line : NULL;
}

static void note_file(struct cli_mapped *m, const char *path)
{
	const char *file = strrchr(path, '/') + 1;

	for (int i = 0; i < CLI_NRUNTIMES; i++)
		m->has[i] |= is_library(file, files[i]);
	m->has_agent |= is_library(file, "libgpubpf-agent") ||
			!strncmp(path, "/memfd:" GPUBPF_ATTACH_LIBRARY " ", sizeof("/memfd:" GPUBPF_ATTACH_LIBRARY));
	m->has_idle |= is_library(file, "libgpubpf-idle");
}

bool cli_mapped_read(pid_t pid, struct cli_mapped *mapped)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool any = false;
	FILE *f;

	*mapped = (struct cli_mapped){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0) {
		const char *file = find_mapped_path(line);

		any = true;
		if (file)
			note_file(mapped, file);
	}
	free(line);
	if (f)
		fclose(f);
	return any;
}

bool cli_mapped_uses_opencl(const struct cli_mapped *mapped)
{
	return mapped->has[CLI_RUNTIME_OPENCL] || mapped->has[CLI_RUNTIME_POCL];
}

bool cli_mapped_uses_gpu(const struct cli_mapped *mapped)
{
	for (int i = 0; i < CLI_NRUNTIMES; i++)
		if (mapped->has[i])
			return true;
	return mapped->has_agent || mapped->has_idle;
}
