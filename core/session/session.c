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
#include "core/session/maps/sized.h"
#include "core/session/stacks/stacks.h"

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

struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts)
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
		gpubpf_session__free(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

static void free_records(struct gpubpf_session *s)
{
	for (uint64_t i = 0; i < s->nkept; i++) {
		free(s->kept[i].print);
		free(s->kept[i].data);
	}
	free(s->kept);
}

static void free_loaded(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->loaded && i < s->loaded->unit.nprogs; i++) {
		gpubpf_facts_destroy(s->loaded->unit.progs[i].facts); /* NULL for a borrowed one */
		s->loaded->unit.progs[i].facts = NULL;
	}
	if (s->loaded)
		gpubpf_loaded_destroy(s->loaded);
	free(s->map_use);
	free(s->map_records);
	free(s->map_set);
}

void gpubpf_session__free(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_session__stop(s);
	gpubpf_linux_maps_close(s);
	gpubpf_bpf_finish(s);
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
		err = gpubpf_builders_create(s, &s->makers);
	if (err < 0) {
		gpubpf_server_close(s);
		return err;
	}
	cache = s->opts.cache_dir ? gpubpf_result_cache_check(s->opts.cache_dir) : 0;
	if (cache == -EPERM || cache == -ENOTDIR || cache == -ELOOP)
		gpubpf_session_note(s, "%s: twins are not stored there: it must be a folder of your own with mode "
				       "0700; remove it or set XDG_CACHE_HOME", s->opts.cache_dir);
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
	gpubpf_builders_destroy(s->makers);
	s->makers = NULL;
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

/* Split the wait into the parts that agents counted and the rest, so that all add up. Agents are not trusted. */
static void split_wait_ns(const struct gpubpf_session *s, struct gpubpf_cost_stats *c)
{
	uint64_t *const part[GPUBPF_WAIT_PARTS] = {
		&c->wait_ask_ns, &c->wait_answer_ns, &c->wait_load_ns, &c->wait_others_ns,
	};
	uint64_t left = c->wait_ns;

	for (int i = 0; i < GPUBPF_WAIT_PARTS; i++) {
		*part[i] = __atomic_load_n(&s->table->wait_ns[i], __ATOMIC_RELAXED);
		*part[i] = *part[i] < left ? *part[i] : left;
		left -= *part[i];
	}
	c->wait_rest_ns = left;
}

int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats)
{
	struct gpubpf_cost_stats all = s->cost;

	gpubpf_kernel_table_times(s, &all.wait_ns, &all.twin_load_ns);
	all.hook_ns = gpubpf_kernel_table_hook_ns(s);
	if (s->table) {
		all.drained_bytes = __atomic_load_n(&s->table->drained_bytes, __ATOMIC_RELAXED);
		split_wait_ns(s, &all);
		all.drain_ns = __atomic_load_n(&s->table->drain_ns, __ATOMIC_RELAXED);
	}
	return gpubpf_sized_copy_out(stats, sizeof(all), &all);
}

const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s,
						       const struct gpubpf_prog *prev)
{
	const struct gpubpf_unit *unit = s->loaded ? &s->loaded->unit : NULL;
	const struct gpubpf_prog *next = prev ? prev + 1 : unit ? unit->progs : NULL;

	while (unit && next < unit->progs + unit->nprogs && s->links && s->links[next - unit->progs].borrowed)
		next++;
	return unit && next < unit->progs + unit->nprogs ? next : NULL;
}

const char *gpubpf_prog__name(const struct gpubpf_prog *prog)
{
	return prog->name;
}

const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog)
{
	return prog->section;
}

const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog)
{
	return prog->pattern;
}

uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = prog->session ? &prog->session->loaded->unit : NULL;

	for (uint32_t m = 0; unit && m < unit->nmaps; m++)
		for (uint32_t i = 0; unit->maps[m].object == prog->object && i < unit->maps[m].ntargets; i++)
			if (!strcmp(unit->maps[m].targets[i].name, prog->name))
				return unit->maps[m].targets[i].number;
	return 0;
}

uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog)
{
	return prog->ninsns;
}

uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog)
{
	return prog->facts ? prog->facts->cost.insns : 0;
}
