/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_SECONDS 300

struct isolate_shared {
	uint32_t begin, end; /* the group that the child works on: items begin to end - 1 */
	uint64_t progress;
	struct isolate_item items[];
};

static size_t shared_size(const struct isolate *a)
{
	return sizeof(*a->shared) + a->n * sizeof(*a->items);
}

int isolate_init(struct isolate *a)
{
	a->shared = mmap(NULL, shared_size(a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->shared == MAP_FAILED)
		return -ENOMEM;
	a->items = a->shared->items;
	for (size_t i = 0; i < a->n; i++)
		a->items[i].group = a->group;
	return 0;
}

void isolate_finish(struct isolate *a)
{
	munmap(a->shared, shared_size(a));
}

/* Find the next group. It consists of consecutive items that are not done, beginning with the first such item. */
bool isolate_next(struct isolate *a, uint32_t *begin, uint32_t *end)
{
	struct isolate_item *items = a->items;
	uint64_t weight = 0;
	size_t i = 0;

	while (i < a->n && !items[i].group)
		i++;
	*begin = i;
	for (; i < a->n && items[i].group; i++) {
		weight += items[i].weight;
		if (i > *begin && (i - *begin >= items[i].group || i - *begin >= items[*begin].group || weight > a->weight))
			break;
	}
	*end = i;
	a->shared->begin = *begin;
	a->shared->end = *end;
	return *begin < *end;
}

void isolate_done(struct isolate *a, size_t i, const char *error)
{
	struct isolate_item *item = &a->items[i];

	snprintf(item->error, sizeof(item->error), "%.*s", (int)sizeof(item->error) - 1, error);
	item->group = 0;
	a->shared->progress++;
}

void isolate_split(struct isolate *a, const char *error)
{
	struct isolate_shared *s = a->shared;
	uint32_t size = s->end - s->begin;

	/* the child failed before it took a group, so further children would fail too */
	for (size_t i = 0; !size && i < a->n; i++)
		if (a->items[i].group)
			isolate_done(a, i, error);
	if (size == 1)
		isolate_done(a, s->begin, error);
	else
		for (uint32_t i = s->begin; i < s->end; i++)
			if (a->items[i].group)
				a->items[i].group = size / 2;
	s->progress++;
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static size_t count_done(const struct isolate *a)
{
	size_t done = 0;

	for (size_t i = 0; i < a->n; i++)
		done += !a->items[i].group;
	return done;
}

/*
 * Wait until the child ends. Kill the child if it makes no progress for GROUP_SECONDS. Returns 0 if the child
 * succeeded.
 */
static int wait_for_child(struct isolate *a, pid_t child)
{
	uint64_t seen = a->shared->progress;
	long idle_ms = 0;
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		pause_ms(2);
		if (a->shared->progress != seen && a->progress)
			a->progress(a->arg, count_done(a));
		idle_ms = a->shared->progress == seen ? idle_ms + 2 : 0;
		seen = a->shared->progress;
		if (idle_ms < GROUP_SECONDS * 1000)
			continue;
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return -ETIMEDOUT;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

void isolate_run(struct isolate *a)
{
	while (count_done(a) < a->n) {
		pid_t child;
		int err;

		a->shared->begin = a->shared->end = 0;
		child = fork();
		if (child == 0) {
			a->work(a);
			_exit(0);
		}
		err = child < 0 ? -errno : wait_for_child(a, child);
		if (err < 0)
			isolate_split(a, err == -ETIMEDOUT ? "the device's compiler or the run took too long" :
							     "the device's runtime crashed");
	}
}
