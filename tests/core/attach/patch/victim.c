/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch-victim THREADS [quiet|idle]: threads call the functions of beginnings.S until SIGTERM, and check each result. A
 * timer's signals interrupt them, unless the word is quiet. With idle, they call nothing. Prints one line
 * "NAME ADDRESS REASON" per function, then "ready". At the end prints "calls N wrong N". Then it prints one line "NAME
 * N" per function, with the number of calls that the patch has counted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/attach/journal.h"

#define MAX_FUNCTIONS 64
#define THUNK_SIZE 32

struct beginning {
	uint64_t function, size;
	const char *name, *why;
};

extern const struct beginning beginnings[];
extern const char patch_thunks[];
uint64_t patch_calls[MAX_FUNCTIONS], patch_moved[MAX_FUNCTIONS];

static volatile sig_atomic_t stopped;
static bool is_idle;
static atomic_ulong calls, wrong, signals;

static void on_term(int signal)
{
	stopped = 1;
}

static void on_alarm(int signal)
{
	signals++;
}

static struct gpubpf_journal *create_journal(void)
{
	int fd = memfd_create(GPUBPF_JOURNAL_FILE, MFD_CLOEXEC);
	struct gpubpf_journal *j;

	if (fd < 0 || ftruncate(fd, sizeof(*j)))
		exit(1);
	j = mmap(NULL, sizeof(*j), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (j == MAP_FAILED)
		exit(1);
	return j;
}

/* Returns an address for the slots, in reach of the functions. */
static uint64_t create_slots(void)
{
	uintptr_t at = ((uintptr_t)patch_thunks & ~4095ul) + (64 << 20);
	void *slots = mmap((void *)at, MAX_FUNCTIONS * GPUBPF_SLOT_SIZE, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return slots == MAP_FAILED ? 0 : (uintptr_t)slots;
}

static void add_sites(struct gpubpf_journal *j, uint64_t slots)
{
	uint32_t i = 0;

	for (; beginnings[i].function; i++) {
		struct gpubpf_patch_site *s = &j->sites[i];

		s->function = beginnings[i].function;
		s->size = beginnings[i].size;
		s->slot = slots + i * GPUBPF_SLOT_SIZE;
		s->hook = (uintptr_t)patch_thunks + i * THUNK_SIZE;
		patch_moved[i] = s->slot + GPUBPF_SLOT_MOVED;
		snprintf(s->name, sizeof(s->name), "%s", beginnings[i].name);
		printf("%s %lx %s\n", beginnings[i].name, beginnings[i].function, beginnings[i].why);
	}
	j->magic = GPUBPF_JOURNAL_MAGIC;
	j->version = GPUBPF_JOURNAL_VERSION;
	j->nsites = i;
	printf("ready %p\n", (void *)j);
	fflush(stdout);
}

static void *work(void *arg)
{
	unsigned long n = 0, bad = 0;

	while (is_idle && !stopped)
		usleep(1000);
	for (int64_t x = (intptr_t)arg; !stopped; x++)
		for (int i = 0; beginnings[i].function; i++) {
			int64_t sign = x % 3 ? x : -(x % 1000) - 1;
			int64_t (*f)(int64_t, int64_t) = (void *)beginnings[i].function;

			if (beginnings[i].why[0])
				continue;
			bad += f(x, sign) != (sign < 0 ? -x : 3 * x + 7);
			n++;
		}
	calls += n;
	wrong += bad;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	const struct itimerval often = { { 0, 300 }, { 0, 300 } };
	pthread_t threads[64];

	signal(SIGTERM, on_term);
	signal(SIGALRM, on_alarm);
	add_sites(create_journal(), create_slots());
	is_idle = argc > 2 && !strcmp(argv[2], "idle");
	if (argc <= 2)
		setitimer(ITIMER_REAL, &often, NULL);
	for (intptr_t i = 1; i < n && i < 64; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	work(NULL);
	for (int i = 1; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	printf("calls %lu wrong %lu signals %lu\n", calls, wrong, signals);
	for (int i = 0; beginnings[i].function; i++)
		printf("%s %lu\n", beginnings[i].name, patch_calls[i]);
	return wrong != 0;
}
