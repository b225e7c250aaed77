/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests HOST_CALL maps: exact results with many threads, and callers of a host that is missing, slow or stopped. A late
 * answer must never reach a later call.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "maps/host/host_calls.h"
#include "tests/maps/fixture.h"
#include "tests/tap.h"

#define TYPE 1600
#define MS 1000000ull
#define THREADS 8
#define CALLS 2000

struct ask {
	uint64_t a;
	uint32_t b;
	uint8_t c;
} __attribute__((packed));

struct reply {
	uint64_t sum;
	uint8_t c, end;
} __attribute__((packed));

struct server {
	struct fixture *f;
	uint32_t answered[64];
	atomic_bool stops;
	atomic_uint calls;
	sem_t *entered, *may_answer; /* NULL: the function does not wait */
	pthread_t thread;
};

static int64_t add(void *arg, const void *in, void *out)
{
	struct server *s = arg;
	const struct ask *ask = in;
	struct reply *reply = out;

	if (s->entered) {
		sem_post(s->entered);
		sem_wait(s->may_answer);
	}
	*reply = (struct reply){ ask->a + ask->b, ask->c, 0xee };
	s->calls++;
	return (int64_t)ask->a - 5;
}

static uint32_t serve(struct server *s)
{
	return gpubpf_host_call_serve(&s->f->view[0], s->answered, add, s);
}

static void *serve_until_stopped(void *arg)
{
	struct server *s = arg;

	while (!s->stops)
		serve(s);
	return NULL;
}

static void start(struct server *s)
{
	s->stops = false;
	pthread_create(&s->thread, NULL, serve_until_stopped, s);
}

static void stop(struct server *s)
{
	s->stops = true;
	pthread_join(s->thread, NULL);
}

static void begin(struct fixture *f, struct server *s, uint32_t slots, uint64_t limit)
{
	fixture_begin(f);
	fixture_map(f, TYPE, sizeof(struct ask), sizeof(struct reply), slots, 0);
	if (fixture_ready(f) < 0)
		abort();
	*s = (struct server){ .f = f };
	gpubpf_host_call_enable(&f->view[0], true, limit);
}

static int64_t call(struct fixture *f, uint64_t a, struct reply *reply)
{
	struct ask ask = { a, (uint32_t)a * 3, (uint8_t)a };
	struct gpubpf_env env = { .arena = (uintptr_t)f->arena };

	memset(reply, 0x55, sizeof(*reply));
	return gpubpf_host_call_run(&env, GPUBPF_LAYOUT_PASS(f->view[0].layout), (u8 *)&ask, (u8 *)reply);
}

static bool is_exact(uint64_t a, int64_t ret, const struct reply *r)
{
	return ret == (int64_t)a - 5 && r->sum == a + (uint32_t)a * 3 && r->c == (uint8_t)a && r->end == 0xee;
}

static bool is_clear(const struct reply *r)
{
	static const struct reply zeros;

	return !memcmp(r, &zeros, sizeof(zeros));
}

static uint64_t word(struct fixture *f, uint64_t offset)
{
	return gpubpf_load_u64((uintptr_t)f->arena + f->view[0].layout->ctl + offset);
}

/* The host shows that it works, as with an answer to another slot. */
static void beat(struct fixture *f)
{
	gpubpf_add_u64((uintptr_t)f->arena + f->view[0].layout->ctl + GPUBPF_HOST_CALL_BEAT, 1);
}

static void test_without_function(void)
{
	struct fixture f;
	struct server s;
	struct reply r;

	begin(&f, &s, 4, 1000 * MS);
	gpubpf_host_call_enable(&f.view[0], false, 1000 * MS);
	ok(call(&f, 1, &r) == -ENOSYS && is_clear(&r), "without a function: -ENOSYS and zeros");
	ok(!word(&f, GPUBPF_HOST_CALL_OWNERS) && !serve(&s), "and nothing is posted");
	fixture_end(&f);
}

struct caller {
	struct fixture *f;
	uint64_t first;
	uint32_t wrong;
};

static void *call_often(void *arg)
{
	struct caller *c = arg;
	struct reply r;

	for (uint64_t a = c->first; a < c->first + CALLS; a++) {
		int64_t ret = call(c->f, a, &r);

		c->wrong += !is_exact(a, ret, &r);
	}
	return NULL;
}

