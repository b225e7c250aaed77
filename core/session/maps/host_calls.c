/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that answers host calls (host_calls.h). Lanes cannot wake it, so it polls the mailboxes while processes are
 * connected. After a call it polls without a pause, because a warp often calls again. Then it sleeps ever longer, up to
 * MAX_SLEEP_NS. Without processes it sleeps until one connects.
 *
 * The session's thread only adds mailboxes and never removes one, so the serving thread needs no lock to walk the list.
 */
#include "host_calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "maps/host/host_calls.h"
#include "private.h"

#define DEFAULT_LIMIT_MS 1000
#define MAX_LIMIT_MS 1000000000ull /* the device compares signed numbers of ns */
#define NS_PER_MS 1000000ull
#define SPINS 4096            /* polls without a pause after the last call, about 0.1 ms for a map of 512 slots */
#define MIN_SLEEP_NS 5000u
#define MAX_SLEEP_NS 1000000u
#define TIMER_SLACK_NS 1000   /* the kernel's default, 50 us, would be the latency of a call after a pause */

struct registered_function {
	struct registered_function *next;
	struct gpubpf_map *map;
	gpubpf_host_call_fn fn;
	void *ctx;
};

/* The mailboxes of a map in one arena. */
struct mailboxes {
	struct mailboxes *_Atomic next;
	const struct registered_function *function;
	struct gpubpf_map_layout layout;
	struct gpubpf_map_view view;
	struct gpubpf_host_call call; /* describes the caller; in and out are set for each call */
	uint32_t arena;
	uint32_t answered[];
};

struct session_host_calls {
	struct registered_function *functions; /* only the session's thread uses this member */
	struct mailboxes *_Atomic boxes;
	pthread_t thread;
	pthread_mutex_t lock; /* with `changed`, for the members below */
	pthread_cond_t changed;
	atomic_uint processes;
	atomic_bool stops;
};

static int64_t run_function(void *arg, const void *in, void *out)
{
	struct mailboxes *b = arg;

	b->call.in = in;
	b->call.out = out;
	return b->function->fn(b->function->ctx, &b->call);
}

static uint32_t serve_all(struct session_host_calls *h)
{
	uint32_t n = 0;

	for (struct mailboxes *b = h->boxes; b; b = b->next)
		n += gpubpf_host_call_serve(&b->view, b->answered, run_function, b);
	return n;
}

