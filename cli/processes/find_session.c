/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the session that a command queries. If several sessions fit, the command fails; it never chooses silently. */
#include "processes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/session/session.h"

#define MAX_LISTED 8 /* maximum number of sessions that a message lists */

/* The user's selection: a text from --session, or the process of --pid, or nothing. */
struct wanted {
	const char *text;
	pid_t pid;
};

static bool is_wanted(const struct cli_sessions *all, const struct cli_session *s, const struct wanted *w)
{
	char id[32], number[32];

	if (w->pid)
		return cli_session_process(s, w->pid) != NULL;
	if (!w->text)
		return s->is_default;
	snprintf(id, sizeof(id), "%d", s->pid);
	snprintf(number, sizeof(number), "%d-%u", s->pid, s->number);
	return !strcmp(w->text, id) || !strcmp(w->text, number) || !strcmp(w->text, s->name);
}

/* Write "1234 (loop), 1250 (python3)" for the wanted sessions, or for all sessions if w is NULL. */
static void list_sessions(const struct cli_sessions *all, const struct wanted *w, char *text, size_t size)
{
	size_t n = 0, used = 0;

	text[0] = 0;
	for (size_t i = 0; i < all->n && used < size; i++) {
		const struct cli_session *s = &all->session[i];
		char id[32];

		if (!s->is_open || (w && !is_wanted(all, s, w)) || n++ >= MAX_LISTED)
			continue;
		cli_session_id(all, s, id, sizeof(id));
		used += snprintf(text + used, size - used, "%s%s (%s)", used ? ", " : "", id, s->name);
	}
	if (n > MAX_LISTED && used < size)
		snprintf(text + used, size - used, " and %zu more", n - MAX_LISTED);
}

static int explain_none(const struct cli_sessions *all, const struct wanted *w)
{
	char list[1024];

	list_sessions(all, NULL, list, sizeof(list));
	if (w->pid && !cli_process_exists(w->pid))
		cli_error("--pid %d: there is no such process; gpubpf ps lists the GPU processes", w->pid);
	else if (w->pid)
		cli_error("--pid %d: no session probes this process; start one with gpubpf attach -p %d", w->pid, w->pid);
	else if (w->text && list[0])
		cli_error("--session %s: there is no such session; the sessions are %s", w->text, list);
	else if (w->text)
		cli_error("--session %s: you have no running session; start one with gpubpf run or gpubpf attach", w->text);
	else if (list[0])
		cli_error("you have no running session in this runtime folder (XDG_RUNTIME_DIR); name one with --session: %s",
			  list);
	else
		cli_error("you have no running session; start one with gpubpf run or gpubpf attach");
	return CLI_FAILED;
}

static int explain_several(const struct cli_sessions *all, const struct wanted *w, size_t n)
{
	char list[1024];

	list_sessions(all, w, list, sizeof(list));
	if (w->pid)
		cli_error("--pid %d: %zu sessions probe this process; --session selects one of %s", w->pid, n, list);
	else if (w->text)
		cli_error("--session %s: %zu sessions have this name; --session selects one by its pid, of %s", w->text,
			  n, list);
	else
		cli_error("%zu sessions are running; name one with --session: %s", n, list);
	return CLI_FAILED;
}

static int choose(const struct wanted *w, char *path, size_t size)
{
	const struct cli_session *found = NULL;
	struct cli_sessions all;
	int status = CLI_OK;
	size_t n = 0;

	cli_sessions_open(&all);
	for (size_t i = 0; i < all.n; i++) {
		if (!all.session[i].is_open || !is_wanted(&all, &all.session[i], w))
			continue;
		found = &all.session[i];
		n++;
	}
	if (n == 1)
		snprintf(path, size, "%s", found->path);
	else
		status = n ? explain_several(&all, w, n) : explain_none(&all, w);
	cli_sessions_close(&all);
	return status;
}

size_t cli_session_find_only(char *path, size_t size)
{
	struct cli_sessions all;
	size_t n = 0;

	cli_sessions_open(&all);
	for (size_t i = 0; i < all.n; i++) {
		if (!all.session[i].is_open || !all.session[i].is_default)
			continue;
		snprintf(path, size, "%s", all.session[i].path);
		n++;
	}
	cli_sessions_close(&all);
	if (n != 1)
		path[0] = 0;
	return n;
}

bool cli_pid(const char *text, pid_t *pid)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || !value || value > INT32_MAX)
		return false;
	*pid = value;
	return true;
}

int cli_session_find(const struct cli_args *args, char *path, size_t size)
{
	const char *pid = cli_str(args, OPT_OF_PID, NULL);
	const char *named = cli_str(args, OPT_SESSION, pid ? NULL : cli_env_session());
	struct wanted w = { 0 };

	if (pid && named) {
		cli_error("--pid and --session both select a session; use one of them");
		return CLI_USAGE;
	}
	if (pid && !cli_pid(pid, &w.pid)) {
		cli_error("--pid %s: must be the id of one process, as in --pid 1234", pid);
		return CLI_USAGE;
	}
	if (!named || !strchr(named, '/')) {
		w.text = named;
		return choose(&w, path, size);
	}
	if (strlen(named) >= size) {
		cli_error("--session: the path is too long");
		return CLI_FAILED;
	}
	strcpy(path, named);
	return CLI_OK;
}

void cli_name_session(const struct cli_trace *trace, struct gpubpf_session *s)
{
	const char *slash = trace->attach ? NULL : strrchr(trace->args->rest[0], '/');
	char name[64];

	if (trace->attach)
		cli_process_name(trace->attach[0], name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s", slash ? slash + 1 : trace->args->rest[0]);
	gpubpf_session_set_name(s, name);
}
