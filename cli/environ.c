/* SPDX-License-Identifier: Apache-2.0 */
/* The only file of the tool that reads environment variables. docs/reference/environment.md describes the variables. */
#include "cli.h"

#include <stdlib.h>

const char *cli_env_variable(const char *name)
{
	return secure_getenv(name);
}

static const char *get(const char *name)
{
	const char *value = cli_env_variable(name);

	return value && value[0] ? value : NULL;
}

const char *cli_env_backend(void)
{
	return get("GPUBPF_BACKEND");
}

const char *cli_env_wait(void)
{
	return get("GPUBPF_WAIT");
}

const char *cli_env_place(void)
{
	return get("GPUBPF_PLACE");
}

const char *cli_env_threads(void)
{
	return get("BPFTIME_MAP_GPU_THREAD_COUNT");
}

const char *cli_env_path(void)
{
	return get("PATH");
}

const char *cli_env_session(void)
{
	return get("GPUBPF_SESSION");
}

const char *cli_env_assembler(void)
{
	return secure_getenv("GPUBPF_PTXAS");
}

bool cli_env_no_color(void)
{
	return get("NO_COLOR");
}

const char *cli_env_terminal(void)
{
	return get("TERM");
}

static const char *find_folder(const char *name, const char *below, char *buf, size_t size)
{
	const char *value = get(name);
	int n = value && value[0] == '/' ? snprintf(buf, size, "%s%s", value, below) : -1;

	return n > 0 && (size_t)n < size ? buf : NULL;
}

const char *cli_env_runtime_dir(char *buf, size_t size)
{
	return find_folder("XDG_RUNTIME_DIR", "/gpubpf", buf, size);
}

const char *cli_env_cache_dir(char *buf, size_t size)
{
	const char *dir = find_folder("XDG_CACHE_HOME", "/gpubpf", buf, size);

	return dir ? dir : find_folder("HOME", "/.cache/gpubpf", buf, size);
}
