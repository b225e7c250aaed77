/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file of hooks/loader that reads the environment. It reads the session's path once, since another thread may
 * change the environment. In a set-user-ID program the result is always that there is no session.
 */
#include "environ.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char session[108]; /* path of the session's socket; as large as sockaddr_un.sun_path */

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
