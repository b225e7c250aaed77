/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a session around a child process, for `run`, `bpf`, `prepare` and `kernel list`. The child keeps its standard
 * output and exit status. When a signal or --duration ends probing, the child continues with its original kernels.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/session/report/report.h"
#include "core/session/server/session_server.h"

#define LOADER_THREADS 1024
#define GRACE_MS 2000          /* time in milliseconds that the application has to end after Ctrl-C */
#define REPEAT_MS 500          /* a process that repeats its signal within this time, as timeout(1) does, sends one request */
#define DETACH_MS 5000         /* milliseconds that the tool waits until all processes have undone their hooks */
#define DRAW_MS 250
#define TICK_MS 100            /* milliseconds between calls of the command's tick() */
#define INSPECT_MS 10000       /* milliseconds after the application's end for inspecting its last kernels */

extern char **environ;

struct gpubpf_report_opts cli_report_opts(const struct cli_args *args)
{
	return (struct gpubpf_report_opts){
		.sz = sizeof(struct gpubpf_report_opts),
		.json = cli_has(args, OPT_JSON),
		.demangle = cli_has(args, OPT_DEMANGLE),
		.json_strings = cli_has(args, OPT_JSON_STRINGS),
		.verbose = cli_has(args, OPT_VERBOSE),
	};
}

struct child {
	struct cli_trace *trace;
	const struct cli_args *args;
	struct gpubpf_session *s;
	struct cli_report file;
	struct cli_progress progress;
	struct cli_stream stream;
	char *text; /* the complete report, from make_report() until write_report() */
	size_t size;
	/*
	 * `json`: the report is JSON. `reported`: report() was called. `lost`: the report could not be written to its
	 * destination.
	 */
	bool json, reported, lost;
	bool unprobed; /* --strict was passed, and no launch was probed */
	pid_t pid;
	int signals;       /* descriptor of signalfd(2) */
	struct inherited { /* gpubpf's inherited signal state, which is restored in the application */
		sigset_t mask;
		struct sigaction child;
	} before;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC at which probing ends; 0: no limit */
	uint64_t tick_ns;     /* CLOCK_MONOTONIC at which the command's tick() is due */
	int end_signal;       /* the signal that requested the end of probing; 0: none */
	uint64_t signal_ns;   /* CLOCK_MONOTONIC at which end_signal arrived */
	bool ended, leave;
	int status; /* the application's status from waitpid(2) */
};

/* -- callbacks of the session -- */

static void on_print(void *ctx, const struct gpubpf_print_record *p)
{
	struct child *c = ctx;

	cli_stream_print(&c->stream, p);
	if (c->json)
		return; /* the JSON report will contain the prints */
	fprintf(c->file.out, "%s#%llu block %llu,%llu,%llu thread %llu,%llu,%llu %s: %s\n", p->kernel,
		(unsigned long long)p->launch, (unsigned long long)p->block[0], (unsigned long long)p->block[1],
		(unsigned long long)p->block[2], (unsigned long long)p->thread[0], (unsigned long long)p->thread[1],
		(unsigned long long)p->thread[2], p->prog, p->text);
}

static void on_event(void *ctx, const struct gpubpf_event *event)
{
	struct child *c = ctx;

	if (c->trace->event)
		c->trace->event(c->trace, c->s, event);
	else if (!cli_program_event(c->trace->program, event))
		cli_stream_event(&c->stream, c->s, event);
}

static void on_note(void *ctx, const char *text)
{
	cli_note("%s", text);
}

/* -- before the application starts -- */

static bool get_route(const struct cli_args *args, const char **route)
{
	*route = cli_str(args, OPT_ROUTE, cli_has(args, OPT_NO_SASS) ? "ptx" : NULL);
	if (*route && !cli_value_known(OPT_ROUTE, *route))
		return false;
	if (cli_has(args, OPT_NO_SASS) && strcmp(*route, "ptx")) {
		cli_error("--no-sass and --route %s contradict each other; use one of them", *route);
		return false;
	}
	return true;
}

