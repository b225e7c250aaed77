/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules the host's work: executes records in order of arrival, and intervals when they are due. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"

static void run_all(struct lang_host *h, enum lang_when when)
{
	for (const struct lang_block *b = h->l->blocks; b; b = b->next)
		for (const struct lang_probe *p = b->probes; p; p = p->next)
			if (p->when == when)
				lang_eval_block(h, p);
}

void lang_host_begin(struct lang_host *h)
{
	h->start_ns = h->l->start_ns;
	for (struct lang_block *b = h->l->blocks; b; b = b->next)
		for (struct lang_probe *p = b->probes; p; p = p->next)
			p->due_ns = gpubpf_now_ns() + p->every_ns;
	run_all(h, LANG_BEGIN);
}

bool lang_host_record(struct lang_host *h, const struct gpubpf_event *event)
{
	uint32_t size = (event->size + 7) & ~7u;

	if (strcmp(gpubpf_map__name(event->map), "__records"))
		return false;
	if (h->queued + 8 + size > h->room) {
		size_t room = h->room ? h->room * 2 : 65536;
		uint8_t *grown = room > LANG_QUEUE ? NULL : realloc(h->queue, room);

		if (!grown) {
			h->dropped++;
			return true;
		}
		h->queue = grown;
		h->room = room;
	}
	memcpy(h->queue + h->queued, &event->size, sizeof(event->size));
	memcpy(h->queue + h->queued + 8, event->data, event->size);
	h->queued += 8 + size;
	return true;
}

/*
 * Execute the action of a record. No field of the record is trusted: a GPU kernel wrote it, and the application can
 * change the memory.
 */
static void run_action(struct lang_host *h, const uint8_t *data, uint32_t size)
{
	uint32_t id[2];

	if (size < sizeof(id))
		return;
	memcpy(id, data, sizeof(id));
	if (id[0] < h->l->nactions && id[1] < h->l->nprobes && lang_record_size(h->l->action[id[0]]) == size)
		lang_act(h, h->l->action[id[0]], h->l->probe[id[1]], data + sizeof(id));
}

static void run_records(struct lang_host *h)
{
	size_t at = 0;

	lang_rows_invalidate(h);
	while (at < h->queued) {
		uint32_t size;

		memcpy(&size, h->queue + at, sizeof(size));
		run_action(h, h->queue + at + 8, size);
		at += 8 + ((size + 7) & ~7u);
	}
	h->queued = 0;
}

/* Execute each interval that is due once, even if several periods have passed. */
static void run_intervals(struct lang_host *h)
{
	uint64_t now = gpubpf_now_ns();
	bool fresh = false;

	for (struct lang_block *b = h->l->blocks; b; b = b->next)
		for (struct lang_probe *p = b->probes; p && !h->exit; p = p->next) {
			if (p->when != LANG_INTERVAL || p->due_ns > now)
				continue;
			if (!fresh)
				gpubpf_session_refresh_mirrors(h->s);
			fresh = true;
			lang_rows_invalidate(h);
			lang_eval_block(h, p);
			p->due_ns += (now - p->due_ns) / p->every_ns * p->every_ns + p->every_ns;
		}
}

void lang_host_run(struct lang_host *h)
{
	lang_note_processes(h);
	run_records(h);
	run_intervals(h);
	run_records(h); /* execute the records that arrived while run_intervals() copied maps from devices */
}

uint64_t lang_host_due(const struct lang_host *h)
{
	uint64_t due = 0;

	for (const struct lang_block *b = h->l->blocks; b; b = b->next)
		for (const struct lang_probe *p = b->probes; p; p = p->next)
			if (p->when == LANG_INTERVAL && (!due || p->due_ns < due))
				due = p->due_ns;
	return due;
}

void lang_host_end(struct lang_host *h)
{
	run_records(h);
	lang_rows_invalidate(h);
	run_all(h, LANG_END);
}

void lang_host_print_maps(struct lang_host *h, FILE *out)
{
	if (h->l->settings.keeps_maps)
		return;
	lang_rows_invalidate(h);
	for (const struct lang_map *m = h->l->maps; m; m = m->next)
		lang_show_map(h, m, 0, 1, out);
}

void lang_host_finish(struct lang_host *h)
{
	for (uint32_t i = 0; i < LANG_MAPS; i++)
		lang_rows_finish(&h->cleared[i]);
	lang_rows_invalidate(h);
	lang_frames_free(h);
	for (uint32_t i = 0; i < h->nprocesses; i++)
		free(h->process[i].mappings);
	free(h->process);
	free(h->queue);
	h->queue = NULL;
}
