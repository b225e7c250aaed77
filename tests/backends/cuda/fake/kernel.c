/* SPDX-License-Identifier: Apache-2.0 */
/* Executes kernels: performs the commands in the comments of their text. */
#include "fake.h"

#include <ctype.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maps/host/host.h"
#include "tests/hooks/fake_tool.h"

static uint64_t word(CUmodule m, const char *name)
{
	uint64_t at = fake_variable(m, name);

	return at ? *(uint64_t *)at : 0;
}

/*
 * Returns the address of the module's variable. If the module is a twin that binds the variable, returns the address
 * that the agent wrote into the twin.
 */
static uint64_t variable(CUmodule m, const char *name)
{
	uint64_t own = fake_variable(m, name);
	const char *at = m->image.text;
	char line[128], bind[40];

	for (unsigned i = 0; !own && !strncmp(at, "//gpubpf-bind ", 14); i++, at += strcspn(at, "\n") + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 14, "\n"), at + 14);
		snprintf(bind, sizeof(bind), "gpubpf_bind_%u", i);
		if (!strcmp(line, name))
			own = word(m, bind);
	}
	return own;
}

static void add32(uint64_t at, uint64_t n)
{
	if (at)
		__atomic_fetch_add((uint32_t *)at, n, __ATOMIC_RELAXED);
}

static void add_count(CUmodule m, int index, uint64_t threads, bool flat)
{
	uint64_t arena = word(m, "gpubpf_arena");
	struct fake_count *count = (void *)(arena + FAKE_COUNTS + index * sizeof(*count));

	if (!arena)
		abort();
	__atomic_fetch_add(&count->entries, threads, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->exits, flat ? 0 : threads, __ATOMIC_RELAXED);
	count->last_launch = word(m, "gpubpf_launch");
	if (!(word(m, "gpubpf_pid") >> 32))
		abort();
}

/*
 * Emits the events of the program in bench/probes.bpf.c: 16 bytes per thread. Consecutive blocks run on consecutive
 * multiprocessors.
 */
static void emit_events(uint64_t arena, const struct gpubpf_map_layout *l, uint64_t threads)
{
	struct gpubpf_host_thread at = { .dims = 1 };
	struct gpubpf_env env = { .arena = arena };

	gpubpf_host_thread_set(&at);
	for (uint64_t i = 0; i < threads; i++) {
		uint64_t event[] = { i, i / 64 };

		at.sm = event[1] % FAKE_SMS;
		gpubpf_ring_output(&env, GPUBPF_LAYOUT_PASS(l), (const uint8_t *)event, sizeof(event));
	}
	gpubpf_host_thread_set(NULL);
}

/* Does the text hold this number as a separate word? */
static bool has_number(const char *text, const char *end, uint64_t number)
{
	char digits[24];
	size_t n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);

	for (const char *at = text; (at = memmem(at, end - at, digits, n)); at += n)
		if (!isdigit(at[-1]) && !isdigit(at[n]))
			return true;
	return false;
}

/* Returns the address of the map's first value. For a map outside the arena, the layout contains the device address. */
static uint64_t value_at(uint64_t arena, const struct gpubpf_map_layout *l)
{
	return l->flags & GPUBPF_LAYOUT_PLACED ? l->data : arena + l->data;
}

/*
 * Does the work of the programs in bench/probes.bpf.c. If the arena's first map is a ring buffer, emits events.
 * Otherwise adds the number of threads to the first value of the only map. If the arena has several maps, adds to each
 * array whose arena offset appears in the text from `text` to `end`.
 */
static void run_probe(CUmodule m, const char *text, const char *end, uint64_t threads)
{
	uint64_t arena = word(m, "gpubpf_arena");
	const struct gpubpf_map_layout *l = (void *)(arena + GPUBPF_ARENA_MAPS);

	if (arena && l->type == BPF_MAP_TYPE_RINGBUF) {
		emit_events(arena, l, threads);
		return;
	}
	for (uint32_t i = 0; arena && l[i].type; i++)
		if (!l[1].type || (l[i].type == BPF_MAP_TYPE_ARRAY && has_number(text, end, l[i].data)))
			__atomic_fetch_add((uint64_t *)value_at(arena, &l[i]), threads, __ATOMIC_RELAXED);
}

/*
 * Runs the probe of each function in the twin's module as often as the threads call the function. A twin's module
 * defines only the functions that its kernel calls.
 */
static void count_calls(CUmodule m, uint64_t threads)
{
	for (const char *at = m->image.text; (at = strstr(at, "//fake calls ")); at++) {
		const char *from = at, *end = strstr(at, "\n}");

		while (strncmp(from, ".func ", 6))
			from--;
		if (end && memmem(from, end - from, "gpubpf_arena", 12))
			run_probe(m, from, end, threads * atoi(at + 13));
	}
}

/* Executes the agent's kernel that stores the device's clock. */
static void read_clock(uint64_t to)
{
	const char *drift = getenv("FAKE_CUDA_DRIFT");
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	*(uint64_t *)to = now + now / 1000000 * (drift ? atoi(drift) : 0);
}

void fake_run(const struct fake_launch *l)
{
	const char *at, *to;
	char name[64];

	if (!l->f) {
		*(uint64_t *)l->write_at = l->write_value;
		return;
	}
	if (!strcmp(l->f->entry->name, "gpubpf_clock"))
		read_clock(l->target);
	if (!strncmp(l->f->entry->name, "gpubpf_twin_", 12))
		count_calls(l->f->module, l->threads);
	at = l->f->entry->from;
	to = l->f->entry->to;
	while ((at = strstr(at, "//fake ")) && at < to) {
		at += 7;
		if (!strncmp(at, "param", 5))
			add32(l->target, l->threads);
		else if (!strncmp(at, "counter", 7) && !strstr(l->f->module->image.text, "//fake count "))
			run_probe(l->f->module, l->f->entry->from, l->f->entry->to, l->threads);
		else if (!strncmp(at, "forever", 7))
			for (;;)
				pause();
		else if (!strncmp(at, "fault", 5))
			l->f->module->context->broken = FAKE_ILLEGAL_ADDRESS;
		else if (!strncmp(at, "count ", 6))
			add_count(l->f->module, atoi(at + 6), l->threads, false);
		else if (!strncmp(at, "flat ", 5))
			add_count(l->f->module, atoi(at + 5), l->threads, true);
		else if (sscanf(at, "add %63s", name) == 1)
			add32(variable(l->f->module, name), l->threads);
	}
}
