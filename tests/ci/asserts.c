/* SPDX-License-Identifier: Apache-2.0 */
/* assert() must be enabled in test builds, and must fail where the code relies on it. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/wire/checks.h"
#include "hooks/launch/launch.h"
#include "tests/tap.h"

#ifdef NDEBUG
enum { OFF = true };
#else
enum { OFF = false };
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *arg)
{
	pthread_mutex_lock(&mutex);
	return NULL;
}

static void held(void)
{
	pthread_mutex_lock(&mutex);
	gpubpf_assert_held(&mutex);
}

static void not_held(void)
{
	gpubpf_assert_held(&mutex);
}

static void held_by_another(void)
{
	pthread_t t;

	pthread_create(&t, NULL, hold, NULL);
	pthread_join(t, NULL);
	gpubpf_assert_held(&mutex);
}

static void last(void)
{
	if (gpubpf_ref_was_last(2) || !gpubpf_ref_was_last(1))
		_exit(1);
}

static void none_left(void)
{
	gpubpf_ref_was_last(0);
}

static void counted(void)
{
	gpubpf_ref_was_counted(1);
}

static void not_counted(void)
{
	gpubpf_ref_was_counted(0);
}

/* A runtime's table must have each operation, except the ones that launch.h and device.h call optional. */
static int lacks; /* index of the operation that the table lacks */

static void fill(void *table, size_t size, int without)
{
	for (size_t at = 0; at < size / sizeof(void *); at++)
		((const void **)table)[at] = (int)at == without ? NULL : "a runtime";
}

static void hook_lacks(void)
{
	struct gpubpf_device_ops device;
	struct gpubpf_hook_ops hook;

	fill(&device, sizeof(device), -1);
	fill(&hook, sizeof(hook), lacks);
	hook.device = &device;
	gpubpf_hook_check(&hook);
}

static void device_lacks(void)
{
	struct gpubpf_device_ops device;

	fill(&device, sizeof(device), lacks);
	gpubpf_device_check(&device);
	gpubpf_device_check_launch(&device);
}

static int ends(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

#define WORD(type, member) (1ull << (offsetof(struct type, member) / sizeof(void *)))

/* Leaves out one operation at a time. The table must be accepted exactly if the operation is in `optional`. */
static void check_table(const char *name, void (*fn)(void), size_t size, uint64_t optional)
{
	uint64_t wrong = 0;

	if (OFF) {
		skip(name, "built without asserts (b_ndebug)");
		return;
	}
	for (lacks = 0; lacks < (int)(size / sizeof(void *)); lacks++)
		if (ends(fn) != (optional >> lacks & 1 ? 0 : SIGABRT))
			wrong |= 1ull << lacks;
	ok(!wrong, "%s of which an operation is missing", name);
	if (wrong)
		note("words %llx", (unsigned long long)wrong);
}

static void check_tables(void)
{
	uint64_t hook = WORD(gpubpf_hook_ops, device) | WORD(gpubpf_hook_ops, kernels) |
			WORD(gpubpf_hook_ops, twin_registers) | WORD(gpubpf_hook_ops, twin_compiled_by) |
			WORD(gpubpf_hook_ops, twin_kept) | WORD(gpubpf_hook_ops, times_launches) |
			WORD(gpubpf_hook_ops, argument);
	uint64_t device = WORD(gpubpf_device_ops, quiet) | WORD(gpubpf_device_ops, arena_zero) | WORD(gpubpf_device_ops, arena_wait) |
			  WORD(gpubpf_device_ops, mirror_prepare) | WORD(gpubpf_device_ops, settle) |
			  WORD(gpubpf_device_ops, buffer_address);

	check_table("a table of hooks", hook_lacks, sizeof(struct gpubpf_hook_ops), hook);
	check_table("a device's table", device_lacks, sizeof(struct gpubpf_device_ops), device);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*fn)(void);
		int end;
	} cases[] = {
		{ "a mutex that is held", held, 0 },
		{ "one that is not", not_held, SIGABRT },
		{ "one that another thread holds", held_by_another, SIGABRT },
		{ "references: two, then the last", last, 0 },
		{ "one more than there were", none_left, SIGABRT },
		{ "a count that goes down", counted, 0 },
		{ "below nothing", not_counted, SIGABRT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (OFF)
			skip(cases[i].name, "built without asserts (b_ndebug)");
		else
			ok(ends(cases[i].fn) == cases[i].end, "%s", cases[i].name);
	check_tables();
	return done();
}
