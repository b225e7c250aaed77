/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the host stacks that launch kernels. The session assigns the numbers (maps/host/stacks.h), and the agent
 * requests the number of each new stack once. The launch waits for the answer within the --wait budget. If it may not
 * wait, later launches with the same stack get the number.
 */
#include "stacks.h"
#include "hooks/client/client.h"
#include "hooks/process/callbacks.h"
#include "hooks/process/process.h"
#include "hooks/process/time.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/wire/checks.h"
#include "core/wire/wire.h"
#include "maps/layout.h"
#include "hooks/unwind/unwind.h"

#define SLOTS 8192
#define TRIES 16

struct slot {
	uint64_t hash; /* 0: free */
	uint32_t number;
	bool answered, has_waiter;      /* has_waiter: a thread waits for the answer of this slot's request */
	struct gpubpf_request *request; /* pending request; NULL: answered, or the request failed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[SLOTS];
static uint64_t slots_epoch; /* value of gpubpf_unwind_unloaded() when the slots were filled */

/*
 * Find the slot of the stack with this hash. If there is none, reuse a free slot or a slot of another stack, but no
 * slot with a pending request.
 */
static struct slot *find_slot(uint64_t hash)
{
	struct slot *victim = NULL;

	gpubpf_assert_held(&lock);
	for (uint32_t i = 0; i < TRIES; i++) {
		struct slot *s = &slots[(hash + i) % SLOTS];

		if (s->hash == hash)
			return s;
		if (!s->request && (!victim || !s->hash))
			victim = victim && !victim->hash ? victim : s;
	}
	if (victim)
		*victim = (struct slot){ .hash = hash };
	return victim;
}

static void reset_if_unloaded(uint64_t unloaded)
{
	gpubpf_assert_held(&lock);
	if (slots_epoch == unloaded)
		return;
	slots_epoch = unloaded;
	for (uint32_t i = 0; i < SLOTS; i++)
		if (slots[i].request)
			/* a hash of 1 matches no stack; the slot can be reused after its answer has arrived */
			slots[i].hash = 1;
		else
			slots[i] = (struct slot){ 0 };
}

static uint64_t hash_of(const uint64_t *address, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ address[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	h *= 0xc4ceb9fe1a85ec53ull;
	return (h ^ h >> 29) | 2; /* neither 0 nor 1 */
}

static struct gpubpf_request *request_number(const uint64_t *address, uint32_t n, uint64_t unloaded)
{
	struct gpubpf_request *request;
	struct gpubpf_writer w = { 0 };
	int err;

	gpubpf_put_u64(&w, unloaded);
	gpubpf_put_u32(&w, n);
	for (uint32_t i = 0; i < n; i++)
		gpubpf_put_u64(&w, address[i]);
	err = gpubpf_client_request(GPUBPF_MSG_STACK, &w, NULL, 0, &request);
	gpubpf_writer_finish(&w);
	return err < 0 ? NULL : request;
}

static void take_answer(struct slot *s)
{
	struct gpubpf_packet *answer = gpubpf_request_answer(s->request);
	bool good = !gpubpf_request_wait(s->request, 0) && answer->type == GPUBPF_MSG_STACK_DONE;

	gpubpf_assert_held(&lock);
	s->number = good ? gpubpf_get_u32(&answer->payload) : 0;
	if (good && (answer->payload.failed || s->number > GPUBPF_MAX_STACKS))
		s->number = 0;
	s->answered = true;
	gpubpf_request_drop(s->request);
	s->request = NULL;
}

static void wait_for_answer(struct slot *s)
{
	struct gpubpf_request *request = s->request;
	uint64_t until;

	s->has_waiter = true;
	pthread_mutex_unlock(&lock);
	until = gpubpf_wait_budget_begin();
	if (gpubpf_now_ns() < until && gpubpf_request_wait(request, until) == -ETIMEDOUT)
		gpubpf_wait_budget_suspend();
	gpubpf_wait_budget_end();
	pthread_mutex_lock(&lock);
	s->has_waiter = false;
}

/* Another thread waits for the answer of this slot: wait until that thread has the answer. */
static void wait_for_other(const struct slot *s, uint64_t hash)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	uint64_t until = gpubpf_wait_budget_begin();

	while (s->hash == hash && s->has_waiter && gpubpf_now_ns() < until) {
		pthread_mutex_unlock(&lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&lock);
	}
	gpubpf_wait_budget_end();
}

static uint32_t number_of(const uint64_t *address, uint32_t n)
{
	uint64_t unloaded = gpubpf_unwind_unloaded(), hash = hash_of(address, n);
	uint32_t number = 0;
	struct slot *s;

	pthread_mutex_lock(&lock);
	reset_if_unloaded(unloaded);
	s = find_slot(hash);
	if (s && !s->answered && !s->request)
		s->request = request_number(address, n, unloaded);
	if (s && s->has_waiter && !gpubpf_hook_callbacks)
		wait_for_other(s, hash);
	else if (s && s->request && !gpubpf_hook_callbacks && !gpubpf_request_is_done(s->request))
		wait_for_answer(s);
	if (s && s->request && !s->has_waiter && gpubpf_request_is_done(s->request))
		take_answer(s);
	if (s && s->hash == hash && s->answered)
		number = s->number;
	pthread_mutex_unlock(&lock);
	return number;
}

uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth)
{
	uint64_t *address = malloc((skip + depth + 1) * sizeof(*address));
	uint32_t n = address ? gpubpf_unwind(address, skip + depth, gpubpf_lockdown_allows_stack_reads()) : 0;
	uint32_t number = n > skip ? number_of(address + skip, n - skip) : 0;

	free(address);
	return number;
}

uint64_t gpubpf_stack_word(uint32_t number)
{
	uint64_t low = number & ((1u << GPUBPF_LAUNCH_HALF) - 1), high = number >> GPUBPF_LAUNCH_HALF;

	return low << GPUBPF_LAUNCH_LOW | high << GPUBPF_LAUNCH_HIGH;
}

void gpubpf_stacks_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ 0 };
	gpubpf_unwind_after_fork();
}
