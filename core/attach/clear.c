/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for threads in bytes that will change. The caller then lets all threads run, and tries again. Nothing moves
 * such a thread: if the tool died during a single step, the Linux kernel would kill the process by SIGTRAP.
 */
#include "remote.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_STACK (256 << 10) /* bytes of a stack that are searched for signal frames */
#define USER_CS 0x33          /* the code segment of 64-bit programs */

/*
 * Has a signal handler of this thread interrupted code in the area? A signal's frame has the program counter, the flags
 * and the code segment in this order. Its return address is not compared, because each C library, and libpthread before
 * glibc 2.34, has its own restorer.
 */
static bool is_interrupted(const struct remote *r, const struct remote_thread *t, const struct remote_area *area)
{
	const struct remote_map *stack = remote_find_map(r, t->regs.rsp);
	uint64_t rsp = t->regs.rsp & ~7ull, size, *words;
	bool found;

	if (!stack)
		return true; /* a new thread: nothing is known of its stack */
	size = stack->to - rsp < MAX_STACK ? stack->to - rsp : MAX_STACK;
	words = malloc(size);
	found = !words || remote_read(r, rsp, words, size) < 0;
	for (size_t i = 0; i + 2 < size / 8 && !found; i++)
		found = (words[i + 2] & 0xffff) == USER_CS && area->contains(area->arg, words[i]);
	free(words);
	return found;
}

int remote_check_area(const struct remote *r, const struct remote_thread *threads, size_t n, const struct remote_area *area)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].stopped &&
		    (area->contains(area->arg, threads[i].regs.rip) || is_interrupted(r, &threads[i], area)))
			return -EAGAIN;
	return 0;
}
