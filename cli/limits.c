/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raises the tool's resource limits as far as permitted. The user's limits are meant for the program, which gets the
 * original ones.
 */
#include "cli.h"

#include <signal.h>
#include <sys/resource.h>

static struct {
	int resource;
	rlim_t enough;
	struct rlimit before;
} limits[] = {
	{ RLIMIT_NOFILE, RLIM_INFINITY, { 0 } }, /* each process and each device needs a descriptor */
	{ RLIMIT_FSIZE, RLIM_INFINITY, { 0 } },  /* shared memory counts as a file */
	{ RLIMIT_STACK, 8u << 20, { 0 } },
};
static struct sigaction size_before;

void cli_limits_raise(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit more;

		getrlimit(limits[i].resource, &limits[i].before);
		more = limits[i].before;
		if (more.rlim_cur >= limits[i].enough)
			continue;
		more.rlim_cur = more.rlim_max < limits[i].enough ? more.rlim_max : limits[i].enough;
		setrlimit(limits[i].resource, &more);
	}
	sigaction(SIGXFSZ, &ignore, &size_before); /* writes beyond the limit of file size fail with an error, as on
						    * a full disk */
}

void cli_limits_restore(void)
{
	sigaction(SIGXFSZ, &size_before, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		setrlimit(limits[i].resource, &limits[i].before);
}
