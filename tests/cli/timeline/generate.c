/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate FILE SPANS SEED [late|chrome|ring|SVG]: writes a trace of at least SPANS spans through cli/timeline. Threads make nested calls and launch
 * kernels into queues; the spans arrive in random order. With `late`, some arrive after the spans around them were
 * written. With `ring`, the file gets the newest MiB. Prints the counts, and the peak of this process's memory in KiB.
 */
#include "cli/timeline/draw.h"
#include "cli/timeline/ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS 8
#define QUEUES 3
#define SHUFFLED 64 /* spans that change their order */

static uint64_t state;
static struct timeline *t;
static struct timeline_names *names;
static struct timeline_span held[SHUFFLED];
static uint32_t nheld;
static uint64_t added;

static uint32_t draw_number(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

/* Add the span, or one of the spans before it, so that the order is random. */
static void add_shuffled(const struct timeline_span *span)
{
	uint32_t i = draw_number(SHUFFLED);

	added++;
	if (nheld < SHUFFLED) {
		held[nheld++] = *span;
		return;
	}
	timeline_add(t, &held[i]);
	held[i] = *span;
}

static struct timeline_span make_span(uint32_t track, enum timeline_kind kind, uint32_t name, uint64_t begin, uint64_t end)
{
	return (struct timeline_span){
		.begin = begin,
		.end = end,
		.track = track,
		.name = name,
		.kind = kind,
		.arg = { TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT },
	};
}

static uint32_t add_track(enum timeline_track_kind kind, uint32_t parent, const char *name, uint32_t pid, uint32_t tid)
{
	static uint64_t uuid = 1000;

	return timeline_add_track(t, &(struct timeline_track){ .uuid = uuid++,
							       .kind = kind,
							       .parent = parent,
							       .pid = pid,
							       .name = timeline_name(names, name),
							       .tid = tid });
}

struct program {
	uint32_t process, thread[THREADS], queue[QUEUES], counter, call, kernel, sync, launch;
	uint64_t thread_ns[THREADS], queue_ns[QUEUES], number;
};

/* A call that waits, and inside it a launch of a kernel. The kernel runs after all earlier kernels of its queue. */
static void launch(struct program *p, uint32_t i)
{
	uint64_t begin = p->thread_ns[i] + draw_number(50), length = 10 + draw_number(1000);
	uint32_t q = draw_number(QUEUES);
	uint64_t *queue = &p->queue_ns[q];
	struct timeline_span outer = make_span(p->thread[i], TIMELINE_CALL, p->sync, begin, begin + length);
	struct timeline_span inner = make_span(p->thread[i], TIMELINE_LAUNCH, p->launch, begin, begin + length / 2);
	struct timeline_span kernel;

	*queue = *queue > begin + 5 ? *queue : begin + 5;
	kernel = make_span(p->queue[q], TIMELINE_KERNEL, p->kernel, *queue, *queue + 1 + draw_number(200));
	*queue = kernel.end;
	inner.flow = kernel.flow = ++p->number * 0x9e3779b97f4a7c15ull;
	inner.flow_is = TIMELINE_FLOW_BEGINS;
	kernel.flow_is = TIMELINE_FLOW_ENDS;
	inner.arg[0] = 0;
	inner.arg[1] = p->kernel;
	kernel.arg[0] = p->number;
	p->thread_ns[i] = outer.end;
	add_shuffled(&kernel);
	add_shuffled(&inner);
	add_shuffled(&outer);
	if (!draw_number(16))
		timeline_add_counter(t, p->counter, begin, draw_number(100) / 4.0);
}

static void generate(uint64_t spans, bool late)
{
	struct program p = { .process = add_track(TIMELINE_PROCESS, TIMELINE_NO_TRACK, "app", 100, 0) };
	uint64_t start = 1000000000, now = start;

	for (uint32_t i = 0; i < THREADS; i++) {
		p.thread[i] = add_track(TIMELINE_THREAD, p.process, "worker", 100, 101 + i);
		p.thread_ns[i] = start;
	}
	for (uint32_t i = 0; i < QUEUES; i++)
		p.queue[i] = add_track(TIMELINE_QUEUE, p.process, "queue", 0, 0);
	p.counter = add_track(TIMELINE_COUNTER, p.process, "fill", 0, 0);
	p.sync = timeline_name(names, "clFinish");
	p.launch = timeline_name(names, "clEnqueueNDRangeKernel");
	p.kernel = timeline_name(names, "step_one");
	while (added < spans) {
		uint32_t i = 0;

		for (uint32_t k = 1; k < THREADS; k++)
			i = p.thread_ns[k] < p.thread_ns[i] ? k : i;
		now = p.thread_ns[i];
		launch(&p, i);
		if (!draw_number(100))
			timeline_flush(t, late ? now : now > start + 200000 ? now - 200000 : 0);
	}
	for (uint32_t i = 0; i < nheld; i++)
		timeline_add(t, &held[i]);
	timeline_finish(t);
}

int main(int argc, char **argv)
{
	static struct timeline_sink sink;
	struct timeline_output out = { .format = &timeline_perfetto, .sink = &sink };
	const struct timeline_counts *c;
	struct drawing *drawing = NULL;
	struct rusage usage;

	if (argc < 4)
		return 2;
	if (argc > 4 && !strcmp(argv[4], "chrome"))
		out.format = &timeline_chrome;
	if (argc > 4 && !strcmp(argv[4], "ring") && !(sink.ring = ring_create(1 << 20)))
		return 1;
	state = strtoull(argv[3], NULL, 0) * 2 + 1;
	sink.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	names = out.names = timeline_names_create();
	if (sink.fd < 0 || !names || out.format->open(&out) < 0 || !(t = timeline_create(&out)))
		return 1;
	if (argc > 4 && strstr(argv[4], ".svg"))
		drawing = drawing_create(&out);
	generate(strtoull(argv[2], NULL, 0), argc > 4 && !strcmp(argv[4], "late"));
	if (drawing && drawing_write(drawing, argv[4]) < 0)
		return 1;
	drawing_destroy(drawing);
	out.format->close(&out);
	timeline_sink_flush(&sink);
	if (sink.ring)
		sink.bytes = (uint64_t)ring_write(sink.ring, sink.fd);
	ring_destroy(sink.ring);
	c = timeline_counted(t);
	getrusage(RUSAGE_SELF, &usage);
	printf("spans %llu flows %llu late %llu unended %llu bytes %llu error %d kib %ld\n",
	       (unsigned long long)c->spans, (unsigned long long)c->flows, (unsigned long long)c->late,
	       (unsigned long long)c->unended, (unsigned long long)sink.bytes, sink.error, usage.ru_maxrss);
	timeline_destroy(t);
	timeline_names_destroy(names);
	return sink.error != 0;
}
