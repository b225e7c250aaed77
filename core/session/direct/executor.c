/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: the session writes requests into the queues of a resident launch (core/wire/direct.h), and reads the answers.
 * No process and no system call is between the caller and the device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/session/base/sized.h"
#include "core/session/private.h"
#include "core/session/server/session_server.h"
#include "core/wire/direct.h"
#include "core/wire/msg.h"
#include "direct_run.h"
#include "maps/layout.h"

#define START_MS 300000
#define STOP_MS 5000
#define POLL_MS 5
#define SERVE_NS 1000000  /* a wait of this time serves the session */
#define SPINS 256         /* polls between two reads of the clock */

struct gpubpf_executor {
	struct gpubpf_session *s;
	struct gpubpf_direct_run *run;
	struct gpubpf_direct_block *block;
	struct gpubpf_serve_queue *queues;
	char *data;
	size_t data_size;
	uint32_t blocks, next; /* next: block of the next request */
	struct position {
		uint64_t busy; /* bit i: slot i has a request that no one waited for */
		uint32_t slot; /* slot and number of the next request */
		uint32_t number;
	} position[];
};

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool is_running(const struct gpubpf_executor *e, uint32_t block)
{
	return load(&e->queues[block].state) == GPUBPF_SERVE_RUNS;
}

/* Returns true if a block runs. On CPUs, blocks may start later, or not at all while others run. */
static bool has_block(const struct gpubpf_executor *e)
{
	for (uint32_t i = 0; i < e->blocks; i++)
		if (is_running(e, i))
			return true;
	return false;
}

/* End the launch. Returns 0, or the error of the runner. */
static int stop(struct gpubpf_executor *e, struct gpubpf_test_run_opts *o)
{
	uint64_t limit = gpubpf_now_ns() + STOP_MS * 1000000ull;

	__atomic_store_n(&e->block->stop, 1, __ATOMIC_RELEASE);
	while (!gpubpf_direct_is_done(e->run) && gpubpf_now_ns() < limit && gpubpf_server_poll(e->s, POLL_MS) >= 0)
		;
	return gpubpf_direct_end(e->run, o);
}

/*
 * Wait until a block runs the program. Returns -EOPNOTSUPP if the launch is the kernel without the program, and
 * -ECANCELED if the runner ended.
 */
static int wait_for_start(struct gpubpf_executor *e, uint32_t timeout_ms)
{
	uint64_t limit = gpubpf_now_ns() + (timeout_ms ? timeout_ms : START_MS) * 1000000ull;
	int err = 0;

	while (err >= 0 && !(has_block(e) && gpubpf_direct_launches(e->run))) {
		if (gpubpf_direct_is_done(e->run))
			return -ECANCELED;
		if (has_block(e) && gpubpf_direct_reason(e->run)[0])
			return -EOPNOTSUPP;
		if (gpubpf_now_ns() > limit)
			return -ETIMEDOUT;
		err = gpubpf_server_poll(e->s, POLL_MS);
	}
	return err < 0 ? err : 0;
}

static int start(struct gpubpf_executor *e, const struct gpubpf_prog *prog, struct gpubpf_executor_opts *o)
{
	struct gpubpf_test_run_opts run = { .sz = sizeof(run), .data_in = o->data_in, .data_size_in = o->data_size };
	size_t queues = e->blocks * sizeof(*e->queues);
	char reason[256];
	int err;

	run.backend = o->backend;
	run.device = o->device;
	run.device_index = o->device_index;
	run.environ = o->environ;
	run.grid[0] = e->blocks;
	run.block[0] = o->threads;
	err = gpubpf_direct_begin(e->s, (uint32_t)(prog - gpubpf_session_unit(e->s)->progs), &run, queues, &e->run);
	if (err < 0)
		return err;
	e->block = gpubpf_direct_block(e->run);
	e->queues = (void *)((char *)e->block + GPUBPF_DIRECT_DATA);
	e->data = (char *)e->queues + queues;
	err = wait_for_start(e, o->timeout_ms);
	snprintf(o->used_backend, sizeof(o->used_backend), "%.15s", e->block->backend);
	snprintf(o->used_device, sizeof(o->used_device), "%.127s", e->block->device);
	if (!err)
		return 0;
	snprintf(reason, sizeof(reason), "%s", gpubpf_direct_reason(e->run));
	run.data_size_out = 0;
	if (stop(e, &run) < 0 && err == -ECANCELED)
		return -ENODEV; /* the session has the reason */
	return gpubpf_session_fail(e->s, err, "%s: %s", prog->name,
				   err == -ETIMEDOUT  ? "the resident kernel did not start in time" :
				   err == -ECANCELED  ? "the resident kernel ended at once" :
				   err == -EOPNOTSUPP ? reason :
							strerror(-err));
}

int gpubpf_executor__new(const struct gpubpf_prog *prog, struct gpubpf_executor_opts *opts,
			 struct gpubpf_executor **executor)
{
	struct gpubpf_executor_opts all = { .sz = sizeof(all) };
	struct gpubpf_session *s = prog->session;
	struct gpubpf_executor *e;
	uint32_t blocks;
	int err;

