/* SPDX-License-Identifier: Apache-2.0 */
/* late_welcome AGENT: a tool answers an attached agent late, as on a busy machine. The process can fork meanwhile. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/attach/boot.h"
#include "tests/tap.h"

#define LATE_MS 4000   /* the agent once waited for 2 s */
#define LIMIT_MS 60000 /* a busy machine */

static int64_t (*attach)(struct gpubpf_boot_data *data);

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void *run_attach(void *arg)
{
	struct gpubpf_boot_data *data = arg;

	data->result = attach(data);
	__atomic_store_n(&data->phase, BOOT_DONE, __ATOMIC_RELEASE);
	return NULL;
}

/* Attach as a tool does. Returns the tool's socket, or -1. */
static int open_session(struct gpubpf_boot_data *data)
{
	pthread_t thread;
	int sock = -1;

	*data = (struct gpubpf_boot_data){ .version = GPUBPF_BOOT_VERSION, .socket = -1 };
	pthread_create(&thread, NULL, run_attach, data);
	while (__atomic_load_n(&data->phase, __ATOMIC_ACQUIRE) != BOOT_DONE && sock < 0) {
		sock = __atomic_load_n(&data->socket, __ATOMIC_ACQUIRE);
		sock = sock < 0 ? sock : dup(sock);
		nap_ms(1);
	}
	__atomic_store_n(&data->taken, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return data->result ? -1 : sock;
}

static bool receives_hello(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	char bytes[8192];

	return poll(&p, 1, LIMIT_MS) == 1 && recv(sock, bytes, sizeof(bytes), 0) > 0;
}

static bool is_closed(int sock, int ms)
{
	struct pollfd p = { .fd = sock, .events = POLLRDHUP };

	return poll(&p, 1, ms) != 0;
}

/* Returns the time of a fork in ms, or -1. */
static long time_fork(void)
{
	struct timespec from, to;
	int status = 1;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (!pid)
		_exit(0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	waitpid(pid, &status, 0);
	return status ? -1 : (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

/* Returns true if a later tool can attach. The agent needs some time to end the session whose tool has gone. */
static bool attaches_again(struct gpubpf_boot_data *data)
{
	int sock = -1;

	for (int ms = 0; ms < LIMIT_MS && sock < 0; ms += 10) {
		sock = open_session(data);
		nap_ms(10);
	}
	return sock >= 0 && receives_hello(sock);
}

int main(int argc, char **argv)
{
	static struct gpubpf_boot_data data;
	void *agent = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	long ms;
	int sock;

	attach = agent ? (int64_t (*)(struct gpubpf_boot_data *))dlsym(agent, GPUBPF_BOOT_ENTRY) : NULL;
	if (!ok(attach != NULL, "the agent loads: %s", agent ? "" : dlerror()))
		return done();
	sock = open_session(&data);
	if (!ok(sock >= 0 && receives_hello(sock), "the agent attaches: %s", data.error))
		return done();
	ms = time_fork();
	ok(ms >= 0 && ms < LATE_MS / 4, "the process forks within %ld ms while the agent waits for the tool", ms);
	ok(!is_closed(sock, LATE_MS), "the agent still waits after %d ms", LATE_MS);
	close(sock);
	ok(attaches_again(&data), "after the tool's end, another tool can attach: %s", data.error);
	return done();
}
