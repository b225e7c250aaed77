/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns records of calls and rows of launches into spans. Applications can forge records, so each value is checked, and
 * the number of tracks is limited.
 *
 * A call of the runtime is a span of its thread. A launch also begins a flow, which ends at its kernel. A kernel is a span
 * of its queue. Its time comes from the runtime (host/kernel_exit), or from a row of the map of launches. A row has no
 * queue, so the tool remembers the queues of the last launches.
 */
#include "collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/processes/processes.h"
#include "core/model/places.h"
#include "core/session/base/status.h"
#include "gpubpf/gpubpf.h"
#include "gpubpf/launch.h"
#include "probes/records.h"
#include "stacks.h"
#include "table.h"

#define MAX_TRACKS 16384
#define MAX_KERNELS 65536
#define REMEMBERED (1u << 16) /* launches whose queue is known */
#define WAIT_NS 2000000000ull /* after this time, no earlier span is expected */
#define AHEAD_NS 1000000000ull /* clocks may differ by this time */

/* The queue of a launch, for its row. */
struct launched {
	uint64_t number;
	uint32_t queue;
};

struct collect {
	struct timeline *t;
	struct timeline_names *names;
	struct table processes, threads, queues, nqueues;
	uint32_t ntracks;
	uint32_t losses, losses_counter; /* tracks */
	uint64_t began;                  /* time of collect_create() */
	struct launched launched[REMEMBERED];
	uint32_t *waiting; /* [nwaiting] rows that are not complete */
	uint32_t nwaiting, next_row;
	uint64_t skipped;                  /* rows that were replaced before the tool read them */
	uint32_t kernel_name[MAX_KERNELS]; /* 1 + the number of the name; 0: not known */
	uint32_t direction[GPUBPF_COPY_FILL + 1], clock[2];
	struct collect_stacks *stacks;
	struct collect_counts counts;
	uint64_t limit_ns; /* UINT64_MAX: none */
	char long_span[320];
};

static const char *const directions[] = { "unknown", "host to device", "device to host", "device to device", "fill" };
static const char *const clocks[] = { "programs in the kernel", "runtime" };

struct collect *collect_create(struct timeline *t, struct timeline_names *names)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (c)
		c->waiting = malloc(TIMELINE_ROWS * sizeof(*c->waiting));
	if (c)
		c->stacks = collect_stacks_create(t, names);
	if (!c || !c->waiting || !c->stacks) {
		collect_destroy(c);
		return NULL;
	}
	c->t = t;
	c->names = names;
	c->began = gpubpf_now_ns();
	c->limit_ns = UINT64_MAX;
	c->losses = c->losses_counter = TIMELINE_NO_TRACK;
	for (uint32_t i = 0; i <= GPUBPF_COPY_FILL; i++)
		c->direction[i] = timeline_name(names, directions[i]);
	for (uint32_t i = 0; i < 2; i++)
		c->clock[i] = timeline_name(names, clocks[i]);
	return c;
}

void collect_destroy(struct collect *c)
{
	if (!c)
		return;
	table_finish(&c->processes);
	table_finish(&c->threads);
	table_finish(&c->queues);
	table_finish(&c->nqueues);
	collect_stacks_destroy(c->stacks);
	free(c->waiting);
	free(c);
}

void collect_set_limit(struct collect *c, uint64_t ns)
{
	c->limit_ns = ns;
}

const char *collect_long_span(struct collect *c)
{
	static char text[sizeof(c->long_span)];

	memcpy(text, c->long_span, sizeof(text));
	c->long_span[0] = 0;
	return text[0] ? text : NULL;
}

/* Add a span to the timeline, and note if it is the first that is too long. */
static void add_span(struct collect *c, const struct timeline_span *span)
{
	if (span->end - span->begin > c->limit_ns && !c->long_span[0])
		snprintf(c->long_span, sizeof(c->long_span), "%.200s lasted %.3f ms",
			 timeline_name_text(c->names, span->name), (double)(span->end - span->begin) / 1e6);
	timeline_add(c->t, span);
}

/* -- tracks -- */

/* Returns TIMELINE_NO_TRACK if there are too many tracks. */
static uint32_t add_track(struct collect *c, struct timeline_track *track)
{
	if (c->ntracks == MAX_TRACKS)
		return TIMELINE_NO_TRACK;
	c->ntracks++;
	track->uuid = table_hash(table_hash(track->kind, track->pid), table_hash(track->tid, c->ntracks)) | 1;
	return timeline_add_track(c->t, track);
}