	if (opts && gpubpf_sized_copy_in(&all, sizeof(all), opts) < 0)
		return gpubpf_session_fail(s, -EINVAL, "%s: struct gpubpf_executor_opts: " GPUBPF_SIZED_WHY, prog->name);
	blocks = all.blocks ? all.blocks : 1;
	if (blocks > GPUBPF_SERVE_BLOCKS || all.data_size % GPUBPF_SERVE_UNIT ||
	    all.data_size / GPUBPF_SERVE_UNIT >= 1ull << GPUBPF_SERVE_BITS)
		return gpubpf_session_fail(s, -EINVAL,
					   "%s: an executor has at most %u blocks, and a multiple of 8 bytes of data below 2 GiB",
					   prog->name, GPUBPF_SERVE_BLOCKS);
	e = calloc(1, sizeof(*e) + blocks * sizeof(e->position[0]));
	if (!e)
		return -ENOMEM;
	e->s = s;
	e->blocks = blocks;
	e->data_size = all.data_size;
	for (uint32_t i = 0; i < blocks; i++)
		e->position[i].number = 1;
	err = start(e, prog, &all);
	if (err < 0) {
		free(e);
		return err;
	}
	if (opts)
		gpubpf_sized_copy_out(opts, sizeof(all), &all);
	*executor = e;
	return 0;
}

void *gpubpf_executor__data(const struct gpubpf_executor *e)
{
	return e->data;
}

static void post(struct gpubpf_executor *e, uint32_t block, size_t offset, size_t size, uint64_t *request)
{
	struct position *p = &e->position[block];
	uint64_t word = (uint64_t)p->number << 2 * GPUBPF_SERVE_BITS | offset / GPUBPF_SERVE_UNIT << GPUBPF_SERVE_BITS |
			size / GPUBPF_SERVE_UNIT;

	*request = (uint64_t)block << 32 | p->slot << 16 | p->number;
	p->busy |= 1ull << p->slot;
	__atomic_store_n(&e->queues[block].requests[p->slot], word, __ATOMIC_RELEASE);
	if (++p->slot == GPUBPF_SERVE_SLOTS) {
		p->slot = 0;
		p->number = p->number == GPUBPF_SERVE_ROUNDS ? 1 : p->number + 1;
	}
}

int gpubpf_executor__submit(struct gpubpf_executor *e, size_t offset, size_t size, uint64_t *request)
{
	if (size > e->data_size || offset > e->data_size - size || (offset | size) % GPUBPF_SERVE_UNIT)
		return -EINVAL;
	for (uint32_t i = 0; i < e->blocks; i++) {
		uint32_t block = e->next + i < e->blocks ? e->next + i : e->next + i - e->blocks;

		if (!is_running(e, block) || e->position[block].busy >> e->position[block].slot & 1)
			continue;
		post(e, block, offset, size, request);
		e->next = block + 1 < e->blocks ? block + 1 : 0;
		return 0;
	}
	return has_block(e) ? -EAGAIN : -ESHUTDOWN;
}

/* Wait for the answer. Returns 0, -ETIMEDOUT or -ESHUTDOWN. */
static int wait_for_answer(struct gpubpf_executor *e, uint32_t block, const struct gpubpf_serve_answer *answer,
			   uint32_t number, uint32_t timeout_ms)
{
	uint64_t begin = 0, now;

	for (uint32_t i = 1; load(&answer->number) != number; i++) {
		if (i % SPINS)
			continue;
		now = gpubpf_now_ns();
		begin = begin ? begin : now;
		if (now - begin < SERVE_NS)
			continue;
		if (gpubpf_server_poll(e->s, 0) < 0 || !is_running(e, block) || gpubpf_direct_is_done(e->run))
			return load(&answer->number) == number ? 0 : -ESHUTDOWN;
		if (now - begin >= timeout_ms * 1000000ull)
			return -ETIMEDOUT;
	}
	return 0;
}

int gpubpf_executor__wait(struct gpubpf_executor *e, uint64_t request, uint32_t timeout_ms, uint32_t *retval)
{
	uint32_t block = (uint32_t)(request >> 32), slot = (uint32_t)request >> 16, number = request & 0xffff;
	const struct gpubpf_serve_answer *answer;
	int err;

	if (block >= e->blocks || slot >= GPUBPF_SERVE_SLOTS || !(e->position[block].busy >> slot & 1) ||
	    load(&e->queues[block].requests[slot]) >> 2 * GPUBPF_SERVE_BITS != number)
		return -ENOENT;
	answer = &e->queues[block].answers[slot];
	err = wait_for_answer(e, block, answer, number, timeout_ms);
	if (err < 0)
		return err;
	if (retval)
		*retval = (uint32_t)load(&answer->result);
	e->position[block].busy &= ~(1ull << slot);
	return 0;
}

int gpubpf_executor__free(struct gpubpf_executor *e)
{
	struct gpubpf_test_run_opts none = { .sz = sizeof(none) };
	int err;

	if (!e)
		return 0;
	err = stop(e, &none);
	free(e);
	return err;
}
