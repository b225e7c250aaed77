/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: new, loaded, started, stopped. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/loaders/loaders.h"
#include "core/worker/result_cache.h"
#include "core/session/kernel_bpf/kernel_maps.h"
#include "core/session/twins/build_pool.h"
#include "core/session/base/sized.h"
#include "core/session/stacks/stacks.h"

struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts)
{
	return gpubpf_session_create(opts);
}

void gpubpf_session__free(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_session__stop(s);
	gpubpf_linux_maps_close(s);
	gpubpf_bpf_finish(s);
	gpubpf_session_destroy(s);
}

const char *gpubpf_session__error(const struct gpubpf_session *s)
{
	return s->error;
}

int gpubpf_session__start(struct gpubpf_session *s)
{
	int err, cache;

	if (s->state == GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EINVAL, "the session is not loaded");
	if (s->state != GPUBPF_SESSION_LOADED)
		return gpubpf_session_fail(s, -EBUSY, "the session was started already");
	err = gpubpf_kernel_table_open(s);
	if (!err)
		err = gpubpf_session_dir(s);
	if (!err)
		err = gpubpf_server_open(s);
	if (!err)
		err = gpubpf_builders_create(s, &s->builders);
	if (err < 0) {
		gpubpf_server_close(s);
		return err;
	}
	cache = s->opts.cache_dir ? gpubpf_result_cache_check(s->opts.cache_dir) : 0;
	if (cache == -EPERM || cache == -ENOTDIR || cache == -ELOOP)
		gpubpf_session_note(s,
				    "%s: twins are not stored there: it must be a folder of your own with mode "
				    "0700; remove it or set XDG_CACHE_HOME",
				    s->opts.cache_dir);
	else if (cache < 0)
		gpubpf_session_note(s, "%s: twins are not stored there: %s", s->opts.cache_dir, strerror(-cache));
	gpubpf_links_publish(s);
	if (!s->opts.no_attach)
		gpubpf_linux_progs_attach(s);
	s->state = GPUBPF_SESSION_STARTED;
	return 0;
}

const char *gpubpf_session__path(const struct gpubpf_session *s)
{
	return s->path[0] ? s->path : NULL;
}

int gpubpf_session__fd(const struct gpubpf_session *s)
{
	return s->epoll;
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
	gpubpf_linux_progs_detach(s);
	gpubpf_server_poll(s, 0);
	gpubpf_builders_destroy(s->builders);
	s->builders = NULL;
	s->pending = 0;
	gpubpf_server_close(s);
	gpubpf_reader_run(s, true);
	gpubpf_linux_maps_pass(s);
	s->state = GPUBPF_SESSION_STOPPED;
	return 0;
}

uint32_t gpubpf_session__pending(const struct gpubpf_session *s)
{
	return s->pending;
}

uint32_t gpubpf_session__processes(const struct gpubpf_session *s)
{
	return s->nprocesses;
}

uint32_t gpubpf_session__devices(const struct gpubpf_session *s)
{
	return s->ndevices;
}