static uint32_t process_track(struct collect *c, uint32_t pid)
{
	struct timeline_track track = { .kind = TIMELINE_PROCESS, .parent = TIMELINE_NO_TRACK, .pid = pid };
	char name[64];
	uint32_t i;

	if (table_get(&c->processes, pid, 0, &i))
		return i;
	cli_process_name((pid_t)pid, name, sizeof(name));
	track.name = timeline_name(c->names, name);
	i = add_track(c, &track);
	table_set(&c->processes, pid, 0, i);
	c->counts.processes++;
	return i;
}

static void read_thread_name(uint32_t pid, uint32_t tid, char *name, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (!f || !fgets(name, (int)size, f))
		snprintf(name, size, "thread %u", tid);
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = 0;
}

static uint32_t thread_track(struct collect *c, uint32_t pid, uint32_t tid)
{
	struct timeline_track track = { .kind = TIMELINE_THREAD, .pid = pid, .tid = tid };
	char name[64];
	uint32_t i;

	if (table_get(&c->threads, pid, tid, &i))
		return i;
	track.parent = process_track(c, pid);
	if (track.parent == TIMELINE_NO_TRACK)
		return TIMELINE_NO_TRACK;
	read_thread_name(pid, tid, name, sizeof(name));
	track.name = timeline_name(c->names, name);
	i = add_track(c, &track);
	table_set(&c->threads, pid, tid, i);
	c->counts.threads++;
	return i;
}

static uint32_t queue_track(struct collect *c, uint32_t pid, uint64_t stream)
{
	struct timeline_track track = { .kind = TIMELINE_QUEUE };
	uint32_t i, n = 0;
	char name[64];

	if (table_get(&c->queues, pid, stream, &i))
		return i;
	track.parent = process_track(c, pid);
	if (track.parent == TIMELINE_NO_TRACK)
		return TIMELINE_NO_TRACK;
	table_get(&c->nqueues, pid, 0, &n);
	table_set(&c->nqueues, pid, 0, n + 1);
	if (stream)
		snprintf(name, sizeof(name), "queue %u (0x%llx)", n + 1, (unsigned long long)stream);
	else
		snprintf(name, sizeof(name), "default queue");
	track.name = timeline_name(c->names, name);
	i = add_track(c, &track);
	table_set(&c->queues, pid, stream, i);
	c->counts.queues++;
	return i;
}

/* -- names -- */

static uint32_t session_name(struct collect *c, struct gpubpf_session *s, uint64_t id)
{
	const char *name;

	if (id >= MAX_KERNELS)
		return 0;
	if (!c->kernel_name[id]) {
		name = gpubpf_session__kernel_name(s, id);
		if (!name)
			return 0;
		c->kernel_name[id] = 1 + timeline_name(c->names, name);
	}
	return c->kernel_name[id] - 1;
}

static uint32_t call_name(struct collect *c, struct gpubpf_session *s, const struct timeline_call *r)
{
	uint32_t name = session_name(c, s, r->function);

	return name ? name : timeline_name(c->names, gpubpf_host_event_kind(r->event)->name);
}

static uint32_t kernel_name(struct collect *c, struct gpubpf_session *s, uint64_t id)
{
	uint32_t name = session_name(c, s, id);

	return name ? name : timeline_name(c->names, "unknown kernel");
}

/* -- spans -- */

static uint64_t flow_number(uint64_t pid, uint64_t kernel, uint64_t launch)
{
	return table_hash(pid << 32 | (uint32_t)kernel, launch) | 1;
}

static struct timeline_span make_span(uint32_t track, enum timeline_kind kind, uint32_t name, uint64_t begin, uint64_t ns)
{
	return (struct timeline_span){
		.begin = begin,
		.end = begin + ns,
		.track = track,
		.name = name,
		.kind = kind,
		.arg = { TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT },
	};
}

static void remember_launch(struct collect *c, uint64_t flow, uint32_t queue)
{
	c->launched[flow % REMEMBERED] = (struct launched){ flow, queue };
}

static void add_launch(struct collect *c, struct gpubpf_session *s, const struct timeline_call *r, uint32_t thread)
{
	struct timeline_span span = make_span(thread, TIMELINE_LAUNCH, call_name(c, s, r), r->start, r->duration);

	span.arg[0] = r->result;
	span.arg[1] = kernel_name(c, s, r->kernel);
	span.arg[2] = r->launch;
	span.arg[3] = r->stream;
	if (!r->result) {
		span.flow = flow_number(r->pid, r->kernel, r->launch);
		span.flow_is = TIMELINE_FLOW_BEGINS;
		remember_launch(c, span.flow, queue_track(c, r->pid, r->stream));
	}
	span.stack = collect_stack(c->stacks, s, r->stack);
	add_span(c, &span);
}