/*
 * Determine the number of threads for per-thread maps. A loader reads the values of all threads with one bpf(2) call,
 * which does not pass the size of the loader's buffer. So loaders get the number that bpftime would use: the value of
 * the environment variable that bpftime reads, or bpftime's default.
 */
static bool get_threads(const struct child *c, uint64_t *threads)
{
	const char *text = cli_env_threads();
	char *end = NULL;

	if (c->trace->loaders && !cli_has(c->args, OPT_THREADS)) {
		*threads = text ? strtoull(text, &end, 10) : 0;
		if (!*threads || *end || *threads > UINT32_MAX)
			*threads = LOADER_THREADS;
	}
	return cli_u64(c->args, OPT_THREADS, 1, threads);
}

static bool get_options(struct child *c, struct gpubpf_session_opts *o)
{
	const struct cli_args *args = c->args;
	uint64_t wait_ms = 0, duration_ms = 0, threads = 0;

	if (!cli_ms_of("GPUBPF_WAIT", cli_has(args, OPT_WAIT) ? NULL : cli_env_wait(), &wait_ms) ||
	    !cli_ms(args, OPT_WAIT, &wait_ms) || !cli_ms(args, OPT_DURATION, &duration_ms) ||
	    !cli_u64(args, OPT_SAMPLE, 1, &o->sample) || !cli_u64(args, OPT_FIRST, 1, &o->first) ||
	    !cli_u64(args, OPT_EVENTS, 0, &o->max_events) || !get_threads(c, &threads) ||
	    !cli_u64(args, OPT_MAX_COST, 1, &o->max_cost) || !get_route(args, &o->route))
		return false;
	if (threads > UINT32_MAX) {
		cli_error("--threads %llu: must be below 2^32", (unsigned long long)threads);
		return false;
	}
	o->closed_libraries = cli_has(args, OPT_CLOSED_LIBRARIES);
	o->threads = threads;
	o->no_events = (cli_has(args, OPT_EVENTS) && !o->max_events) || c->trace->event;
	o->wait_ms = wait_ms;
	o->no_wait = cli_has(args, OPT_NO_WAIT) || c->trace->inspect || c->trace->prepare || c->trace->attach;
	o->no_kernel = c->trace->prepare || cli_has(args, OPT_NO_KERNEL);
	o->all_gpu = cli_has(args, OPT_GPU);
	o->inspect = c->trace->inspect;
	o->clock = cli_str(args, OPT_CLOCK, NULL);
	o->backend = cli_str(args, OPT_BACKEND, cli_env_backend());
	o->print = on_print;
	o->event = c->stream.out || c->trace->program || c->trace->event ? on_event : NULL;
	o->note = cli_has(args, OPT_QUIET) ? NULL : on_note;
	o->ctx = c;
	c->deadline_ns = duration_ms ? gpubpf_now_ns() + duration_ms * 1000000 : 0;
	return true;
}

/*
 * Check the name of --backend. An unknown name is an error. A missing GPU runtime is only noted, because the
 * application may bring its own runtime.
 */
static bool check_backend(const char *name)
{
	if (!name)
		return true;
	if (!cli_backend_known(name))
		return false;
	if (cli_backend_missing(name)[0])
		cli_note("backend %s: %s", name, cli_backend_missing(name));
	return true;
}

static void note_programs(struct gpubpf_session *s)
{
	const struct gpubpf_prog *prog = NULL;

	cli_note("session %s", gpubpf_session__path(s));
	while ((prog = gpubpf_session__next_program(s, prog)))
		cli_note("program %s, attached to %s: safe, at most %llu instructions per thread", gpubpf_prog__name(prog),
			 gpubpf_prog__pattern(prog), (unsigned long long)gpubpf_prog__max_cost(prog));
}

