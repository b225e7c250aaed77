/* SPDX-License-Identifier: Apache-2.0 */
/* The report adds up two arenas that the test fills: values of one device must not hide values of the other device. */
#include "core/session/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/session/maps/private.h"
#include "core/session/session.h"
#include "maps/maps.h"
#include "tests/tap.h"

static struct gpubpf_facts facts = { .clock = true };
static struct gpubpf_prog prog = { .facts = &facts };
static struct gpubpf_map map = { .name = "table", .key_size = 4, .value_size = 8, .max_entries = 4 };
static struct gpubpf_loaded loaded = { .unit = { .maps = &map, .nmaps = 1, .progs = &prog, .nprogs = 1 } };

static struct gpubpf_arena_hdr *begin(struct gpubpf_session *s)
{
	struct gpubpf_layout_opts opts = { .replicas = 1, .print_bytes = 4096, .map_use = (uint32_t[]){ 0 } };
	struct gpubpf_session_arena *a = &s->maps->arenas[s->maps->narenas++];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (gpubpf_layout_compute(&loaded.unit, &opts, &a->layout, &diag) < 0 || !(a->base = aligned_alloc(4096, a->layout.size)))
		exit(1);
	memset(a->base, 0, a->layout.size);
	gpubpf_arena_init(a->base, &loaded.unit, &a->layout);
	return a->base;
}

static void count(const struct gpubpf_session_arena *a, uint64_t ctl, uint64_t n)
{
	((struct gpubpf_map_ctl *)((char *)a->base + ctl))->drops = n;
}

int main(void)
{
	static struct gpubpf_session s;
	struct gpubpf_arena_hdr *one, *other;

	map.type = gpubpf_map_type_find(1);
	map.session = &s;
	if (gpubpf_unit_create(&s) < 0 || gpubpf_maps_create(&s) < 0)
		return 1;
	gpubpf_unit_set_loaded(&s, &loaded);
	one = begin(&s);
	other = begin(&s);
	one->thread_drops = 3;
	other->thread_drops = 4;
	ok(gpubpf_report_thread_drops(&s) == 7, "threads without room, of all devices");
	one->clock_error_ns = 20;
	other->clock_error_ns = 10;
	ok(gpubpf_report_clock_error(&s) == 20, "the largest error of a clock");
	facts.clock = false;
	ok(gpubpf_report_clock_error(&s) == 0, "none where no program asks for the time");
	count(&s.maps->arenas[0], s.maps->arenas[0].layout.prints.ctl, 5);
	count(&s.maps->arenas[1], s.maps->arenas[1].layout.prints.ctl, 6);
	ok(gpubpf_report_print_drops(&s) == 11, "prints without room, of all devices");
	count(&s.maps->arenas[1], s.maps->arenas[1].layout.maps->ctl, 8);
	ok(gpubpf_report_drops(&s) == 19, "they are drops, beside those of maps");
	for (uint32_t i = 0; i < s.maps->narenas; i++) {
		gpubpf_layout_finish(&s.maps->arenas[i].layout);
		free(s.maps->arenas[i].base);
	}
	return done();
}
