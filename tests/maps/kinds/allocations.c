/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the table of allocations, which lanes read through a cache that may hold stale words. A look-up must find each
 * complete row, and must not accept a row whose halves were written at different times.
 */
#include <linux/bpf.h>

#include "tests/maps/fixture.h"
#include "gpubpf/allocation.h"
#include "tests/tap.h"

#define BASE 0x10000ull
#define STRIDE 0x1000ull /* distance in bytes between two allocations; each covers the first half */
#define ROWS 37

static char *table;

static uint64_t *row_at(uint64_t set, uint64_t i)
{
	return (uint64_t *)(table + GPUBPF_ALLOCATION_ROWS + set * GPUBPF_ALLOCATION_SET + i * GPUBPF_ALLOCATION_ROW);
}

static void write_table(uint64_t version)
{
	struct gpubpf_allocation_head *head = (void *)table;

	for (uint64_t i = 0; i < ROWS; i++) {
		uint64_t row[] = { BASE + i * STRIDE, (STRIDE / 2) | version << GPUBPF_ALLOCATION_SIZE_BITS,
				   i << 32 | GPUBPF_ALLOCATION_DEVICE, version << 32 | (i + 3) };

		memcpy(row_at(version & 1, i), row, sizeof(row));
	}
	head->rows[version & 1] = ROWS;
	head->version = version;
}

/* Returns true if both look-ups find each address. The cached look-up must not find row torn, whose halves differ. */
static bool finds(struct fixture *f, uint64_t torn)
{
	bool good = true;

	for (uint64_t i = 0; i < ROWS; i++) {
		struct gpubpf_allocation_words cached = { 0 }, strict = { 0 };
		uint64_t last = BASE + i * STRIDE + STRIDE / 2 - 1;
		struct gpubpf_allocation of;

		good &= gpubpf_allocation_find_cached(&f->env, last, &cached) == (i != torn);
		good &= gpubpf_allocation_find(&f->env, last, &strict) && strict.size == STRIDE / 2;
		good &= i == torn || !memcmp(&cached, &strict, sizeof(strict));
		good &= !gpubpf_helper_allocation(&f->env, last, (uint8_t *)&of, sizeof(of)) && of.number == i &&
			of.stack == i + 3 && !of.unused && of.base == last + 1 - STRIDE / 2 && of.size == STRIDE / 2 && of.kind == GPUBPF_ALLOCATION_DEVICE;
		good &= !gpubpf_allocation_find_cached(&f->env, last + 1, &cached) &&
			gpubpf_helper_allocation(&f->env, last + 1, (uint8_t *)&of, sizeof(of)) == -GPUBPF_ENOENT && !of.size;
	}
	return good && !gpubpf_allocation_find_cached(&f->env, BASE - 1, &(struct gpubpf_allocation_words){ 0 });
}

static uint64_t *granule_at(struct fixture *f, uint64_t address)
{
	const struct gpubpf_arena_hdr *hdr = f->arena;

	return (uint64_t *)((char *)f->arena + hdr->granules) + GPUBPF_GRANULE(address) % GPUBPF_GRANULES;
}

/* Look up the numbers of allocations: in the table of granules if it has one for the address, otherwise in the rows. */
static void look_up_numbers(struct fixture *f)
{
	const struct gpubpf_arena_hdr *hdr = f->arena;
	uint64_t far = 5ull << GPUBPF_GRANULE_SHIFT, alike = far + ((uint64_t)GPUBPF_GRANULES << GPUBPF_GRANULE_SHIFT);

	ok(hdr->granules == f->layout.allocations + GPUBPF_ALLOCATION_TABLE, "the table of pieces is behind that of allocations");
	ok(gpubpf_helper_allocation_number(&f->env, BASE + 3 * STRIDE) == 3, "without a word the rows tell a number");
	ok(gpubpf_helper_allocation_number(&f->env, BASE + 3 * STRIDE - 1) == -GPUBPF_ENOENT &&
	   gpubpf_helper_allocation_number(&f->env, 0) == -GPUBPF_ENOENT && gpubpf_helper_allocation_number(&f->env, ~0ull) == -GPUBPF_ENOENT,
	   "and of what is none's that it is none's");
	ok(gpubpf_helper_allocation_number(&f->env, far) == -GPUBPF_ENOENT, "no row and no word");
	*granule_at(f, far) = GPUBPF_GRANULE_OWNER(GPUBPF_GRANULE(far)) << 32 | 77;
	ok(gpubpf_helper_allocation_number(&f->env, far) == 77 &&
	   gpubpf_helper_allocation_number(&f->env, far + (1 << GPUBPF_GRANULE_SHIFT) - 1) == 77, "a piece's word tells its number");
	ok(gpubpf_helper_allocation_number(&f->env, far - 1) == -GPUBPF_ENOENT &&
	   gpubpf_helper_allocation_number(&f->env, far + (1 << GPUBPF_GRANULE_SHIFT)) == -GPUBPF_ENOENT, "not its neighbours'");
	ok(granule_at(f, alike) == granule_at(f, far) && gpubpf_helper_allocation_number(&f->env, alike) == -GPUBPF_ENOENT,
	   "nor that of one which would have the same word");
	*granule_at(f, far) = 0;
}

int main(void)
{
	static const uint64_t versions[] = { 1, 2, 0xffff, 0x10000, 0x10001 };
	struct fixture f;

	fixture_begin(&f);
	fixture_map(&f, BPF_MAP_TYPE_ARRAY, 4, 8, 1, GPUBPF_USE_READ);
	f.opts.allocation_tables = 1;
	if (fixture_ready(&f) < 0)
		return 1;
	table = (char *)f.arena + f.layout.allocations;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		write_table(versions[i]);
		ok(finds(&f, ROWS), "version %llu: each is found", (unsigned long long)versions[i]);
		row_at(versions[i] & 1, 5)[1] ^= 2ull << GPUBPF_ALLOCATION_SIZE_BITS;
		ok(finds(&f, 5), "the base and size of another moment are none of the cache's");
		row_at(versions[i] & 1, 5)[1] ^= 2ull << GPUBPF_ALLOCATION_SIZE_BITS;
		row_at(versions[i] & 1, 7)[3] += 2ull << 32;
		ok(finds(&f, 7), "nor are another's number and kind");
	}
	look_up_numbers(&f);
	fixture_end(&f);
	return done();
}
