/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to ring buffers by devices with warps (maps/kinds/ring.h), in an emulated warp. The lanes run one after the
 * other with the same data; each gets the recorded results of the first lane.
 */
#define LANES 0x00ff0f00u /* active lanes */
#include "lanes.h"

static uint64_t told[16];
static uint32_t ntold, next_told, rank;

/* Returns the value that the first lane computed. */
static inline uint64_t gpubpf_warp_from(uint32_t peers, uint64_t value, uint32_t lane)
{
	(void)peers;
	(void)lane;
	if (rank == 0)
		told[ntold++] = value;
	return told[next_told++];
}

#include <errno.h>
#include <linux/bpf.h>

#include "fixture.h"
#include "tests/tap.h"

#define SIZE 24
#define BATCHES 40

static uint32_t seen, wrong;

static int see(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	(void)copy;
	seen++;
	wrong += size != SIZE || memcmp(data, arg, size);
	return 0;
}

/* Run all lanes. Returns true if the batch fits into the ring buffer. */
static bool output(struct fixture *f, const uint8_t *data)
{
	const struct gpubpf_map_layout *l = f->view[0].layout;
	bool room = true;

	ntold = 0;
	for (rank = 0; rank < gpubpf_warp_count(LANES); rank++) {
		next_told = 0;
		room &= gpubpf_ring_batch_of(&f->env, GPUBPF_LAYOUT_PASS(l), LANES, rank, data, SIZE) == 0;
	}
	return room;
}

int main(void)
{
	uint32_t lanes = gpubpf_warp_count(LANES), fits = 0;
	int64_t came;
	uint8_t data[SIZE];
	struct fixture f;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 1);
	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, GPUBPF_USE_OUTPUT);
	if (!ok(fixture_ready(&f) == 0, "layout"))
		return done();
	for (uint32_t i = 0; i < BATCHES; i++)
		fits += output(&f, data);
	ok(fits > 0 && fits < BATCHES, "a ring without room takes %u of %d batches", fits, BATCHES);
	ok(gpubpf_map_drops(&f.view[0]) == (BATCHES - fits) * lanes, "of the others each lane's drop is counted: %llu",
	   (unsigned long long)gpubpf_map_drops(&f.view[0]));
	came = gpubpf_ring_read(&f.view[0], see, data);
	ok(came == (int64_t)fits * lanes && seen == fits * lanes && !wrong, "each record comes out, bit for bit: %u, %u of them wrong",
	   seen, wrong);
	fixture_end(&f);
	return done();
}
