/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of processes, for the word comm. A record or a key contains the id of a process. The name is read when the
 * process joins the session, because the process may have ended when its name is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"
#include "host.h"

#define MAPPINGS_NS 100000000 /* minimum time between two reads of the mappings of a process */

static const struct lang_process *find_process(const struct lang_host *h, uint32_t pid)
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

static void add_process(struct lang_host *h, uint32_t pid)
{
	struct lang_process *grown = reallocarray(h->process, h->nprocesses + 1, sizeof(*grown));

	if (!grown)
		return;
	h->process = grown;
	grown[h->nprocesses] = (struct lang_process){ .pid = pid };
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

/* Read the mappings of a process, unless they were read a short time ago. Keep the old ones if the process has ended. */
static void note_mappings(struct lang_process *process)
{
	uint64_t now = gpubpf_now_ns();
	char *text;

	if (process->mappings && now - process->read_ns < MAPPINGS_NS)
		return;
	text = read_mappings(process->pid);
	if (!text)
		return;
	free(process->mappings);
	process->mappings = text;
	process->read_ns = now;
}

void lang_note_processes(struct lang_host *h)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(h->s); peer; peer = peer->next)
		if (peer->pid && !find_process(h, peer->pid))
			add_process(h, peer->pid);
	for (uint32_t i = 0; h->l->linux_probes && i < h->nprocesses; i++)
		note_mappings(&h->process[i]);
}

const char *lang_process_mappings(struct lang_host *h, uint32_t pid)
{
	struct lang_process *process = (struct lang_process *)find_process(h, pid);

	if (!process) {
		add_process(h, pid);
		process = (struct lang_process *)find_process(h, pid);
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
