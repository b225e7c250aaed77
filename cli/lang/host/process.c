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

void lang_note_processes(struct lang_host *h)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(h->s); peer; peer = peer->next)
		if (peer->pid && !find_process(h, peer->pid))
			add_process(h, peer->pid);
}

const char *lang_process_name(const struct lang_host *h, uint32_t pid)
{
	const struct lang_process *process = find_process(h, pid);

	return process ? process->name : "";
}
