/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of processes, for the word comm, and their mappings, for stacks. A record or a key contains the id of a process.
 * The name is read when the process joins the session, because the process may have ended when its name is printed.
 *
 * The Linux kernel uses an id again after the process has ended. The start time shows whether the id still belongs to the
 * same process. If it does not, a record may be of either process. Then the process has no mappings, so that stacks are
 * addresses alone. If both processes joined the session, it has no name either.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"
#include "host.h"

#define MAPPINGS_NS 100000000 /* minimum time between two reads of the mappings of a process */

static struct lang_process *find_process(const struct lang_host *h, uint32_t pid)
{
	for (uint32_t i = 0; i < h->nprocesses; i++)
		if (h->process[i].pid == pid)
			return &h->process[i];
	return NULL;
}

static bool read_name(uint32_t pid, char name[16])
{
	char path[32];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	ok = f && fgets(name, 16, f);
	if (ok)
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	return ok;
}

/* Returns the start time of a process in ticks since the start of the machine (field 22 of its stat file), or 0. */
static uint64_t read_start(uint32_t pid)
{
	char path[32], text[1024] = "", *at;
	uint64_t start = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	at = strrchr(text, ')'); /* ends the name, which may contain spaces */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, "%" SCNu64, &start);
	return start;
}

static void add_process(struct lang_host *h, uint32_t pid)
{
	struct lang_process *grown = reallocarray(h->process, h->nprocesses + 1, sizeof(*grown));

	if (!grown)
		return;
	h->process = grown;
	grown[h->nprocesses] = (struct lang_process){ .pid = pid, .start = read_start(pid) };
	if (read_name(pid, grown[h->nprocesses].name))
		h->nprocesses++;
}

static char *read_mappings(uint32_t pid)
{
	char path[32], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	if (!f || getdelim(&text, &size, '\0', f) <= 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* If another process has the id now, forget the mappings. Returns true if the id belongs to another process. */
static bool check_reuse(struct lang_process *process)
{
	uint64_t start = process->is_reused ? process->start : read_start(process->pid);

	if (start && start != process->start) {
		process->is_reused = true;
		free(process->mappings);
		process->mappings = NULL;
	}
	return process->is_reused;
}

/* Read the mappings of a process, unless they were read a short time ago. Keep the old ones if the process has ended. */
static void note_mappings(struct lang_process *process)
{
	uint64_t now = gpubpf_now_ns();
	char *text;

	if (process->is_reused || (process->mappings && now - process->read_ns < MAPPINGS_NS))
		return;
	text = read_mappings(process->pid);
	/* The start time is read after the mappings: if it has not changed, the same process had them. */
	if (check_reuse(process) || !text) {
		free(text);
		return;
	}
	free(process->mappings);
	process->mappings = text;
	process->read_ns = now;
}

void lang_note_process(struct lang_host *h, uint32_t pid, uint32_t number)
{
	struct lang_process *process = find_process(h, pid);

	if (!process) {
		add_process(h, pid);
		process = find_process(h, pid);
	} else if (process->number != number && check_reuse(process)) {
		process->name[0] = '\0';
	}
	if (process)
		process->number = number;
}

void lang_note_processes(struct lang_host *h)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(h->s); peer; peer = peer->next)
		if (peer->pid)
			lang_note_process(h, peer->pid, peer->process);
	for (uint32_t i = 0; h->l->linux_probes && i < h->nprocesses; i++)
		note_mappings(&h->process[i]);
}

const char *lang_process_mappings(struct lang_host *h, uint32_t pid)
{
	struct lang_process *process = find_process(h, pid);

	if (!process) {
		add_process(h, pid);
		process = find_process(h, pid);
	}
	if (process)
		note_mappings(process);
	return process ? process->mappings : NULL;
}

const char *lang_process_name(const struct lang_host *h, uint32_t pid)
{
	const struct lang_process *process = find_process(h, pid);

	return process ? process->name : "";
}