static int open_session(struct child *c)
{
	struct gpubpf_session_opts o = { .sz = sizeof(o) };
	char runtime[512], cache[512];
	int status;

	if (!get_options(c, &o) || !check_backend(o.backend))
		return CLI_USAGE;
	o.runtime_dir = cli_env_runtime_dir(runtime, sizeof(runtime));
	o.cache_dir = cli_has(c->args, OPT_NO_CACHE) ? NULL : cli_env_cache_dir(cache, sizeof(cache));
	c->s = gpubpf_session__new(&o);
	if (!c->s) {
		cli_error("cannot create a session: %s", strerror(errno));
		return CLI_RUN_FAILED;
	}
	gpubpf_session_set_assembler(c->s, cli_assembler());
	cli_name_session(c->trace, c->s);
	if (c->trace->loaders)
		gpubpf_session_admit_loaders(c->s, cli_has(c->args, OPT_SUPERVISE));
	status = cli_trace_add_objects(c->trace, c->s);
	if (status == CLI_USAGE)
		return status;
	if (status != CLI_OK || gpubpf_session__load(c->s) < 0 || gpubpf_session__start(c->s) < 0) {
		cli_error("%s", gpubpf_session__error(c->s));
		return CLI_RUN_FAILED;
	}
	for (size_t i = 0; gpubpf_session__load_note(c->s, i); i++)
		gpubpf_session_note(c->s, "%s", gpubpf_session__load_note(c->s, i));
	if (cli_has(c->args, OPT_VERBOSE))
		note_programs(c->s);
	return CLI_OK;
}

/* -- the child -- */

static void exec_program(struct child *c, char **argv, char **env, int error_pipe)
{
	int err;

	sigaction(SIGCHLD, &c->before.child, NULL);
	sigprocmask(SIG_SETMASK, &c->before.mask, NULL);
	err = cli_exec(argv, env);
	if (write(error_pipe, &err, sizeof(err)) < 0)
		_exit(CLI_RUN_FAILED);
	_exit(err == ENOENT ? CLI_RUN_MISSING : CLI_RUN_CANNOT);
}

static int start_program(struct child *c)
{
	char **env, **argv = c->trace->loaders ? cli_supervised(c->args) : c->args->rest;
	int error_pipe[2], err = 0;

	if (gpubpf_session__environ(c->s, environ, &env) < 0) {
		cli_error("%s", gpubpf_session__error(c->s));
		return CLI_RUN_FAILED;
	}
	if (pipe2(error_pipe, O_CLOEXEC) < 0) {
		cli_exec_failed(c->args->rest[0], errno);
		free(env);
		return CLI_RUN_FAILED;
	}
	c->pid = fork();
	if (!c->pid)
		exec_program(c, argv, env, error_pipe[1]);
	free(env);
	close(error_pipe[1]);
	if (c->pid > 0 && read(error_pipe[0], &err, sizeof(err)) == sizeof(err)) {
		waitpid(c->pid, NULL, 0);
		c->pid = -1;
	} else if (c->pid < 0) {
		err = errno;
	}
	close(error_pipe[0]);
	return err ? cli_exec_failed(c->args->rest[0], err) : CLI_OK;
}

/*
 * Block the signals that the tool reads from its signalfd. SIGCHLD gets its default disposition, because the tool would
 * not receive it if gpubpf's parent ignored SIGCHLD.
 */
static void block_signals(struct child *c)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(SIGCHLD, &normal, &c->before.child);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &c->before.mask);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* timeout(1) sends its signal to the tool, and then to the tool's process group. */
static bool is_repeated(const struct child *c, const struct signalfd_siginfo *info)
{
	return info->ssi_code <= 0 && (int)info->ssi_signo == c->end_signal &&
	       gpubpf_now_ns() - c->signal_ns < REPEAT_MS * 1000000ull;
}

/*
 * Handle a signal. Ctrl-C in the terminal reaches the application directly; signals from a process are forwarded to it.
 * The application then has GRACE_MS to end, so that the report is complete. A second signal ends the tool at once.
 */
static void on_signal(struct child *c, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD) {
		if (c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG))
			c->ended = true;
		return;
	}
	if (is_repeated(c, info))
		return;
	if (c->end_signal || c->trace->attach) {
		c->leave = true;
		return;
	}
	c->end_signal = info->ssi_signo;
	c->signal_ns = gpubpf_now_ns();
	if (info->ssi_code <= 0)
		kill(c->pid, info->ssi_signo);
	if (!c->reported)
		c->deadline_ns = gpubpf_now_ns() + GRACE_MS * 1000000ull;
}

