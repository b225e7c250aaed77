/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf attach: puts probes into the GPU kernels of processes that run already. */
#include "cli/cli.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/processes/processes.h"
#include "core/attach/attach.h"
#include "core/attach/patch.h"
#include "core/session/report/report.h"
#include "core/session/server/session_server.h"
#include "core/worker/installed.h"

#define MAX_PROCESSES 4096

/* ids of the processes to attach to; id[n] is 0 */
struct processes {
	pid_t id[MAX_PROCESSES + 1];
	size_t n;
};

/* Add an id, unless the list contains it. Returns false if the list is full. */
static bool add_process(struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->id[i] == pid)
			return true;
	if (p->n == MAX_PROCESSES)
		return false;
	p->id[p->n++] = pid;
	p->id[p->n] = 0;
	return true;
}

/* Add the ids in a list such as "12,34". */
static int add_list(struct processes *p, const char *list)
{
	char *end;

	for (const char *at = list;; at = end + 1) {
		unsigned long pid = strtoul(at, &end, 10);

		if (end == at || (*end && *end != ',') || !pid || pid > INT32_MAX || !add_process(p, pid)) {
			cli_error("--pid %s: the argument must be ids of processes, as in --pid 1234,5678", list);
			return CLI_USAGE;
		}
		if (!*end)
			return CLI_OK;
	}
}

static bool has_name(pid_t pid, const char *glob)
{
	char name[64];

	cli_process_name(pid, name, sizeof(name));
	return name[0] && !fnmatch(glob, name, 0);
}

static bool uses_gpu(pid_t pid)
{
	struct cli_mapped mapped;

	return cli_mapped_read(pid, &mapped) && (cli_mapped_uses_opencl(&mapped) || mapped.has[CLI_RUNTIME_CUDA]);
}

static bool is_selected(const struct cli_args *args, pid_t pid)
{
	const char *name = cli_str(args, OPT_NAME, NULL), *cgroup = cli_str(args, OPT_CGROUP, NULL);

	return pid != getpid() && !cli_process_is_helper(pid) && (!name || has_name(pid, name)) &&
	       (!cgroup || cli_process_is_in_cgroup(pid, cgroup)) && uses_gpu(pid);
}

struct selection {
	struct processes *processes;
	const struct cli_args *args;
};

/* Add a process that uses OpenCL or CUDA if --name and --cgroup select it. */
static void add_selected(pid_t pid, void *arg)
{
	struct selection *s = arg;

	if (is_selected(s->args, pid))
		add_process(s->processes, pid);
}

static int find_processes(struct processes *p, const struct cli_args *args)
{
	bool selects = cli_has(args, OPT_NAME) || cli_has(args, OPT_CGROUP) || cli_has(args, OPT_ALL);
	const struct cli_values *lists = &args->option[OPT_PID];
	int status = CLI_OK;

	if (!lists->n && !selects) {
		cli_error("attach: no process is selected; use -p PID, --name GLOB, --cgroup PATH or --all");
		return CLI_USAGE;
	}
	for (uint32_t i = 0; i < lists->n && status == CLI_OK; i++)
		status = add_list(p, lists->value[i]);
	if (status == CLI_OK && selects)
		cli_process_each(add_selected, &(struct selection){ p, args });
	if (status == CLI_OK && !p->n) {
		cli_error("attach: no process that uses OpenCL or CUDA matches; use -p PID for a process that loads it later");
		return CLI_RUN_FAILED;
	}
	return status;
}

static int patch_functions(pid_t pid, bool patch, char *why, size_t size)
{
	return patch ? gpubpf_attach_patch(pid, NULL, why, size) : gpubpf_attach_restore_patches(pid, NULL, why, size);
}

/* With --no-inject, refuse a process that is not prepared. */
static bool may_attach(const struct cli_trace *trace, pid_t pid)
{
	struct cli_mapped mapped;

	if (!cli_has(trace->args, OPT_NO_INJECT) || !cli_process_exists(pid) ||
	    (cli_mapped_read(pid, &mapped) && mapped.has_idle))
		return true;
	cli_error("process %d is not prepared (it has not loaded libgpubpf-idle.so); attach without --no-inject", pid);
	return false;
}

