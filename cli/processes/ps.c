/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf ps: lists the processes that use a GPU runtime, or restores processes that killed tools changed. */
#include "processes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "core/session/base/json_write.h"
#include "core/session/report/table.h"

#define MEASURE_MS 500 /* time between two reads of the sessions' counts */

struct process {
	pid_t pid;
	struct cli_mapped mapped;
	char name[64], container[64];
	char sessions[128]; /* ids of the sessions that probe the process, separated by commas */
	double rate;        /* launches per second; negative: no session counts them */
};

struct processes {
	struct process *process; /* [n], by pid */
	size_t n;
};

static void add_process(pid_t pid, void *arg)
{
	struct process p = { .pid = pid, .rate = -1 }, *grown;
	struct processes *all = arg;

	if (!cli_mapped_read(pid, &p.mapped) || !cli_mapped_uses_gpu(&p.mapped) || pid == getpid() ||
	    cli_process_is_helper(pid))
		return;
	grown = realloc(all->process, (all->n + 1) * sizeof(p));
	if (!grown)
		return;
	cli_process_name(pid, p.name, sizeof(p.name));
	cli_process_container(pid, p.container, sizeof(p.container));
	all->process = grown;
	grown[all->n++] = p;
}

static int compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int64_t count_launches(const struct cli_session *s, pid_t pid)
{
	struct json_object *o = cli_session_process(s, pid), *n = NULL;

	return o && json_object_object_get_ex(o, "launches", &n) ? json_object_get_int64(n) : -1;
}

/* Find the session of `all` with this socket, and return the process's launches in it; -1: not known. */
static int64_t count_again(const struct cli_sessions *all, const char *path, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->session[i].path, path))
			return count_launches(&all->session[i], pid);
	return -1;
}

/* Add one session to the process, and the launches that it counted between the two reads. */
static void add_session(struct process *p, const struct cli_sessions *before, const struct cli_session *s,
			const struct cli_sessions *after, double seconds)
{
	int64_t from = count_launches(s, p->pid), to = from < 0 ? -1 : count_again(after, s->path, p->pid);
	size_t used = strlen(p->sessions);
	char id[32];

	if (from < 0)
		return;
	cli_session_id(before, s, id, sizeof(id));
	snprintf(p->sessions + used, sizeof(p->sessions) - used, "%s%s", used ? "," : "", id);
	if (to >= from && (to - from) / seconds > p->rate)
		p->rate = (to - from) / seconds;
}

static double read_clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static bool is_any_probed(const struct processes *all, const struct cli_sessions *sessions)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < sessions->n; k++)
			if (cli_session_process(&sessions->session[k], all->process[i].pid))
				return true;
	return false;
}

/* Read the sessions twice, to measure the launches per second. */
static void add_sessions(struct processes *all)
{
	const struct timespec pause = { 0, MEASURE_MS * 1000000 };
	struct cli_sessions before, after = { 0 };
	double since;

	cli_sessions_open(&before);
	since = read_clock_s();
	if (is_any_probed(all, &before)) {
		nanosleep(&pause, NULL);
		cli_sessions_open(&after);
	}
	since = read_clock_s() - since;
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < before.n; k++)
			add_session(&all->process[i], &before, &before.session[k], &after, since);
	cli_sessions_close(&before);
	cli_sessions_close(&after);
}

static const char *get_state(const struct process *p)
{
	return p->sessions[0] ? "session" : p->mapped.has_agent ? "agent" : p->mapped.has_idle ? "prepared" : "-";
}

/* Write the names of the runtimes. The OpenCL loader is left out if its implementations are known. */
static void write_runtimes(const struct process *p, char *text, size_t size)
{
	bool has_vendor = false;
	size_t used = 0;

	for (int i = CLI_RUNTIME_OPENCL + 1; i < CLI_NRUNTIMES; i++)
		has_vendor |= p->mapped.has[i];
	snprintf(text, size, "-");
	for (int i = 0; i < CLI_NRUNTIMES && used < size; i++)
		if (p->mapped.has[i] && !(i == CLI_RUNTIME_OPENCL && has_vendor))
			used += snprintf(text + used, size - used, "%s%s", used ? ", " : "", cli_runtime_name(i));
}

