/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs of section gpu/run/ in gpubpf-runner, an application that the session starts itself. */
#include "direct_run.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/session/base/sized.h"
#include "core/session/private.h"
#include "core/session/report/kernel_table.h"
#include "core/session/server/session_server.h"
#include "core/wire/direct.h"
#include "core/wire/msg.h"
#include "core/worker/installed.h"
#include "maps/layout.h"

#define RUN_MS 300000   /* time limit of a run, unless the options set one */
#define CLOSE_MS 5000   /* time in milliseconds after the runner's end in which its connection must close */
#define POLL_MS 5
#define MAX_REPEAT 1000000000u

extern char **environ;

struct gpubpf_direct_run {
	struct gpubpf_session *s;
	struct gpubpf_link *link;
	struct gpubpf_direct_block *block; /* mapping of `fd`, of `size` bytes */
	uint64_t launches;                 /* launches of the link before the run */
	uint32_t number;
	uint64_t deadline_ns;
	size_t size, data_size;
	size_t queues; /* bytes of an executor's queues before the data; 0: a run without an executor */
	uint32_t repeat;
	pid_t pid; /* 0: the runner has ended */
	int fd, status;
	bool timed_out;
};

/* -- the block -- */

/* Create the block with the input, followed by zeros. */
static int create_block(struct gpubpf_direct_run *run, const struct gpubpf_test_run_opts *o)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = o->data_in ? o->data_size_in : 0;

	run->data_size = o->data_size_in;
	run->size = GPUBPF_DIRECT_DATA + (run->queues + run->data_size + page - 1) / page * page;
	run->fd = gpubpf_memfd_shared("gpubpf-direct-run", run->size);
	if (run->fd < 0)
		return run->fd;
	run->block = mmap(NULL, run->size, PROT_READ | PROT_WRITE, MAP_SHARED, run->fd, 0);
	if (run->block == MAP_FAILED) {
		run->block = NULL;
		return -ENOMEM;
	}
	if (n)
		memcpy((char *)run->block + GPUBPF_DIRECT_DATA + run->queues, o->data_in, n);
	return 0;
}

static void free_run(struct gpubpf_direct_run *run)
{
	if (run->block)
		munmap(run->block, run->size);
	if (run->fd >= 0)
		close(run->fd);
	free(run);
}

/* -- the runner -- */

static void format_size(char text[64], const uint32_t size[3])
{
	snprintf(text, 64, "%u,%u,%u", size[0] ? size[0] : 1, size[1] ? size[1] : 1, size[2] ? size[2] : 1);
}

/*
 * The runner inherits the block. Its standard output is standard error, on which vendors' runtimes print, because a tool
 * may write its results to standard output.
 */