static void test_threads(uint32_t slots)
{
	struct caller callers[THREADS];
	pthread_t threads[THREADS];
	struct fixture f;
	struct server s;
	uint32_t wrong = 0;

	begin(&f, &s, slots, 600000 * MS);
	start(&s);
	for (int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ .f = &f, .first = (uint64_t)i << 33 };
		pthread_create(&threads[i], NULL, call_often, &callers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += callers[i].wrong;
	}
	stop(&s);
	ok(!wrong && s.calls == THREADS * CALLS, "%u slots: %u calls of %d threads are exact", slots, s.calls, THREADS);
	ok(!gpubpf_map_drops(&f.view[0]), "%u slots: no call failed", slots);
	fixture_end(&f);
}

/* The host stops before it has seen the request. */
static void test_stopped(void)
{
	struct fixture f;
	struct server s;
	struct reply r;

	begin(&f, &s, 1, 20 * MS);
	ok(call(&f, 10, &r) == -ETIMEDOUT && is_clear(&r), "a stopped host: the call ends with -ETIMEDOUT and zeros");
	gpubpf_host_call_enable(&f.view[0], true, 3000 * MS);
	ok(call(&f, 11, &r) == -ETIMEDOUT, "the next call fails because of the first, and not for want of a slot");
	ok(gpubpf_map_drops(&f.view[0]) == 2, "both are counted");
	gpubpf_host_call_enable(&f.view[0], true, 20 * MS);
	beat(&f);
	ok(call(&f, 12, &r) == -EBUSY && is_clear(&r), "the slot of the late request is not used");
	ok(serve(&s) == 1 && s.calls == 1, "the host continues, and answers the first request only");
	start(&s);
	gpubpf_host_call_enable(&f.view[0], true, 60000 * MS);
	ok(is_exact(13, call(&f, 13, &r), &r), "then the slot is free, and a call is exact");
	stop(&s);
	fixture_end(&f);
}

/* The host stops inside the function, and writes its output after the call has ended. */
static void test_late_answer(void)
{
	sem_t entered, may_answer;
	struct fixture f;
	struct server s;
	struct reply r;

	sem_init(&entered, 0, 0);
	sem_init(&may_answer, 0, 0);
	begin(&f, &s, 2, 20 * MS);
	s.entered = &entered;
	s.may_answer = &may_answer;
	start(&s);
	ok(call(&f, 20, &r) == -ETIMEDOUT, "a slow function: -ETIMEDOUT");
	sem_wait(&entered);
	beat(&f);
	ok(call(&f, 21, &r) == -ETIMEDOUT && is_clear(&r), "the second slot times out too");
	beat(&f);
	ok(call(&f, 22, &r) == -EBUSY, "no slot is free while the function runs");
	sem_post(&may_answer);
	sem_post(&may_answer);
	sem_wait(&entered);
	while (s.calls < 2)
		;
	ok(is_clear(&r), "late answers do not reach the caller");
	gpubpf_host_call_enable(&f.view[0], true, 60000 * MS);
	for (int i = 0; i < 4; i++)
		sem_post(&may_answer);
	ok(is_exact(23, call(&f, 23, &r), &r) && is_exact(24, call(&f, 24, &r), &r), "later calls get their own answers");
	stop(&s);
	fixture_end(&f);
}

/* A new server does not answer requests that an earlier one has answered. */
static void test_successor(void)
{
	struct fixture f;
	struct server s, next;
	struct reply r;

	begin(&f, &s, 1, 600000 * MS);
	start(&s);
	ok(is_exact(30, call(&f, 30, &r), &r), "a call before the change of servers");
	stop(&s);
	next = (struct server){ .f = &f };
	gpubpf_host_call_skip(&f.view[0], next.answered);
	ok(!serve(&next), "the next server finds no request");
	fixture_end(&f);
}

static void test_definitions(void)
{
	static const struct {
		uint32_t key, value, entries;
	} bad[] = { { 0, 8, 4 }, { 513, 8, 4 }, { 8, 0, 4 }, { 8, 513, 4 }, { 8, 8, 0 }, { 8, 8, 65537 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		fixture_begin(&f);
		fixture_map(&f, TYPE, bad[i].key, bad[i].value, bad[i].entries, 0);
		ok(fixture_ready(&f) == -EINVAL, "refused: argument %u, output %u, slots %u", bad[i].key, bad[i].value,
		   bad[i].entries);
	}
}

int main(void)
{
	test_without_function();
	test_threads(64);
	test_threads(2);
	test_stopped();
	test_late_answer();
	test_successor();
	test_definitions();
	return done();
}
