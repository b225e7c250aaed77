/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the formats of bpf_trace_printk(), and the reader of the print buffer with unfinished records. */
#include <errno.h>
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "tests/tap.h"

struct printer {
	struct fixture f;
	struct gpubpf_map_view view;
	struct gpubpf_print print;
	int decoded;
};

static int decode(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct printer *p = arg;

	p->decoded = gpubpf_print_decode(p->f.arena, &p->f.unit, &p->f.layout, data, size, &p->print);
	return 0;
}

static void format(struct printer *p, const char *fmt, u64 a, u64 b, u64 c, const char *wanted)
{
	char copy[300] = "";

	snprintf(copy, sizeof(copy), "%s", fmt);
	p->decoded = 1;
	gpubpf_helper_trace_printk(&p->f.env, GPUBPF_LAYOUT_PASS(p->view.layout), 0, (u8 *)copy, strlen(fmt) + 1, a, b, c);
	gpubpf_ring_read(&p->view, decode, p);
	if (!ok(p->decoded == 0 && !strcmp(p->print.text, wanted), "%.40s", wanted))
		note("%s gave %s", fmt, p->print.text);
}

static void test_formats(void)
{
	struct gpubpf_host_thread at = { .grid_dim = { 9, 8, 7 }, .block_dim = { 4, 4, 4 }, .block_idx = { 6, 5, 4 },
					 .thread_idx = { 3, 2, 1 }, .dims = 3 };
	static const char text[] = "word\001\033[2J";
	struct printer p = { 0 };
	uint64_t address;
	uint32_t key = 0;

	fixture_begin(&p.f);
	fixture_map(&p.f, BPF_MAP_TYPE_ARRAY, 4, sizeof(text), 1, 0);
	p.f.maps[0].rdonly = true;
	p.f.maps[0].init = text;
	p.f.opts.print_bytes = 4096;
	if (!ok(fixture_ready(&p.f) == 0 && gpubpf_print_view(p.f.arena, &p.f.layout, &p.view), "prints: layout"))
		return;
	address = gpubpf_host_lookup(&p.f.env, &p.f.view[0], &key);
	gpubpf_host_thread_set(&at);
	p.f.env.launch = 42;
	p.f.env.kernel_id = 17;
	format(&p, "plain\n", 0, 0, 0, "plain");
	format(&p, "%d %u %x", (u64)-5, (u64)-5, 255, "-5 4294967291 ff");
	format(&p, "%lld %llu %lx", (u64)-5, (u64)-5, 1ull << 40, "-5 18446744073709551611 10000000000");
	format(&p, "[%08x] [%-5d] [%5d]", 0xabc, 7, 7, "[00000abc] [7    ] [    7]");
	format(&p, "%c%c %%", 'o', 'k', 0, "ok %");
	format(&p, "%p", 0x1234, 0, 0, "0x1234");
	format(&p, "%f of %.2f, %g", 0x3fc00000, 0x3fc00000, 0x3fc00000, "1.500000 of 1.50, 1.5");
	format(&p, "%.3f %6.1f|%e", 0xc010000000000000, 0x4059000000000000, 0x4059000000000000, "-4.000  100.0|1.000000e+02");
	format(&p, "%f %f %.300f", 0, 0x7f800000, 1, "0.000000 inf %.300f");
	format(&p, "%s and %pks", address, address, 0, "word..[2J and word..[2J");
	format(&p, "%s", 0x1010, 0, 0, "(not in a map)");
	format(&p, "%s", 0, 0, 0, "(null)");
	format(&p, "%d %d %d %d", 1, 2, 3, "1 2 3 %d");
	format(&p, "%q %5", 1, 2, 3, "%q %5");
	format(&p, "%2147483647d %9999u", 1, 2, 3, "%2147483647d %9999u");
	ok(p.print.launch == 42 && p.print.kernel == 17 && p.print.block[0] == 6 && p.print.block[2] == 4 &&
	   p.print.thread[0] == 3 && p.print.thread[2] == 1, "prints: who printed");
	gpubpf_host_thread_set(NULL);
	fixture_end(&p.f);
}

struct got {
	uint64_t values[16];
	uint32_t n;
};

static int collect(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct got *got = arg;

	if (got->n < 16)
		memcpy(&got->values[got->n++], data, 8);
	return 0;
}

/* Two writers were killed: one before it wrote its header, and one before it submitted the record. */
static void test_unfinished(void)
{
	struct fixture f;
	struct got got = { 0 };
	uint64_t value;
	const struct gpubpf_map_layout *l;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0);
	if (!ok(fixture_ready(&f) == 0, "unfinished: layout"))
		return;
	l = f.view[0].layout;
	for (value = 1; value <= 5; value++) {
		if (value == 2)
			gpubpf_rmw_add_u64(f.env.arena + GPUBPF_RING_COPY(l->ctl, 0), 24);
		else if (value == 4)
			gpubpf_ring_reserve(&f.env, GPUBPF_LAYOUT_PASS(l), 8);
		else
			gpubpf_ring_output(&f.env, GPUBPF_LAYOUT_PASS(l), (u8 *)&value, 8);
	}
	ok(gpubpf_ring_read(&f.view[0], collect, &got) == 1 && got.values[0] == 1, "unfinished: the reader waits");
	ok(gpubpf_ring_drain(&f.view[0], collect, &got) == 2 && got.values[1] == 3 && got.values[2] == 5,
	   "unfinished: the last read steps over them");
	ok(gpubpf_map_drops(&f.view[0]) == 2, "unfinished: and counts them");
	ok(gpubpf_ring_query(&f.env, GPUBPF_LAYOUT_PASS(l), 0) == 0 && gpubpf_ring_query(&f.env, GPUBPF_LAYOUT_PASS(l), 1) == 4096,
	   "query: nothing left of 4096 bytes");
	gpubpf_store_u64(f.env.arena + GPUBPF_RING_COPY(l->ctl, 0), 1ull << 50);
	ok(gpubpf_ring_read(&f.view[0], collect, &got) == -EBADMSG && gpubpf_map_drops(&f.view[0]) == 3 &&
	   gpubpf_ring_read(&f.view[0], collect, &got) == 0, "nonsense: said, reset and counted");
	fixture_end(&f);
}

int main(void)
{
	test_formats();
	test_unfinished();
	return done();
}