static int spawn_with(struct gpubpf_direct_run *run, const char *const *argv, char **env)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err) /* a copy of a descriptor to itself clears close-on-exec */
		err = posix_spawn_file_actions_adddup2(&actions, run->fd, run->fd);
	if (!err)
		err = posix_spawn(&run->pid, argv[0], &actions, &attr, (char *const *)argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int start_runner(struct gpubpf_direct_run *run, const struct gpubpf_test_run_opts *o)
{
	char path[4096], fd[16], size[24], index[16], grid[64], block[64], repeat[24];
	const char *backend = o->backend ? o->backend : run->s->opts.backend;
	const char *argv[] = { path,  fd,     size, backend ? backend : "-", o->device ? o->device : "-", index, grid,
			       block, repeat, NULL };
	char **env;
	int err = gpubpf_worker_find("gpubpf-runner", path, sizeof(path));

	if (err < 0)
		return gpubpf_session_fail(run->s, err, "%s: the runner is missing; build or install gpubpf completely",
					   path);
	err = gpubpf_session__environ(run->s, o->environ ? o->environ : environ, &env);
	if (err < 0)
		return err;
	snprintf(fd, sizeof(fd), "%d", run->fd);
	snprintf(size, sizeof(size), "%zu", run->queues ? run->queues : run->data_size);
	snprintf(index, sizeof(index), "%u", o->device_index);
	snprintf(repeat, sizeof(repeat), "%u", run->repeat);
	if (run->queues)
		snprintf(repeat, sizeof(repeat), "serve");
	format_size(grid, o->grid);
	format_size(block, o->block);
	err = spawn_with(run, argv, env);
	free(env);
	return err < 0 ? gpubpf_session_fail(run->s, err, "%s: cannot be run: %s", path, strerror(-err)) : 0;
}

/* An executor's program is the probe at the entry of a function, and a run's program is one at the entry of a kernel. */
static void set_place(const struct gpubpf_direct_run *run, bool serves)
{
	struct gpubpf_prog *prog = &gpubpf_session_unit(run->s)->progs[gpubpf_link__id(run->link)];

	prog->site = serves ? GPUBPF_SITE_CALL : GPUBPF_SITE_ENTRY;
	snprintf(prog->pattern, sizeof(prog->pattern), serves ? GPUBPF_SERVE_FUNCTION : GPUBPF_DIRECT_KERNEL);
}

static void attach(struct gpubpf_direct_run *run, bool on)
{
	if (on && run->queues)
		set_place(run, true);
	gpubpf_link_set_attached(run->link, on);
	if (on)
		gpubpf_arenas_activate(run->s);
	gpubpf_links_publish(run->s);
	if (!on && run->queues)
		set_place(run, false);
}

static int check(struct gpubpf_session *s, const struct gpubpf_prog *prog, const struct gpubpf_test_run_opts *o)
{
	uint64_t threads = 1;

	for (int d = 0; d < 3; d++)
		threads *= o->block[d] ? o->block[d] : 1;
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	if (!prog->is_run)
		return gpubpf_session_fail(s, -EINVAL,
					   "%s: section %s needs a kernel of an application; only programs in gpu/run/ "
					   "need none",
					   prog->name, prog->section);
	if (o->repeat > MAX_REPEAT || threads > UINT32_MAX)
		return gpubpf_session_fail(s, -EINVAL, "%s: at most %u runs and 2^32 - 1 threads per block are possible",
					   prog->name, MAX_REPEAT);
	if (s->direct)
		return gpubpf_session_fail(s, -EBUSY, "%s: another program runs; a session runs one at a time", prog->name);
	return 0;
}

int gpubpf_direct_begin(struct gpubpf_session *s, uint32_t link, const struct gpubpf_test_run_opts *o, size_t queues,
			struct gpubpf_direct_run **out)
{
	const struct gpubpf_prog *prog = &gpubpf_session_unit(s)->progs[link];
	struct gpubpf_direct_run *run;
	int err = check(s, prog, o);

	if (err < 0)
		return err;
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->s = s;
	run->link = gpubpf_session_link(s, link);
	run->number = ++s->directs;
	run->launches = gpubpf_link__launches(run->link);
	run->repeat = o->repeat ? o->repeat : 1;
	run->queues = queues;
	run->deadline_ns = gpubpf_now_ns() + (o->timeout_ms ? o->timeout_ms : RUN_MS) * 1000000ull;
	if (queues)
		run->deadline_ns = UINT64_MAX;
	err = create_block(run, o);
	if (err < 0) {
		free_run(run);
		return gpubpf_session_fail(s, err, "%s: no memory for %zu bytes of data: %s", prog->name,
					   o->data_size_in, strerror(-err));
	}
	attach(run, true);
	err = start_runner(run, o);
	if (err < 0) {
		attach(run, false);
		free_run(run);
		return err;
	}
	s->direct = run;
	*out = run;
	return 0;
}

struct gpubpf_direct_block *gpubpf_direct_block(const struct gpubpf_direct_run *run)
{
	return run->block;
}

uint64_t gpubpf_direct_launches(const struct gpubpf_direct_run *run)
{
	return gpubpf_link__launches(run->link) - run->launches;
}

uint32_t gpubpf_direct_number(const struct gpubpf_direct_run *run)
{
	return run->number;
}

size_t gpubpf_direct_data_size(const struct gpubpf_direct_run *run)
{
	return run->data_size;
}

/* -- the end -- */

static bool is_connected(const struct gpubpf_direct_run *run, pid_t pid)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(run->s); peer; peer = peer->next)
		if (peer->pid == (uint32_t)pid)
			return true;
	return false;
}

/* Store the runner's status if it has ended. A program that ignores SIGCHLD leaves no status, which counts as success. */
static void reap(struct gpubpf_direct_run *run, int flags)
{
	pid_t pid = waitpid(run->pid, &run->status, flags);

	if (!pid || (pid < 0 && errno == EINTR))
		return;
	if (pid < 0)
		run->status = 0;
	run->deadline_ns = gpubpf_now_ns() + CLOSE_MS * 1000000ull;
	run->pid = -run->pid;
}

bool gpubpf_direct_is_done(struct gpubpf_direct_run *run)
{
	bool late = gpubpf_now_ns() > run->deadline_ns;

	if (run->pid > 0 && late) {
		run->timed_out = true;
		kill(run->pid, SIGKILL);
		reap(run, 0);
	} else if (run->pid > 0) {
		reap(run, WNOHANG);
	}
	return run->pid < 0 && (late || !is_connected(run, -run->pid));
}

