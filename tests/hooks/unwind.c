/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares stacks from hooks/unwind/unwind.c with backtrace() of the C library, which reads the same unwind tables with
 * other code. The test has no frame pointers. The cases cover realigned stacks, threads, frames of the agent itself, a
 * stack that the program allocated, and code without unwind tables.
 */
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "hooks/unwind/unwind.h"
#include "tests/tap.h"

#define ROOM 64
#define NOINLINE __attribute__((noinline, noclone))
#define AND_THEN() __asm__ volatile("" ::: "memory") /* prevents a tail call */

static uint64_t ours[ROOM];
static void *theirs[ROOM];
static int n, nth;
static bool may_call;

static NOINLINE void look(void)
{
	nth = backtrace(theirs, ROOM);
	n = (int)gpubpf_unwind(ours, ROOM, may_call);
	AND_THEN();
}

/* Returns true if both stacks are equal after their first frame, which is look() at two different calls. */
static bool alike(void)
{
	bool good = n == nth && n > 2;

	for (int i = 1; i < n && good; i++)
		good = ours[i] == (uintptr_t)theirs[i];
	for (int i = 0; !good && i < ROOM && (i < n || i < nth); i++)
		printf("# %d: %llx %p\n", i, i < n ? (unsigned long long)ours[i] : 0, i < nth ? theirs[i] : NULL);
	return good;
}

static NOINLINE void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	else
		look();
	AND_THEN();
}

static NOINLINE void aligned(size_t size)
{
	char wide[64] __attribute__((aligned(64))), *more = alloca(size);

	memset(wide, 1, sizeof(wide));
	memset(more, 1, size);
	__asm__ volatile("" ::"r"(wide), "r"(more) : "memory");
	look();
	__asm__ volatile("" ::"r"(wide), "r"(more) : "memory");
}

static int compare(const void *a, const void *b)
{
	look();
	AND_THEN();
	return *(const int *)a - *(const int *)b;
}

static void *thread(void *arg)
{
	deeper(3);
	AND_THEN();
	return arg;
}

static ucontext_t back, own;

static void on_own_stack(void)
{
	deeper(2);
	AND_THEN();
}

/* Copy the code to new executable memory, which belongs to no file. The code is a function that calls its argument. */
static void (*made(const uint8_t *code, size_t size))(void (*)(void))
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, code, size);
	return (void (*)(void (*)(void)))page;
}

static bool contains(uint64_t from, uint64_t size)
{
	for (int i = 0; i < n; i++)
		if (ours[i] - from < size)
			return true;
	return false;
}

static void over_code_without_tables(void)
{
	/* Both functions call their argument. The first has a frame pointer; the second only adjusts rsp. */
	static const uint8_t with[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	static const uint8_t without[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	void (*call)(void (*)(void)) = made(with, sizeof(with));

	if (!call) {
		skip("code without tables", "no memory may be written and run");
		return;
	}
	call(look);
	ok(contains((uintptr_t)call, sizeof(with)) && contains((uintptr_t)over_code_without_tables, 1024), "code without tables is gone over by its "
	   "frame pointer");
	call = made(without, sizeof(without));
	call(look);
	ok(contains((uintptr_t)call, sizeof(without)) && n <= nth + 1, "where it has none either, the stack ends there");
}

int main(void)
{
	int numbers[] = { 2, 1 };
	pthread_t t;

	look();
	ok(!n, "a stack that nobody knows is not read where the system may not be asked");
	may_call = true;
	deeper(0);
	ok(alike(), "one call");
	may_call = false;
	deeper(0);
	ok(alike(), "one that is known is, there");
	may_call = true;
	deeper(20);
	ok(alike(), "21 calls");
	aligned(1);
	ok(alike(), "a stack that is aligned anew");
	aligned(5000);
	ok(alike(), "and has more on it");
	qsort(numbers, 2, sizeof(*numbers), compare);
	ok(alike(), "through the C library");
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	ok(alike(), "a thread");
	getcontext(&own);
	own.uc_stack.ss_sp = malloc(262144);
	own.uc_stack.ss_size = 262144;
	own.uc_link = &back;
	makecontext(&own, on_own_stack, 0);
	swapcontext(&back, &own);
	ok(n >= 4 && contains((uintptr_t)on_own_stack, 256), "a stack that the program made");
	may_call = false;
	own.uc_link = &back;
	makecontext(&own, on_own_stack, 0);
	swapcontext(&back, &own);
	ok(!n, "which is not read where the system may not be asked");
	may_call = true;
	over_code_without_tables();
	n = (int)gpubpf_unwind(ours, 1, true);
	ok(n == 1, "no more than there is room for");
	return done();
}
