/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, starts, stops and frees sessions. A session's states are new, loaded, started and stopped. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/worker/result_cache.h"
#include "core/session/loaders/session_loaders.h"
#include "core/session/maps/host_calls.h"
#include "core/session/base/sized.h"
#include "core/session/stacks/stacks.h"

static int own_strings(struct gpubpf_session_opts *o)
{
	const char **own[] = { &o->runtime_dir, &o->worker_dir, &o->agent, &o->cache_dir,
			       &o->backend,     &o->route,      &o->clock };
	int err = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!*own[i])
			continue;
		*own[i] = strdup(*own[i]);
		if (!*own[i])
			err = -ENOMEM;
	}
	return err;
}

static void free_strings(struct gpubpf_session_opts *o)
{
	free((char *)o->runtime_dir);
	free((char *)o->worker_dir);
	free((char *)o->agent);
	free((char *)o->cache_dir);
	free((char *)o->backend);
	free((char *)o->route);
	free((char *)o->clock);
}

static void set_defaults(struct gpubpf_session_opts *o)
{
	if (!o->wait_ms)
		o->wait_ms = 60000;
	if (!o->sample)
		o->sample = 1;
	if (o->no_events)
		o->max_events = 0;
	else if (!o->max_events)
		o->max_events = 1000;
}

/*
 * Create the data of each folder, in the order of the folders. A folder uses only the folders before it. Loaders create
 * their data when they need it.
 */
static int create_objects(struct gpubpf_session *s)
{
	static int (*const create[])(struct gpubpf_session *s) = {
		gpubpf_status_create,         gpubpf_unit_create,   gpubpf_kernels_create, gpubpf_peers_create,
		gpubpf_session_stacks_create, gpubpf_maps_create,   gpubpf_twins_create,   gpubpf_report_create,
		gpubpf_objects_create,        gpubpf_server_create,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(create) / sizeof(create[0]) && !err; i++)
		err = create[i](s);
	return err;
}

/* Free the data of all folders, in the reverse order. The data of a folder may not exist. */
static void destroy_session(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_support_event(s, GPUBPF_SUPPORT_CLOSING);
	gpubpf_server_destroy(s);
	gpubpf_objects_destroy(s);
	gpubpf_report_destroy(s);
	gpubpf_twins_destroy(s);
	gpubpf_maps_destroy(s);
	gpubpf_session_stacks_destroy(s);
	gpubpf_peers_destroy(s);
	gpubpf_kernels_destroy(s);
	gpubpf_unit_destroy(s);
	gpubpf_status_destroy(s);
	free_strings(&s->opts);
	free(s);
}

static struct gpubpf_session *create_session(const struct gpubpf_session_opts *opts);

static const struct gpubpf_session_factory factory = { create_session, destroy_session };

static struct gpubpf_session *create_session(const struct gpubpf_session_opts *opts)
{
	struct gpubpf_session *s;

	if (opts && !gpubpf_sized_is_valid(opts, sizeof(*opts))) {
		errno = EINVAL;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (opts)
		gpubpf_sized_copy_in(&s->opts, sizeof(s->opts), opts);
	set_defaults(&s->opts);
	s->factory = &factory;
	if (own_strings(&s->opts) < 0 || create_objects(s) < 0) {
		destroy_session(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts)
{
	struct gpubpf_session *s = create_session(opts);

	if (s)
		s->support = &gpubpf_loader_support;
	return s;
}

void gpubpf_session__free(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_session__stop(s);
	destroy_session(s);
}

static void check_cache(struct gpubpf_session *s)
{
	int cache = s->opts.cache_dir ? gpubpf_result_cache_check(s->opts.cache_dir) : 0;

	if (cache == -EPERM || cache == -ENOTDIR || cache == -ELOOP)
		gpubpf_session_note(s,
				    "%s: twins are not cached there: it must be a folder of your own with mode 0700; "
				    "remove it or set XDG_CACHE_HOME",
				    s->opts.cache_dir);
	else if (cache < 0)
		gpubpf_session_note(s, "%s: twins are not cached there: %s", s->opts.cache_dir, strerror(-cache));
}

int gpubpf_session__start(struct gpubpf_session *s)
{
	int err;

	if (s->state == GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EINVAL, "the session is not loaded");
	if (s->state != GPUBPF_SESSION_LOADED)
		return gpubpf_session_fail(s, -EBUSY, "the session was already started");
	err = gpubpf_kernel_table_open(s);
	if (!err)
		err = gpubpf_session_dir(s);
	if (!err)
		err = gpubpf_server_open(s);
	if (!err)
		err = gpubpf_twins_start(s, gpubpf_server_wake_fd(s));
	if (err < 0) {
		gpubpf_server_close(s);
		return err;
	}
	check_cache(s);
	gpubpf_links_publish(s);
	gpubpf_support_event(s, GPUBPF_SUPPORT_STARTED);
	s->state = GPUBPF_SESSION_STARTED;
	return 0;
}

int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms)
{
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	return gpubpf_server_poll(s, timeout_ms);
}

int gpubpf_session__stop(struct gpubpf_session *s)
{
	if (s->state == GPUBPF_SESSION_STOPPED)
		return 0;
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session was not started");
	gpubpf_session__enable(s, false);
	gpubpf_support_event(s, GPUBPF_SUPPORT_STOPPING);
	gpubpf_server_poll(s, 0);
	gpubpf_twins_stop(s);
	gpubpf_host_calls_stop(s);
	gpubpf_server_close(s);
	gpubpf_reader_run(s, true);
	gpubpf_support_synchronize(s, GPUBPF_SYNC_MAPS);
	s->state = GPUBPF_SESSION_STOPPED;
	return 0;
}