static void read_signals(struct child *c)
{
	struct signalfd_siginfo info;

	while (read(c->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(c, &info);
}

static int ms_until(uint64_t when)
{
	uint64_t now = gpubpf_now_ns();

	return now >= when ? 0 : (int)((when - now) / 1000000 + 1);
}

static int time_left(const struct child *c)
{
	return !c->deadline_ns || c->reported ? -1 : ms_until(c->deadline_ns);
}

/*
 * Return the timeout in ms for poll(2). It ends when probing ends, or when the progress line must be redrawn. It also
 * ends when the next interval of the program text is due, or when children must be looked for.
 */
static int poll_timeout_ms(struct child *c)
{
	uint64_t due = c->reported ? 0 : cli_program_due(c->trace->program);
	uint64_t follow = c->reported ? 0 : cli_follow_due(c->trace);
	uint64_t tick = c->reported || !c->trace->tick ? 0 : c->tick_ns;
	int left = time_left(c);

	if (follow && (left < 0 || left > ms_until(follow)))
		left = ms_until(follow);
	if (tick && (left < 0 || left > ms_until(tick)))
		left = ms_until(tick);
	if (!c->reported && cli_progress(&c->progress, c->s) && (left < 0 || left > DRAW_MS))
		left = DRAW_MS;
	return due && (left < 0 || left > ms_until(due)) ? ms_until(due) : left;
}

static void run_tick(struct child *c)
{
	if (c->reported || !c->trace->tick || gpubpf_now_ns() < c->tick_ns)
		return;
	c->trace->tick(c->trace, c->s);
	c->tick_ns = gpubpf_now_ns() + TICK_MS * 1000000ull;
}

/* -- after the application's end -- */

/*
 * Read the application's last events. For `kernel list` and `prepare`, also wait until all kernels are inspected or
 * built.
 */
static void serve_remaining(struct child *c)
{
	uint64_t until = c->trace->prepare ? UINT64_MAX : gpubpf_now_ns() + INSPECT_MS * 1000000ull;

	for (int i = 0; i < 1000 && gpubpf_session__poll(c->s, 0) > 0; i++)
		;
	while ((c->trace->inspect || c->trace->prepare) && !c->leave && gpubpf_session__pending(c->s) &&
	       gpubpf_now_ns() < until) {
		gpubpf_session__poll(c->s, 50);
		read_signals(c);
		cli_progress(&c->progress, c->s);
	}
	cli_progress(&c->progress, c->s);
}

static int write_document(struct child *c, FILE *out)
{
	struct json_object *document;
	int err;

	if (!c->s || gpubpf_session_state(c->s) == GPUBPF_SESSION_NEW) {
		cli_failure_document(c->trace, c->s, out);
		return 0;
	}
	document = cli_document(c->trace, c->s);
	err = c->trace->json(c->trace, c->s, document);
	gpubpf_json_write(document, out);
	return err;
}

/* Build the complete report in memory. If that fails, no part of the report has been written to its destination. */
static void make_report(struct child *c)
{
	FILE *out = open_memstream(&c->text, &c->size);
	int err = -ENOMEM;

	if (out)
		err = c->json ? write_document(c, out) : c->trace->text(c->trace, c->s, out);
	if (out && fclose(out) == EOF)
		err = -ENOMEM;
	if (err < 0)
		cli_error("%s", c->s && gpubpf_session__error(c->s)[0] ? gpubpf_session__error(c->s) : strerror(-err));
}

static void write_report(struct child *c)
{
	if (c->text)
		c->lost |= !cli_report_write(&c->file, c->text, c->size);
	free(c->text);
	c->text = NULL;
}

static const char *program_name(const struct child *c)
{
	return c->trace->attach ? "the process" : c->args->rest[0];
}

/*
 * End probing and write the report. A JSON document for standard output is written only after the application has
 * ended, because the application uses standard output until then.
 */
static void report(struct child *c)
{
	const char *backend = cli_str(c->args, OPT_BACKEND, cli_env_backend());

	if (c->reported)
		return;
	c->reported = true;
	serve_remaining(c);
	if (c->trace->attach && gpubpf_server_detach(c->s, DETACH_MS))
		gpubpf_session_note(c->s,
				    "a call, a GPU kernel or a twin's build did not end within %d s; its process detaches later",
				    DETACH_MS / 1000);
	if (c->ended && !c->trace->attach)
		cli_note_survivors(c->s);
	gpubpf_session__stop(c->s);
	cli_program_end(c->trace->program);
	c->trace->ended = c->ended;
	c->trace->status = c->status;
	if (!c->ended && !c->trace->attach)
		gpubpf_session_note(c->s, "probing has ended; %s (pid %d) continues unprobed", c->args->rest[0], c->pid);
	if (c->json && !c->trace->loaders && !c->trace->event)
		cli_explain(c->s, c->trace->program, backend, program_name(c), c->ended);
	make_report(c);
	if (!c->json || c->file.path)
		write_report(c);
	if (!c->json && !c->trace->loaders && !c->trace->event)
		cli_explain(c->s, c->trace->program, backend, program_name(c), c->ended);
	if (c->trace->loaders)
		cli_explain_loaders(c->s);
	c->unprobed = cli_has(c->args, OPT_STRICT) && cli_is_nothing_probed(c->s);
}

static void serve(struct child *c)
{
	gpubpf_session__poll(c->s, 0); /* starts the timer that reads maps of the Linux kernel */
	while (!c->ended && !c->leave) {
		struct pollfd p[2] = {
			{ .fd = c->signals, .events = POLLIN },
			{ .fd = c->reported ? -1 : gpubpf_session__fd(c->s), .events = POLLIN },
		};

		poll(p, 2, poll_timeout_ms(c));
		read_signals(c);
		if (!c->reported && p[1].revents)
			gpubpf_session__poll(c->s, 0);
		run_tick(c);
		if (!c->reported && cli_program_run(c->trace->program))
			report(c);
		c->ended |= c->trace->attach && !(!c->reported && cli_follow_run(c->trace, c->s)) &&
			    !gpubpf_server_count_attached(c->s);
		if (!c->ended && !time_left(c))
			report(c);
		c->leave |= c->trace->attach && c->reported;
	}
	report(c);
	write_report(c);
}

/* Write a JSON document with the reason why the application was not started. */
static void report_failure(struct child *c, int status)
{
	cli_capture_error(NULL);
	c->trace->failed = status;
	if (!c->json || !c->file.out)
		return;
	make_report(c);
	write_report(c);
}

int cli_trace_run(struct cli_trace *trace)
{
	struct child c = { .trace = trace, .args = trace->args, .pid = -1, .signals = -1 };
	int status = cli_report_open(&c.file, trace->args);

	c.json = cli_has(trace->args, OPT_JSON);
	cli_progress_open(&c.progress, cli_has(trace->args, OPT_QUIET));
	clock_gettime(CLOCK_REALTIME, &trace->started);
	cli_capture_error(&trace->failure);
	if (status == CLI_OK)
		status = cli_stream_open(&c.stream, trace->args);
	if (status == CLI_OK)
		status = cli_program_open(&trace->program, trace->args);
	if (status == CLI_OK)
		status = open_session(&c);
	if (status == CLI_OK && !trace->prepare)
		status = cli_program_begin(trace->program, c.s, c.file.out, &c.stream);
	if (status == CLI_OK) {
		block_signals(&c);
		status = trace->attach ? cli_attach_processes(trace, c.s) : start_program(&c);
		if (status == CLI_OK)
			serve(&c);
	}
	if (status != CLI_OK)
		report_failure(&c, status);
	gpubpf_session__free(c.s);
	cli_stream_close(&c.stream);
	cli_progress_close(&c.progress);
	cli_report_close(&c.file);
	if (status != CLI_OK)
		return status;
	if (trace->attach)
		return c.unprobed ? CLI_UNPROBED : c.lost ? CLI_RUN_FAILED : cli_program_status(trace->program);
	status = c.ended ? c.status : c.end_signal;
	if (c.unprobed && !WIFSIGNALED(status))
		return CLI_UNPROBED;
	return c.lost && !status ? CLI_RUN_FAILED : cli_exit_like(status, cli_program_status(trace->program));
}
