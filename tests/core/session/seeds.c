/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums in a hash table on two devices with separate memory. Each initial value counts once, even if a program deletes
 * and reinserts the key.
 */
#include "fixture.h"

enum { TOOL, FIRST, SECOND };

static struct gpubpf_session *s;
static struct gpubpf_map *sums;

static uint64_t sum(uint64_t key)
{
	uint64_t value = ~0ull;

	return gpubpf_map__lookup_elem(sums, &key, sizeof(key), &value, sizeof(value), 0) ? ~0ull : value;
}

/* Returns the map as programs on this device see it. */
static struct gpubpf_map_view on(uint32_t arena)
{
	return gpubpf_arena_view(s, arena, (uint32_t)(sums - gpubpf_session_unit(s)->maps));
}

static void add(uint32_t arena, uint64_t key, uint64_t n)
{
	struct gpubpf_map_view view = on(arena);
	uint64_t value = 0;

	gpubpf_map_lookup(&view, &key, &value);
	value += n;
	gpubpf_map_update(&view, &key, &value, 0);
}

static void delete_key(uint32_t arena, uint64_t key)
{
	struct gpubpf_map_view view = on(arena);

	gpubpf_map_delete(&view, &key);
}

static void set_value(uint64_t key, uint64_t value)
{
	gpubpf_map__update_elem(sums, &key, sizeof(key), &value, sizeof(value), 0);
}

int main(int argc, char **argv)
{
	struct agent a;
	uint64_t key = 5;

	if (!ok(fixture(argc, argv), "a folder"))
		return done();
	s = start("/nonexistent");
	sums = gpubpf_session__find_map_by_name(s, "by_key");
	set_value(5, 100);
	set_value(6, 1000);
	agent_connect(&a, s);
	agent_hello(&a);
	for (uint32_t i = 0; i < 2; i++)
		agent_device(&a, i, 0);
	ok(gpubpf_arenas_count(s) == 3 && sum(5) == 100 && sum(6) == 1000, "two devices begin with what was put in: %llu, %llu",
	   (unsigned long long)sum(5), (unsigned long long)sum(6));
	add(FIRST, 5, 7);
	add(SECOND, 5, 8);
	ok(sum(5) == 115, "what they add is added up: %llu", (unsigned long long)sum(5));
	delete_key(SECOND, 5);
	ok(sum(5) == 107, "one deletes the key: %llu", (unsigned long long)sum(5));
	add(SECOND, 5, 3);
	ok(sum(5) == 110, "and makes it again: %llu", (unsigned long long)sum(5));
	delete_key(FIRST, 5);
	delete_key(FIRST, 6);
	add(FIRST, 5, 20);
	add(FIRST, 6, 30);
	ok(sum(5) == 123 && sum(6) == 1030, "the other does so with two, whose elements change places: %llu, %llu", (unsigned long long)sum(5),
	   (unsigned long long)sum(6));
	gpubpf_map__delete_elem(sums, &key, sizeof(key), 0);
	ok(sum(5) == 23, "the host deletes its own: %llu", (unsigned long long)sum(5));
	set_value(5, 50);
	ok(sum(5) == 73, "and puts in another: %llu", (unsigned long long)sum(5));
	agent_close(&a);
	gpubpf_session__free(s);
	rmdir(dir);
	return done();
}