/*
 * A blocking copy ends before its call ends. So its span on the queue has the time of the device, and ends with the call.
 */
static void add_copy(struct collect *c, const struct timeline_call *r)
{
	uint32_t queue = queue_track(c, r->pid, r->stream), direction = r->direction;
	struct timeline_span span;

	if (queue == TIMELINE_NO_TRACK || r->device_ns > r->duration)
		return;
	span = make_span(queue, TIMELINE_COPY, c->direction[direction], r->start + r->duration - r->device_ns,
			 r->device_ns);
	span.arg[0] = r->bytes;
	span.arg[1] = c->direction[direction];
	span.arg[2] = c->clock[1];
	add_span(c, &span);
}

static void add_call(struct collect *c, struct gpubpf_session *s, const struct timeline_call *r, uint32_t thread)
{
	bool is_copy = r->event == GPUBPF_HOST_COPY;
	struct timeline_span span = make_span(thread, is_copy ? TIMELINE_COPY_CALL : TIMELINE_CALL, call_name(c, s, r),
					      r->start, r->duration);

	span.arg[0] = r->result;
	if (r->bytes)
		span.arg[1] = r->bytes;
	if (r->stream)
		span.arg[2] = r->stream;
	if (is_copy)
		span.arg[3] = c->direction[r->direction];
	add_span(c, &span);
	if (is_copy && r->device_ns)
		add_copy(c, r);
}

static void add_kernel(struct collect *c, struct timeline_span *span, uint32_t pid, uint64_t kernel)
{
	span->flow = flow_number(pid, kernel, span->arg[0]);
	span->flow_is = TIMELINE_FLOW_ENDS;
	add_span(c, span);
	c->counts.kernels++;
}

static void add_measured(struct collect *c, struct gpubpf_session *s, const struct timeline_call *r)
{
	uint32_t queue = queue_track(c, r->pid, r->stream);
	struct timeline_span span;

	if (queue == TIMELINE_NO_TRACK)
		return;
	span = make_span(queue, TIMELINE_KERNEL, kernel_name(c, s, r->kernel), r->start, r->duration);
	span.arg[0] = r->launch;
	if (r->blocks)
		span.arg[1] = r->blocks;
	span.arg[3] = c->clock[1];
	add_kernel(c, &span, r->pid, r->kernel);
}

static bool is_valid(const struct collect *c, const struct timeline_call *r)
{
	uint64_t now = gpubpf_now_ns() + AHEAD_NS;

	return r->event && r->event <= TIMELINE_HOST_KERNEL && r->direction <= GPUBPF_COPY_FILL && r->pid && r->tid &&
	       r->start + AHEAD_NS >= c->began && r->start <= now && r->duration <= now - r->start;
}

static void take_call(struct collect *c, struct gpubpf_session *s, const struct timeline_call *r)
{
	uint32_t thread;

	if (!is_valid(c, r)) {
		c->counts.invalid++;
		return;
	}
	if (r->event == TIMELINE_HOST_KERNEL) {
		add_measured(c, s, r);
		return;
	}
	thread = thread_track(c, r->pid, r->tid);
	if (thread == TIMELINE_NO_TRACK)
		c->counts.lost++;
	else if (r->event == GPUBPF_HOST_LAUNCH)
		add_launch(c, s, r, thread);
	else
		add_call(c, s, r, thread);
}

void collect_event(struct collect *c, struct gpubpf_session *s, const struct gpubpf_event *event)
{
	struct timeline_call call;

	if (strcmp(gpubpf_map__name(event->map), "timeline_calls"))
		return;
	if (event->size < sizeof(call)) {
		c->counts.invalid++;
		return;
	}
	memcpy(&call, event->data, sizeof(call));
	take_call(c, s, &call);
}

/* -- rows of launches -- */

static void add_row(struct collect *c, struct gpubpf_session *s, const struct gpubpf_launch_row *row)
{
	uint64_t flow = flow_number(row->pid, row->kernel, row->launch), now = gpubpf_now_ns() + AHEAD_NS;
	const struct launched *l = &c->launched[flow % REMEMBERED];
	uint32_t queue;
	struct timeline_span span;

	if (row->begin + AHEAD_NS < c->began || row->begin > now || row->time > now - row->begin || !row->pid) {
		c->counts.invalid++;
		return;
	}
	queue = l->number == flow ? l->queue : queue_track(c, (uint32_t)row->pid, 0);
	if (queue == TIMELINE_NO_TRACK)
		return;
	span = make_span(queue, TIMELINE_KERNEL, kernel_name(c, s, row->kernel), row->begin, row->time);
	span.arg[0] = row->launch;
	span.arg[1] = row->blocks;
	if (row->sms)
		span.arg[2] = row->sms;
	span.arg[3] = c->clock[0];
	add_kernel(c, &span, (uint32_t)row->pid, row->kernel);
}

