/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim THREADS: an application that runs until SIGTERM and checks that attaching does not disturb it. It checks its
 * results and errno, and that system calls preserve a vector register and do not end with EINTR. Prints "ready" when all
 * threads run, and at the end "iterations N wrong N interrupted N".
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static unsigned long iterations, wrong, interrupted;
static int nthreads, nready;

static void on_term(int signal)
{
	stopped = 1;
}

/* Returns the sum of bytes that were written to new memory, minus the expected sum. */
static uint64_t check_memory(uint64_t i)
{
	size_t n = 1000 + i % 5000;
	unsigned char *bytes = malloc(n);
	uint64_t sum = 0;

	if (!bytes)
		return 1;
	for (size_t k = 0; k < n; k++)
		bytes[k] = k * 7 + i;
	for (size_t k = 0; k < n; k++)
		sum += bytes[k] - (unsigned char)(k * 7 + i);
	free(bytes);
	return sum;
}

/* Is a vector register the same after a system call? */
static int check_vector(void)
{
	uint64_t before = 0x1122334455667788, after;
	long id;

	__asm__ volatile("movq %2, %%xmm15\n\tmov $39, %%eax\n\tsyscall\n\tmovq %%xmm15, %1"
			 : "=&a"(id), "=&r"(after)
			 : "r"(before)
			 : "rcx", "r11", "xmm15", "memory");
	return id == getpid() && before == after;
}

/* Sleep in one of several calls. Returns 0, or the call's result if it did not time out. */
static int sleep_once(int epoll, uint64_t i)
{
	struct timespec t = { 0, 300000 };
	struct epoll_event event;

	switch (i % 4) {
	case 0:
		return nanosleep(&t, NULL);
	case 1:
		return poll(NULL, 0, 1);
	case 2:
		return epoll_wait(epoll, &event, 1, 1);
	}
	return 0;
}

static void *work(void *arg)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (__atomic_add_fetch(&nready, 1, __ATOMIC_RELAXED) == nthreads) {
		puts("ready");
		fflush(stdout);
	}
	for (uint64_t i = (uintptr_t)arg; !stopped; i++) {
		int bad = check_memory(i) || !check_vector(), slept;

		errno = 1234;
		slept = sleep_once(epoll, i);
		if (slept && !stopped)
			__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
		bad |= !slept && errno != 1234;
		__atomic_add_fetch(&wrong, bad, __ATOMIC_RELAXED);
		__atomic_add_fetch(&iterations, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];

	nthreads = argc > 1 ? atoi(argv[1]) : 1;
	nthreads = nthreads < 64 ? nthreads : 64;
	signal(SIGTERM, on_term);
	for (intptr_t i = 1; i < nthreads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	work(NULL);
	for (int i = 1; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	printf("iterations %lu wrong %lu interrupted %lu\n", iterations, wrong, interrupted);
	return wrong != 0;
}
