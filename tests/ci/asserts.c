/* SPDX-License-Identifier: Apache-2.0 */
/* Asserts are on where tests run, and fail where they should. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/wire/checks.h"
#include "tests/tap.h"

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
	if (gpubpf_was_last(2) || !gpubpf_was_last(1))
		_exit(1);
}

static void none_left(void)
{
	gpubpf_was_last(0);
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
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
#ifdef NDEBUG
		skip(cases[i].name, "built without asserts (b_ndebug)");
#else
		ok(ends(cases[i].fn) == cases[i].end, "%s", cases[i].name);
#endif
	}
	return done();
}
