/* SPDX-License-Identifier: Apache-2.0 */
/* Tests ring buffers and prints on a device: each record must arrive once and intact. */
#ifndef GPUBPF_TESTS_MAPS_RECORDS_H
#define GPUBPF_TESTS_MAPS_RECORDS_H

#include <pthread.h>

#include "opencl.h"

/* State of a ring buffer's reader: each work-item's record must arrive once and intact. */
struct reading {
	uint8_t *seen;
	uint64_t records, twice, wrong;
	uint32_t size;
	volatile bool stop;
	struct gpubpf_map_view *view;
};

static int see_event(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct { uint64_t item; uint32_t check, pad; uint64_t launch; } event = { 0 };
	struct reading *r = arg;

	memcpy(&event, data, size < sizeof(event) ? size : sizeof(event));
	if (event.item >= items || (r->size ? size != r->size || event.check != ~(uint32_t)event.item :
				    size != 8 + 8 * (event.item % 4) || event.item % 3 == 0)) {
		r->wrong++;
		return 0;
	}
	r->twice += r->seen[event.item]++;
	r->records++;
	return 0;
}

static void *read_along(void *arg)
{
	struct reading *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		if (gpubpf_ring_read(r->view, see_event, r) < 0)
			r->wrong++;
		usleep(100);
	}
	return NULL;
}

static void test_ring(struct gpu *gpu, uint32_t type, uint32_t entries, uint32_t value_size, bool live,
		      const char *kernel, uint32_t size, const char *name)
{
	struct reading r = { .seen = calloc(items, 1), .size = size };
	uint64_t out[4], discarded = size ? 0 : (items + 2) / 3, drops;
	pthread_t thread;
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, type, 0, value_size, entries, GPUBPF_USE_OUTPUT);
	f.opts.replicas = 4;
	r.view = &f.view[0];
	if (!ok(fixture_ready(&f) == 0, "%s: layout", name))
		return;
	if (live)
		pthread_create(&thread, NULL, read_along, &r);
	launch(gpu, &f, kernel, size, out);
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	if (live)
		pthread_join(thread, NULL);
	ok(gpubpf_ring_read(&f.view[0], see_event, &r) >= 0, "%s: the ring is sound", name);
	drops = gpubpf_map_drops(&f.view[0]);
	ok(r.twice == 0 && r.wrong == 0, "%s: %llu twice, %llu wrong", name, (unsigned long long)r.twice,
	   (unsigned long long)r.wrong);
	ok(drops == out[0] && (size ? r.records + drops == items : r.records + drops + discarded >= items),
	   "%s: %llu read, %llu dropped, %llu refused", name, (unsigned long long)r.records, (unsigned long long)drops,
	   (unsigned long long)out[0]);
	if (entries >= 1u << 22)
		ok(drops == 0 && r.records + discarded == items, "%s: it fitted, nothing is lost", name);
	free(r.seen);
	fixture_end(&f);
}

struct prints {
	struct fixture *f;
	uint32_t formats, strings, bad;
};

static int see_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct prints *p = arg;
	struct gpubpf_print print;
	char wanted[64];
	uint64_t item;

	if (gpubpf_print_decode(p->f->arena, &p->f->unit, &p->f->layout, data, size, &print) < 0) {
		p->bad++;
		return 0;
	}
	item = print.block[0] * GROUP + print.thread[0];
	snprintf(wanted, sizeof(wanted), "item %d of 123456789ab", (int)item);
	if (!strcmp(print.text, wanted) && print.launch == 7 && print.kernel == 3)
		p->formats++;
	else if (!strcmp(print.text, "hello"))
		p->strings++;
	else
		p->bad++;
	return 0;
}

static void test_print(struct gpu *gpu)
{
	struct gpubpf_map_view view;
	struct prints prints = { 0 };
	struct fixture f;
	uint64_t out[4];

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	f.opts.print_bytes = 1 << 16;
	prints.f = &f;
	if (!ok(fixture_ready(&f) == 0 && gpubpf_print_view(f.arena, &f.layout, &view) &&
		launch(gpu, &f, "print", (uint32_t)items / 32, out), "prints: launch"))
		return;
	gpubpf_ring_read(&view, see_print, &prints);
	ok(prints.formats == 32 && prints.strings == 32 && prints.bad == 0, "prints: %u formatted, %u strings, %u bad",
	   prints.formats, prints.strings, prints.bad);
	fixture_end(&f);
}

#endif
