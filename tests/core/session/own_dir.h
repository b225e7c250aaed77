/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates a private folder for the session's socket. Tools that search for sessions do not search this folder. A
 * connection from such a search would disturb the test.
 */
#ifndef GPUBPF_TESTS_SESSION_OWN_DIR_H
#define GPUBPF_TESTS_SESSION_OWN_DIR_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char own_dir[] = "/tmp/gpubpf-api-XXXXXX";

static void own_dir_remove(void)
{
	char sockets[sizeof(own_dir) + sizeof("/gpubpf")];

	snprintf(sockets, sizeof(sockets), "%s/gpubpf", own_dir);
	rmdir(sockets);
	rmdir(own_dir);
}

static void own_dir_make(void)
{
	if (!mkdtemp(own_dir) || setenv("XDG_RUNTIME_DIR", own_dir, 1))
		abort();
	atexit(own_dir_remove);
}

#endif
