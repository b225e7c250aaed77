/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf attach --follow: attaches to the children of the probed processes, and again to a process that has called
 * exec(3). It reads the lists of children in /proc every FOLLOW_MS. A child is attached once it has loaded OpenCL.
 */
#include "cli/processes/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dirent.h>

#include "cli/cli.h"
#include "core/session/session.h"

#define FOLLOW_MS 50
#define MAX_FOLLOWED 4096
#define MAX_TRIES 3 /* failed attaches per program of a process */

struct followed {
	pid_t pid;
	uint32_t tries;    /* failed attaches */
	char program[256]; /* the program at the last attach */
};

struct cli_follow {
	struct followed process[MAX_FOLLOWED];
	size_t n;
	uint64_t due_ns;
};

static void add_process(struct cli_follow *f, pid_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->process[i].pid == pid)
			return;
	if (pid > 0 && f->n < MAX_FOLLOWED)
		f->process[f->n++] = (struct followed){ .pid = pid };
}

/* Add the children of one thread. */
static void add_children_of(struct cli_follow *f, pid_t pid, const char *thread)
{
	char path[300];
	FILE *list;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, thread);
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &child) == 1)
		add_process(f, child);
	if (list)
		fclose(list);
}

static void add_children(struct cli_follow *f, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children_of(f, pid, entry->d_name);
	if (dir)
		closedir(dir);
}

static void read_program(pid_t pid, char *program, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, program, size - 1);
	program[n > 0 ? n : 0] = 0;
}

/* Attach to the process if it uses OpenCL and is not attached. Returns false if it has ended. */
static bool follow_process(const struct cli_trace *trace, struct gpubpf_session *s, struct followed *p)
{
	struct cli_mapped mapped;
	char program[256];

	if (!cli_mapped_read(p->pid, &mapped))
		return false;
	if (!cli_mapped_uses_opencl(&mapped) || gpubpf_server_has_attached(s, p->pid) || cli_process_is_helper(p->pid))
		return true;
	read_program(p->pid, program, sizeof(program));
	if (strcmp(program, p->program))
		p->tries = 0;
	strcpy(p->program, program);
	if (p->tries < MAX_TRIES && !cli_attach_process(trace, s, p->pid))
		p->tries++;
	return true;
}

int cli_follow_start(struct cli_trace *trace)
{
	trace->follow = cli_has(trace->args, OPT_FOLLOW) ? calloc(1, sizeof(*trace->follow)) : NULL;
	for (const pid_t *pid = trace->attach; trace->follow && *pid; pid++)
		add_process(trace->follow, *pid);
	return !trace->follow && cli_has(trace->args, OPT_FOLLOW) ? -ENOMEM : 0;
}

uint64_t cli_follow_due(const struct cli_trace *trace)
{
	return trace->follow ? trace->follow->due_ns : 0;
}

bool cli_follow_run(const struct cli_trace *trace, struct gpubpf_session *s)
{
	struct cli_follow *f = trace->follow;
	size_t left = 0, known;

	if (!f)
		return false;
	if (gpubpf_now_ns() < f->due_ns)
		return f->n;
	known = f->n;
	for (size_t i = 0; i < known; i++)
		add_children(f, f->process[i].pid);
	for (size_t i = 0; i < f->n; i++)
		if (follow_process(trace, s, &f->process[i]))
			f->process[left++] = f->process[i];
	f->n = left;
	f->due_ns = gpubpf_now_ns() + FOLLOW_MS * 1000000ull;
	return f->n;
}
