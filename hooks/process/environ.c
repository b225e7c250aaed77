/* SPDX-License-Identifier: Apache-2.0 */
/* The only file of the agent that reads the environment. In a set-user-ID program it treats all variables as unset. */
#include "process.h"
#include "maps/host/mirror.h"

#include <stdio.h>
#include <stdlib.h>

const char *gpubpf_env_variable(const char *name)
{
	return secure_getenv(name);
}

static const char *value(const char *name)
{
	const char *v = gpubpf_env_variable(name);

	return v && *v ? v : NULL;
}

const char *gpubpf_env_session(void)
{
	return value("GPUBPF_SESSION");
}

const char *gpubpf_env_backend(void)
{
	return value("GPUBPF_BACKEND");
}

static uint64_t number(const char *name, uint64_t most)
{
	const char *v = value(name);
	char *end = NULL;
	unsigned long long n = v && *v >= '0' && *v <= '9' ? strtoull(v, &end, 10) : 0;

	return end && !*end && n <= most ? n : 0;
}

uint64_t gpubpf_env_drain_threads(void)
{
	return number("GPUBPF_DRAIN_THREADS", GPUBPF_MIRROR_MAX_THREADS);
}

uint64_t gpubpf_env_drain_bytes(void)
{
	return number("GPUBPF_DRAIN_BYTES", 1ull << 30);
}

bool gpubpf_env_cache(char *path, size_t size)
{
	const char *xdg = value("XDG_CACHE_HOME"), *home = value("HOME");
	int n = -1;

	if (xdg && *xdg == '/')
		n = snprintf(path, size, "%s/gpubpf", xdg);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/gpubpf", home);
	return n > 0 && (size_t)n < size;
}