static int attach_socket(struct gpubpf_session *s, pid_t pid, struct gpubpf_attach_times *times, char *why, size_t size)
{
	struct gpubpf_attach_process_opts opts = { 0 };
	char agent[PATH_MAX];
	int sock;

	if (gpubpf_agent_find(agent, sizeof(agent)) < 0) {
		snprintf(why, size, "%s: the agent cannot be read; build or install gpubpf completely", agent);
		return -ENOENT;
	}
	opts.library = agent;
	sock = gpubpf_attach_process(pid, &opts, times, why, size);
	if (sock >= 0 && gpubpf_server_adopt(s, sock) < 0) {
		snprintf(why, size, "%s", gpubpf_session__error(s));
		close(sock);
		sock = -1;
	}
	return sock;
}

/* Print why the attach failed. If a session has the process, name the session. */
static void explain_failure(pid_t pid, const char *why)
{
	const struct cli_session *found = NULL;
	struct cli_sessions all;
	char id[32];

	cli_sessions_open(&all);
	for (size_t i = 0; i < all.n && !found; i++)
		found = cli_session_process(&all.session[i], pid) ? &all.session[i] : NULL;
	if (found) {
		cli_session_id(&all, found, id, sizeof(id));
		cli_error("process %d is in session %s (%s); end that session, or add probes with gpubpf session attach -p %d",
			  pid, id, found->name, pid);
	} else {
		cli_error("%s", why);
	}
	cli_sessions_close(&all);
}

bool cli_attach_process(const struct cli_trace *trace, struct gpubpf_session *s, pid_t pid)
{
	struct gpubpf_attach_times times;
	char why[PATH_MAX + 100];

	if (!may_attach(trace, pid))
		return false;
	if (attach_socket(s, pid, &times, why, sizeof(why)) < 0) {
		explain_failure(pid, why);
		return false;
	}
	if (cli_has(trace->args, OPT_VERBOSE))
		cli_note("attached to process %d; one of its threads was stopped for %.3f ms", pid, times.stopped / 1e6);
	return true;
}

/* Say how the session ends, because a user may not know it. */
static void note_attached(const struct cli_trace *trace, uint32_t n, uint32_t all)
{
	char name[64];

	if (cli_has(trace->args, OPT_QUIET))
		return;
	cli_process_name(trace->attach[0], name, sizeof(name));
	if (n < all)
		cli_note("attached to %u of %u processes", n, all);
	if (cli_has(trace->args, OPT_DURATION))
		return;
	if (all == 1)
		cli_note("attached to process %d (%s); Ctrl-C ends probing and prints the report", trace->attach[0], name);
	else
		cli_note("Ctrl-C ends probing and prints the report");
}

/* Attach to the processes. Report each process for which that fails. If it fails for all, the command fails. */
int cli_attach_processes(const struct cli_trace *trace, struct gpubpf_session *s)
{
	uint32_t n = 0, all = 0;

	gpubpf_server_set_patch(s, patch_functions);
	for (const pid_t *pid = trace->attach; *pid; pid++, all++) {
		if (!cli_attach_process(trace, s, *pid))
			continue;
		n++;
		/* the agent waits for the session's answer while the tool attaches to other processes */
		for (int i = 0; i < 20; i++)
			gpubpf_session__poll(s, 5);
	}
	if (n)
		note_attached(trace, n, all);
	return n ? CLI_OK : CLI_RUN_FAILED;
}

int cli_attach_run(struct cli_trace *trace)
{
	struct processes *p = calloc(1, sizeof(*p));
	int status = p ? find_processes(p, trace->args) : CLI_FAILED;

	if (status == CLI_OK) {
		trace->attach = p->id;
		status = cli_follow_start(trace) < 0 ? CLI_FAILED : cli_trace_run(trace);
		cli_program_close(trace->program);
		free(trace->follow);
	}
	free(p);
	return status;
}

int gpubpf_cmd_attach(const struct cli_args *args)
{
	struct cli_args own = *args;
	struct cli_trace trace = { .args = &own, .text = cli_run_text, .json = cli_run_json };

	/* Here -p is --pid, so the ready probes are in OPT_READY; cli_trace_run() reads them from OPT_PROBE. */
	own.option[OPT_PROBE] = args->option[OPT_READY];
	if (!cli_has(&own, OPT_OBJECT) && !cli_has(&own, OPT_PROBE) && !cli_has(&own, OPT_EXPR)) {
		cli_error("attach: no probes; use -e PROGRAM, -o FILE or --probe NAME (gpubpf probes lists the names)");
		return CLI_USAGE;
	}
	if (args->nrest) {
		cli_error("attach: %s is unexpected, since attach starts no application; use -p PID or gpubpf run",
			  args->rest[0]);
		return CLI_USAGE;
	}
	return cli_attach_run(&trace);
}
