/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees the data of a session. The loaders' shelves are sessions that never start, and use only these
 * functions. */
#include "core/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/base/sized.h"
#include "core/session/kernel_bpf/kernel_maps.h"
#include "core/session/stacks/stacks.h"
#include "core/session/twins/build_pool.h"

static int own_strings(struct gpubpf_session_opts *o)
{
	const char **own[] = { &o->runtime_dir, &o->worker_dir, &o->agent, &o->cache_dir, &o->backend, &o->route };
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

static void free_records(struct gpubpf_session *s)
{
	for (uint64_t i = 0; i < s->nstored; i++) {
		free(s->stored[i].print);
		free(s->stored[i].data);
	}
	free(s->stored);
}

static void free_loaded(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->loaded && i < s->loaded->unit.nprogs; i++) {
		gpubpf_facts_destroy(s->loaded->unit.progs[i].facts); /* a borrowed link's program has NULL */
		s->loaded->unit.progs[i].facts = NULL;
	}
	if (s->loaded)
		gpubpf_loaded_destroy(s->loaded);
	free(s->map_use);
	free(s->map_records);
	free(s->map_set);
}

void gpubpf_session_destroy(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_linux_maps_close(s);
	gpubpf_arenas_close(s);
	gpubpf_stacks_free(s);
	gpubpf_linux_progs_close(s);
	gpubpf_kernel_table_close(s);
	free_records(s);
	gpubpf_links_close(s);
	free_loaded(s);
	for (uint32_t i = 0; i < s->npaths; i++) {
		free((void *)s->images[i].data);
		free(s->paths[i]);
	}
	for (uint32_t i = 0; i < s->nattach; i++) {
		free((char *)s->attach[i].prog);
		free((char *)s->attach[i].pattern);
	}
	for (uint32_t i = 0; i < s->nvalues; i++)
		gpubpf_load_value_finish(&s->values[i]);
	for (uint32_t i = 0; i < s->nnotes; i++)
		free(s->notes[i]);
	gpubpf_placements_free(s);
	free(s->images);
	free(s->values);
	free(s->paths);
	free(s->attach);
	free(s->notes);
	gpubpf_kernel_ids_free(s);
	for (uint32_t i = 0; i < s->nverdicts; i++) {
		gpubpf_twin_put(s->verdicts[i].twin);
		free(s->verdicts[i].functions);
	}
	free(s->verdicts);
	free(s->listed);
	free((char *)s->opts.runtime_dir);
	free((char *)s->opts.worker_dir);
	free((char *)s->opts.agent);
	free((char *)s->opts.cache_dir);
	free((char *)s->opts.backend);
	free((char *)s->opts.route);
	free(s->assembler);
	free(s);
}

struct gpubpf_session *gpubpf_session_create(const struct gpubpf_session_opts *opts)
{
	struct gpubpf_session *s;

	if (opts && !gpubpf_sized_is_valid(opts, sizeof(*opts))) {
		errno = EINVAL;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->listener = s->epoll = s->wake = s->timer = s->spare = s->table_fd = -1;
	s->enabled = true;
	if (opts)
		gpubpf_sized_copy_in(&s->opts, sizeof(s->opts), opts);
	set_defaults(&s->opts);
	if (own_strings(&s->opts) < 0 || gpubpf_stacks_open(s) < 0) {
		gpubpf_session_destroy(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}