/* Returns false if the row does not exist, or is not complete. */
static bool take_row(struct collect *c, struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t i)
{
	struct gpubpf_launch_row row;

	if (gpubpf_map__lookup_elem(map, &i, sizeof(i), &row, sizeof(row), 0) < 0 || !row.time)
		return false;
	add_row(c, s, &row);
	return true;
}

static bool has_row(const struct gpubpf_map *map, uint32_t i)
{
	struct gpubpf_launch_row row;

	return !gpubpf_map__lookup_elem(map, &i, sizeof(i), &row, sizeof(row), 0);
}

/* Skip rows that later rows have replaced. Returns false if there are none. */
static bool skip_rows(struct collect *c, const struct gpubpf_map *map)
{
	uint32_t first;

	if (gpubpf_map__get_next_key(map, NULL, &first, sizeof(first)) < 0 || first <= c->next_row)
		return false;
	c->skipped += first - c->next_row;
	c->next_row = first;
	return true;
}

static void read_rows(struct collect *c, struct gpubpf_session *s)
{
	const struct gpubpf_map *map = gpubpf_session__find_map_by_name(s, "timeline_rows");
	uint32_t n = 0;

	if (!map)
		return;
	for (uint32_t k = 0; k < c->nwaiting; k++)
		if (!take_row(c, s, map, c->waiting[k]))
			c->waiting[n++] = c->waiting[k];
	c->nwaiting = n;
	do {
		for (; has_row(map, c->next_row); c->next_row++)
			if (!take_row(c, s, map, c->next_row) && c->nwaiting < TIMELINE_ROWS)
				c->waiting[c->nwaiting++] = c->next_row;
	} while (skip_rows(c, map));
	c->counts.incomplete = c->nwaiting;
}

/* -- losses -- */

static bool make_loss_tracks(struct collect *c)
{
	struct timeline_track track = { .kind = TIMELINE_NESTED, .parent = TIMELINE_NO_TRACK };

	if (c->losses != TIMELINE_NO_TRACK)
		return c->losses_counter != TIMELINE_NO_TRACK;
	track.name = timeline_name(c->names, "losses of the recording");
	c->losses = add_track(c, &track);
	track.kind = TIMELINE_COUNTER;
	track.parent = c->losses;
	track.name = timeline_name(c->names, "lost records");
	c->losses_counter = c->losses == TIMELINE_NO_TRACK ? TIMELINE_NO_TRACK : add_track(c, &track);
	return c->losses_counter != TIMELINE_NO_TRACK;
}

/* Draw an increase of the losses. */
static void add_losses(struct collect *c, uint64_t lost)
{
	struct timeline_span span;

	if (!make_loss_tracks(c))
		return;
	span = make_span(c->losses, TIMELINE_LOSS, timeline_name(c->names, "records were lost"), gpubpf_now_ns(), 0);
	span.arg[0] = lost - c->counts.lost;
	timeline_add_instant(c->t, &span);
	timeline_add_counter(c->t, c->losses_counter, span.begin, (double)lost);
}

static void read_losses(struct collect *c, struct gpubpf_session *s)
{
	const struct gpubpf_map *map = NULL;
	uint64_t lost = c->skipped;

	while ((map = gpubpf_session__next_map(s, map)))
		if (!strncmp(gpubpf_map__name(map), "timeline_", strlen("timeline_")))
			lost += gpubpf_map__drops(map);
	if (lost > c->counts.lost)
		add_losses(c, lost);
	c->counts.lost = lost > c->counts.lost ? lost : c->counts.lost;
}

void collect_tick(struct collect *c, struct gpubpf_session *s)
{
	uint64_t now = gpubpf_now_ns();

	read_rows(c, s);
	read_losses(c, s);
	if (now > c->began + WAIT_NS)
		timeline_flush(c->t, now - WAIT_NS);
}

void collect_finish(struct collect *c, struct gpubpf_session *s)
{
	read_rows(c, s);
	read_losses(c, s);
	timeline_finish(c->t);
}

const struct collect_counts *collect_counted(const struct collect *c)
{
	return &c->counts;
}