static void put_row(struct gpubpf_table *t, const struct process *p, bool has_containers)
{
	char user[64], runtimes[256], command[1024];

	cli_user_name(cli_process_user(p->pid), user, sizeof(user));
	write_runtimes(p, runtimes, sizeof(runtimes));
	cli_process_command(p->pid, command, sizeof(command));
	gpubpf_table_number(t, p->pid, false);
	gpubpf_table_text(t, user);
	if (has_containers)
		gpubpf_table_text(t, p->container[0] ? p->container : "-");
	gpubpf_table_text(t, get_state(p));
	if (p->rate < 0)
		gpubpf_table_text(t, "-");
	else
		gpubpf_table_cell(t, "%.0f", p->rate);
	gpubpf_table_text(t, p->sessions[0] ? p->sessions : "-");
	gpubpf_table_text(t, runtimes);
	gpubpf_table_text(t, command);
}

static void write_text(const struct processes *all)
{
	static const char *const headings[] = { "PID",      "USER",    "CONTAINER", "STATE",
						"LAUNCH/S", "SESSION", "RUNTIMES",  "COMMAND" };
	struct gpubpf_table t = { 0 };
	bool has_containers = false;

	for (size_t i = 0; i < all->n; i++)
		has_containers |= all->process[i].container[0];
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		if (has_containers || strcmp(headings[i], "CONTAINER"))
			gpubpf_table_heading(&t, headings[i]);
	for (size_t i = 0; i < all->n; i++)
		put_row(&t, &all->process[i], has_containers);
	cli_print_table(&t);
	gpubpf_table_finish(&t);
}

static struct json_object *list_runtimes(const struct process *p)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < CLI_NRUNTIMES; i++)
		if (p->mapped.has[i])
			json_object_array_add(list, json_object_new_string(cli_runtime_name(i)));
	return list;
}

static struct json_object *list_sessions(const struct process *p)
{
	struct json_object *list = json_object_new_array();

	for (const char *at = p->sessions; *at; at += strcspn(at, ","), at += *at == ',')
		json_object_array_add(list, json_object_new_string_len(at, strcspn(at, ",")));
	return list;
}

static struct json_object *process_json(const struct process *p)
{
	struct json_object *o = json_object_new_object();
	char user[64], command[4096];

	cli_user_name(cli_process_user(p->pid), user, sizeof(user));
	cli_process_command(p->pid, command, sizeof(command));
	json_object_object_add(o, "pid", json_object_new_int(p->pid));
	json_object_object_add(o, "user", json_object_new_string(user));
	json_object_object_add(o, "name", json_object_new_string(p->name));
	json_object_object_add(o, "command", json_object_new_string(command));
	json_object_object_add(o, "container", p->container[0] ? json_object_new_string(p->container) : NULL);
	json_object_object_add(o, "runtimes", list_runtimes(p));
	json_object_object_add(o, "prepared", json_object_new_boolean(p->mapped.has_idle));
	json_object_object_add(o, "agent", json_object_new_boolean(p->mapped.has_agent));
	json_object_object_add(o, "launches_per_s", p->rate < 0 ? NULL : json_object_new_double(p->rate));
	json_object_object_add(o, "sessions", list_sessions(p));
	return o;
}

static void write_json(const struct processes *all)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < all->n; i++)
		json_object_array_add(list, process_json(&all->process[i]));
	json_object_object_add(root, "processes", list);
	gpubpf_json_write(root, stdout);
}

static void explain_none(void)
{
	if (geteuid())
		cli_note("no process of yours uses a GPU runtime; root sees the processes of all users");
	else
		cli_note("no process uses a GPU runtime");
}

int gpubpf_cmd_ps(const struct cli_args *args)
{
	struct processes all = { 0 };

	if (cli_has(args, OPT_CLEAN))
		return cli_ps_clean(args);
	cli_process_each(add_process, &all);
	if (all.n)
		qsort(all.process, all.n, sizeof(*all.process), compare);
	add_sessions(&all);
	if (cli_has(args, OPT_JSON))
		write_json(&all);
	else if (all.n)
		write_text(&all);
	else
		explain_none();
	free(all.process);
	return CLI_OK;
}
