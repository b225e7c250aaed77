/* SPDX-License-Identifier: Apache-2.0 */
/* The one file here that reads the environment, the session once: a program may change it in another thread. A set-user-ID program
 * sees none of that. */
#include "environ.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char session[108]; /* as long as a socket's name can be */

static void read_session(void)
{
	const char *v = secure_getenv("GPUBPF_SESSION");

	if (v && strlen(v) < sizeof(session))
		strcpy(session, v);
}

const char *loader_env_path(void)
{
	return getenv("PATH");
}

const char *loader_env_session(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_session);
	return session[0] ? session : NULL;
}
