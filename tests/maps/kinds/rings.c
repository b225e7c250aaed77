/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of a ring buffer accepts positions that writers can reach, and refuses all others. */
#include <errno.h>
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "maps/kinds/ring.h"
#include "tests/tap.h"

#define BYTES 65536

struct at {
	u64 segment, offset;
};

static u64 *prod;
static u64 *cons;
static u64 segment_bytes;

static u64 position(struct at at)
{
	return (at.segment % GPUBPF_RING_WRAP) << GPUBPF_RING_SHIFT | at.offset;
}

static int count(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	return 0;
}

/* Returns the result of the reader if the producer is at these positions. */
static int64_t read_with(struct fixture *f, struct at from, struct at to)
{
	*cons = position(from);
	*prod = position(to);
	return gpubpf_ring_read(&f->view[0], count, NULL);
}

static void accept(struct fixture *f, const char *what, struct at from, struct at to)
{
	int64_t got = read_with(f, from, to);

	ok(!got, "%s is taken: %lld", what, (long long)got);
}

static void refuse(struct fixture *f, const char *what, struct at from, struct at to)
{
	int64_t got = read_with(f, from, to);

	ok(got == -EBADMSG && *cons == (position(to) & ~7ull), "%s is refused: %lld", what, (long long)got);
}

/* Test positions without a written record: an accepted position gives no record. */
static void test_positions(struct fixture *f, u64 first)
{
	const u64 n = GPUBPF_RING_SEGMENTS, full = segment_bytes;

	accept(f, "an empty ring", (struct at){ first, 0 }, (struct at){ first, 0 });
	accept(f, "a record", (struct at){ first, 0 }, (struct at){ first, 16 });
	accept(f, "the last segment but one", (struct at){ first, 8 }, (struct at){ first + n - 2, 8 });
	accept(f, "the last segment", (struct at){ first, 0 }, (struct at){ first + n - 1, 0 });
	accept(f, "the last segment, full", (struct at){ first, 8 }, (struct at){ first + n - 1, full });
	refuse(f, "one segment more", (struct at){ first, 0 }, (struct at){ first + n, 0 });
	refuse(f, "one segment more, from its end", (struct at){ first, full - 8 }, (struct at){ first + n, 0 });
	refuse(f, "two segments more", (struct at){ first, 0 }, (struct at){ first + n + 1, 0 });
	refuse(f, "a writer behind the reader", (struct at){ first, 16 }, (struct at){ first, 8 });
	refuse(f, "a writer a segment behind", (struct at){ first + 2, 16 }, (struct at){ first, 8 });
	refuse(f, "a writer between words", (struct at){ first, 0 }, (struct at){ first, 12 });
	refuse(f, "a reader after a segment's end", (struct at){ first, full }, (struct at){ first + 1, 8 });
	accept(f, "a full segment that the reader left", (struct at){ first + 1, 0 }, (struct at){ first, full });
	refuse(f, "a segment that the reader left too early", (struct at){ first + 1, 0 }, (struct at){ first, full - 8 });
}

int main(void)
{
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, BYTES, GPUBPF_USE_WRITE);
	if (!ok(fixture_ready(&f) == 0, "a ring"))
		return done();
	prod = (u64 *)((char *)f.arena + GPUBPF_RING_COPY(f.layout.maps[0].ctl, 0));
	cons = (u64 *)((char *)f.arena + GPUBPF_RING_CONS(f.layout.maps[0].ctl, f.layout.maps[0].copies, 0));
	segment_bytes = f.layout.maps[0].stride / GPUBPF_RING_SEGMENTS;
	test_positions(&f, 0);
	test_positions(&f, 3);
	test_positions(&f, GPUBPF_RING_WRAP - 2);
	fixture_end(&f);
	return done();
}
