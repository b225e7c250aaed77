/* SPDX-License-Identifier: Apache-2.0 */
/* A session with its own runtime folder, for tests that take the part of agents and tools. */
#ifndef GPUBPF_TESTS_SESSION_FIXTURE_H
#define GPUBPF_TESTS_SESSION_FIXTURE_H

#include "peer.h"
#include "tests/tap.h"

static char dir[64];
static const char *object, *joins, *nested;
static char notes[4096];

static void on_note(void *ctx, const char *text)
{
	strncat(notes, text, sizeof(notes) - strlen(notes) - 2);
	strcat(notes, "\n");
}

static struct gpubpf_session *start_with(const char *path, const char *workers)
{
	struct gpubpf_session_opts o = {
		.sz = sizeof(o), .runtime_dir = dir, .worker_dir = workers, .wait_ms = 3000, .note = on_note,
	};
	struct gpubpf_session *s = gpubpf_session__new(&o);

	notes[0] = 0;
	gpubpf_session__add_object(s, path);
	if (gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0)
		note("%s", gpubpf_session__error(s));
	return s;
}

static struct gpubpf_session *start(const char *workers)
{
	return start_with(object, workers);
}

/* Create the folder dir and take the objects from the command line: PROGRAMS [MORE-PROGRAMS [MAPS-OF-MAPS]]. */
static bool fixture(int argc, char **argv)
{
	object = argc > 1 ? argv[1] : "";
	joins = argc > 2 ? argv[2] : "";
	nested = argc > 3 ? argv[3] : "";
	snprintf(dir, sizeof(dir), "/tmp/gpubpf-test-XXXXXX");
	return mkdtemp(dir);
}

#endif