static void await_processes(struct session_host_calls *h)
{
	pthread_mutex_lock(&h->lock);
	while (!h->processes && !h->stops)
		pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

/* Pause after `idle` polls that found no call. */
static void sleep_between_polls(uint32_t idle)
{
	uint64_t ns = MIN_SLEEP_NS;

	if (idle < SPINS)
		return;
	for (uint32_t i = (idle - SPINS) / 16; i && ns < MAX_SLEEP_NS; i--)
		ns *= 2;
	ns = ns < MAX_SLEEP_NS ? ns : MAX_SLEEP_NS;
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static void *run_thread(void *arg)
{
	struct session_host_calls *h = arg;
	uint32_t idle = SPINS;

	prctl(PR_SET_NAME, "gpubpf-calls");
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	while (!h->stops) {
		await_processes(h);
		if (serve_all(h))
			idle = 0;
		else if (idle < UINT32_MAX)
			idle++;
		sleep_between_polls(idle);
	}
	return NULL;
}

/* Signals belong to the threads of the tool, so the new thread blocks them. */
static int start_thread(struct session_host_calls *h)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&h->thread, NULL, run_thread, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static int open_thread(struct gpubpf_session *s)
{
	struct session_host_calls *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	err = start_thread(h);
	if (err < 0) {
		free(h);
		return err;
	}
	s->maps->host_calls = h;
	return 0;
}

static uint64_t limit_ns(const struct gpubpf_session *s)
{
	uint64_t ms = s->opts.host_call_ms ? s->opts.host_call_ms : DEFAULT_LIMIT_MS;

	return (ms < MAX_LIMIT_MS ? ms : MAX_LIMIT_MS) * NS_PER_MS;
}

static bool has_mailboxes(const struct session_host_calls *h, const struct registered_function *f, uint32_t arena)
{
	for (const struct mailboxes *b = h->boxes; b; b = b->next)
		if (b->function == f && b->arena == arena)
			return true;
	return false;
}

/*
 * Let programs of the arena's devices call the function. Only memory that the host shares with running kernels can hold
 * mailboxes.
 */
static void enable(struct gpubpf_session *s, const struct mailboxes *b)
{
	const struct gpubpf_session_arena *a = gpubpf_arena_at(s, b->arena);

	if (a->shared || b->layout.flags & GPUBPF_LAYOUT_LIVE)
		gpubpf_host_call_enable(&b->view, true, limit_ns(s));
	else
		gpubpf_session_note(s,
				    "map %s: host calls on %s return -ENOSYS, because the map is not in host memory that the "
				    "device can access; gpubpf device list shows the memory of devices",
				    b->function->map->name, a->name);
}

static int add_mailboxes(struct gpubpf_session *s, const struct registered_function *f, uint32_t arena)
{
	struct session_host_calls *h = s->maps->host_calls;
	const struct gpubpf_session_arena *a = gpubpf_arena_at(s, arena);
	struct gpubpf_map_view view = gpubpf_arena_view(s, arena, gpubpf_map_index(f->map));
	struct mailboxes *b = calloc(1, sizeof(*b) + view.layout->max_entries * sizeof(*b->answered));

	if (!b)
		return -ENOMEM;
	b->function = f;
	b->arena = arena;
	b->layout = *view.layout;
	b->view = view;
	b->view.layout = &b->layout;
	b->call = (struct gpubpf_host_call){
		.map = f->map,
		.in_size = b->layout.key_size,
		.out_size = b->layout.value_size,
		.process = a->process,
		.device = a->device,
		.backend = gpubpf_arena_backend(s, arena),
	};
	gpubpf_host_call_skip(&b->view, b->answered);
	b->next = h->boxes;
	h->boxes = b;
	enable(s, b);
	return 0;
}

static void count_processes(struct gpubpf_session *s, struct session_host_calls *h)
{
	uint32_t n = 0;

	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		n += peer->kind == GPUBPF_PEER_AGENT;
	pthread_mutex_lock(&h->lock);
	h->processes = n;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static int update(struct gpubpf_session *s)
{
	struct session_host_calls *h = s->maps->host_calls;
	int err = 0;

	if (h)
		count_processes(s, h);
	for (const struct registered_function *f = h ? h->functions : NULL; f; f = f->next)
		for (uint32_t arena = 0; arena < gpubpf_arenas_count(s) && !err; arena++)
			if (gpubpf_map_index(f->map) < gpubpf_arena_at(s, arena)->layout.nmaps &&
			    !has_mailboxes(h, f, arena))
				err = add_mailboxes(s, f, arena);
	return err;
}

void gpubpf_host_calls_update(struct gpubpf_session *s)
{
	if (update(s) < 0)
		gpubpf_session_note(s, "host calls of some programs return -ENOSYS, because memory is short");
}

static bool is_registered(const struct session_host_calls *h, const struct gpubpf_map *map)
{
	for (const struct registered_function *f = h ? h->functions : NULL; f; f = f->next)
		if (f->map == map)
			return true;
	return false;
}

int gpubpf_map__register_host_call(struct gpubpf_map *map, gpubpf_host_call_fn fn, void *ctx)
{
	struct gpubpf_session *s = map->session;
	struct registered_function *f;
	int err = 0;

	if (!fn || !(map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_HOST_CALL)))
		return -EINVAL;
	if (s->state == GPUBPF_SESSION_STOPPED)
		return -EBUSY;
	if (is_registered(s->maps->host_calls, map))
		return -EEXIST;
	if (!s->maps->host_calls)
		err = open_thread(s);
	f = err ? NULL : calloc(1, sizeof(*f));
	if (!f)
		return err ? err : -ENOMEM;
	*f = (struct registered_function){ s->maps->host_calls->functions, map, fn, ctx };
	s->maps->host_calls->functions = f;
	return update(s);
}

static void free_lists(struct session_host_calls *h)
{
	for (struct mailboxes *b = h->boxes, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	for (struct registered_function *f = h->functions, *next; f; f = next) {
		next = f->next;
		free(f);
	}
}

void gpubpf_host_calls_stop(struct gpubpf_session *s)
{
	struct session_host_calls *h = s->maps->host_calls;

	if (!h)
		return;
	for (struct mailboxes *b = h->boxes; b; b = b->next)
		gpubpf_host_call_enable(&b->view, false, limit_ns(s));
	pthread_mutex_lock(&h->lock);
	h->stops = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	serve_all(h);
	s->maps->host_calls = NULL;
	free_lists(h);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
