/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates of the allocation table on a device with separate memory. A granule that one allocation covers completely has
 * the allocation's number from its creation to its release. The agent copies only the words that changed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hooks/agent.h"
#include "maps/layout.h"
#include "tests/tap.h"

#define PIECE (1ull << GPUBPF_GRANULE_SHIFT)
#define TABLES GPUBPF_ARENA_DATA
#define SIZE (TABLES + GPUBPF_ALLOCATION_TABLE + GPUBPF_GRANULE_TABLE)

static char mirror[SIZE], memory[SIZE]; /* the arena in host memory, and the device's memory */
static size_t pushed;
static bool breaks;

static int push(struct gpubpf_device *device, size_t offset, const void *from, size_t size)
{
	if (breaks || offset > SIZE || size > SIZE - offset)
		return -5;
	memcpy(memory + offset, from, size);
	pushed += offset >= TABLES + GPUBPF_ALLOCATION_TABLE ? size : 0;
	return 0;
}

static struct gpubpf_device_caps known_caps = { .bits = GPUBPF_CAP_ALLOCATIONS };

static const struct gpubpf_device_caps *caps(const struct gpubpf_device *device)
{
	return &known_caps;
}

bool gpubpf_session_sealed(void)
{
	return false;
}

uint32_t gpubpf_session_flags(void)
{
	return 0;
}

uint32_t gpubpf_stack_current_number(unsigned skip, unsigned most)
{
	return 0;
}

bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device)
{
	return false;
}

static char noted[256];
static bool scarce; /* memory allocations fail */

void gpubpf_log_once(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(noted, sizeof(noted), format, ap);
	va_end(ap);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return scarce ? NULL : __real_calloc(n, size);
}

static void attach_again(struct gpubpf_hook_device *d)
{
	pthread_mutex_lock(&d->lock);
	d->allocations = 0;
	gpubpf_allocations_attach(d);
	pthread_mutex_unlock(&d->lock);
}

static uint64_t word_of(uint64_t address)
{
	uint64_t word;

	memcpy(&word, memory + TABLES + GPUBPF_ALLOCATION_TABLE + 8 * (GPUBPF_GRANULE(address) % GPUBPF_GRANULES), 8);
	return word;
}

static bool has_number(uint64_t address, uint64_t number)
{
	return word_of(address) == (GPUBPF_GRANULE_OWNER(GPUBPF_GRANULE(address)) << 32 | number);
}

static bool is_unowned(uint64_t address)
{
	return word_of(address) >> 32 != GPUBPF_GRANULE_OWNER(GPUBPF_GRANULE(address));
}

static void make(const void *context, uint64_t base, uint64_t size, uint32_t number)
{
	struct gpubpf_allocation row = { .base = base, .size = size, .kind = GPUBPF_ALLOCATION_DEVICE, .number = number };

	pushed = 0;
	gpubpf_allocation_add(context, false, &row);
}

int main(void)
{
	static const struct gpubpf_device_ops device_ops = { .caps = caps, .arena_push = push };
	static const struct gpubpf_hook_ops ops = { .device = &device_ops };
	static struct gpubpf_hook_device d = { .ops = &ops, .host = mirror, .size = SIZE };
	struct gpubpf_arena_hdr *hdr = (void *)mirror, *has = (void *)memory;
	int here = 0, elsewhere = 0;

	d.how.context = &here;
	hdr->allocations = TABLES;
	hdr->allocation_tables = 1;
	hdr->granules = TABLES + GPUBPF_ALLOCATION_TABLE;
	pthread_mutex_init(&d.lock, NULL);
	make(&here, 100 * PIECE, 2 * PIECE, 7);
	pthread_mutex_lock(&d.lock);
	gpubpf_allocations_attach(&d);
	pthread_mutex_unlock(&d.lock);
	ok(has->granules == hdr->granules, "the device has the table's place");
	ok(has_number(100 * PIECE, 7) && has_number(102 * PIECE - 1, 7) && is_unowned(102 * PIECE) && is_unowned(99 * PIECE),
	   "what was there before is told, and no more");
	ok(is_unowned(~0ull) && is_unowned(0), "no address is told that has no number");

	make(&here, 200 * PIECE + 4096, 3 * PIECE, 8);
	ok(is_unowned(200 * PIECE + 4096) && has_number(201 * PIECE, 8) && has_number(202 * PIECE, 8) && is_unowned(203 * PIECE),
	   "of one that begins and ends within pieces those between");
	ok(pushed == 16, "and nothing else is written: %zu bytes", pushed);
	make(&elsewhere, 300 * PIECE, PIECE, 9);
	ok(is_unowned(300 * PIECE) && !pushed, "another context's is not told");
	make(&here, 400 * PIECE, PIECE / 2, 10);
	ok(is_unowned(400 * PIECE) && !pushed, "nor is a small one");
	make(&here, (1000 + GPUBPF_GRANULES) * PIECE, 3 * GPUBPF_GRANULES * PIECE, 11);
	ok(has_number((1000 + 4ull * GPUBPF_GRANULES) * PIECE - 1, 11), "one of more pieces than there are words has them all");
	gpubpf_allocation_remove((1000 + GPUBPF_GRANULES) * PIECE);
	ok(has_number(100 * PIECE, 7) && has_number(201 * PIECE, 8), "and those whose words they were have them again when it goes");
	gpubpf_allocation_remove(100 * PIECE);
	ok(is_unowned(100 * PIECE) && has_number(201 * PIECE, 8), "what goes is told no more");
	gpubpf_allocation_cut(201 * PIECE, PIECE);
	ok(is_unowned(201 * PIECE) && has_number(202 * PIECE, 8), "nor is what is cut out of one");
	make(&here, (PIECE << 32) + 5 * PIECE, PIECE, 12);
	ok(has_number((PIECE << 32) + 5 * PIECE, 12) && is_unowned(5 * PIECE), "one of a high address is none lower down");
	make(&here, -2 * PIECE, 2 * PIECE - 1, 13);
	ok(has_number(-2 * PIECE, 13) && is_unowned(-PIECE) && is_unowned(0), "nor is one that ends with all addresses");
	gpubpf_allocations_detach(&d);
	ok(!d.granules, "a device that goes keeps nothing");

	scarce = true;
	attach_again(&d);
	scarce = false;
	ok(!d.granules && has->granules == hdr->granules && strstr(noted, "each look-up searches"), "where there is no memory it is said");
	gpubpf_allocations_detach(&d);
	d.granules_at = 0;
	hdr->granules = SIZE - 8;
	noted[0] = 0;
	attach_again(&d);
	ok(!d.granules && !noted[0], "a table that does not fit is none");
	return done();
}