bool gpubpf_direct_is_forgotten(struct gpubpf_direct_run *run)
{
	return gpubpf_direct_is_done(run) && gpubpf_now_ns() > run->deadline_ns;
}

const char *gpubpf_direct_reason(const struct gpubpf_direct_run *run)
{
	struct gpubpf_session *s = run->s;
	const char *kernel = run->queues ? GPUBPF_SERVE_KERNEL : GPUBPF_DIRECT_KERNEL;
	struct gpubpf_kernel_stats stats = { .sz = sizeof(stats) };

	for (size_t i = 0; gpubpf_session__kernel(s, i, &stats) == 0; i++)
		if (!strcmp(stats.name, kernel))
			return stats.reason;
	return "";
}

static int check_result(struct gpubpf_direct_run *run, const struct gpubpf_prog *prog)
{
	uint64_t ran = gpubpf_link__launches(run->link) - run->launches;
	const char *why;

	if (run->timed_out)
		return gpubpf_session_fail(run->s, -ETIMEDOUT, "%s: the run did not end in time and was killed",
					   prog->name);
	if (WIFSIGNALED(run->status))
		return gpubpf_session_fail(run->s, -EIO, "%s: the runner crashed: %s", prog->name,
					   strsignal(WTERMSIG(run->status)));
	if (run->block->error[0] || WEXITSTATUS(run->status))
		return gpubpf_session_fail(run->s, -ENODEV, "%s: %.239s", prog->name,
					   run->block->error[0] ? run->block->error : "the runner failed");
	why = gpubpf_direct_reason(run);
	if (ran < run->repeat)
		return gpubpf_session_fail(run->s, -EIO, "%s: ran in %llu of %u launches%s%s", prog->name,
					   (unsigned long long)ran, run->repeat, why[0] ? ": " : "", why);
	return 0;
}

static int copy_data_out(struct gpubpf_direct_run *run, struct gpubpf_test_run_opts *o)
{
	size_t room = o->data_size_out;

	o->data_size_out = run->data_size;
	if (!o->data_out)
		return 0;
	memcpy(o->data_out, (char *)run->block + GPUBPF_DIRECT_DATA, room < run->data_size ? room : run->data_size);
	return room < run->data_size ?
		       gpubpf_session_fail(run->s, -ENOSPC, "data_out has %zu bytes, but the data has %zu", room,
					   run->data_size) :
		       0;
}

/* The first launch also loads the twin, so the mean covers the later launches if there are any. */
static int copy_result(struct gpubpf_direct_run *run, struct gpubpf_test_run_opts *o)
{
	const struct gpubpf_direct_block *b = run->block;

	o->retval = (uint32_t)b->result;
	o->duration = b->runs > 1 ? (b->total_ns - b->first_ns) / (b->runs - 1) : b->first_ns;
	o->duration_min = b->min_ns;
	o->duration_first = b->first_ns;
	snprintf(o->used_backend, sizeof(o->used_backend), "%.15s", b->backend);
	snprintf(o->used_device, sizeof(o->used_device), "%.127s", b->device);
	return copy_data_out(run, o);
}

int gpubpf_direct_end(struct gpubpf_direct_run *run, struct gpubpf_test_run_opts *o)
{
	const struct gpubpf_prog *prog = gpubpf_link__program(run->link);
	int err;

	if (run->pid > 0) {
		kill(run->pid, SIGKILL);
		reap(run, 0);
	}
	attach(run, false);
	run->s->direct = NULL;
	err = check_result(run, prog);
	if (!err)
		err = copy_result(run, o);
	free_run(run);
	return err;
}

int gpubpf_prog__test_run(const struct gpubpf_prog *prog, struct gpubpf_test_run_opts *opts)
{
	struct gpubpf_test_run_opts all = { .sz = sizeof(all) };
	struct gpubpf_session *s = prog->session;
	struct gpubpf_direct_run *run;
	int err = 0;

	if (opts && gpubpf_sized_copy_in(&all, sizeof(all), opts) < 0)
		return gpubpf_session_fail(s, -EINVAL, "%s: struct gpubpf_test_run_opts: " GPUBPF_SIZED_WHY, prog->name);
	err = gpubpf_direct_begin(s, (uint32_t)(prog - gpubpf_session_unit(s)->progs), &all, 0, &run);
	if (err < 0)
		return err;
	while (!gpubpf_direct_is_done(run) && err >= 0)
		err = gpubpf_server_poll(s, POLL_MS);
	if (err < 0) {
		gpubpf_direct_end(run, &all);
		return err;
	}
	err = gpubpf_direct_end(run, &all);
	if (opts)
		gpubpf_sized_copy_out(opts, sizeof(all), &all);
	return err;
}
