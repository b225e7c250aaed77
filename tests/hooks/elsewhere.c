/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External maps of a session that sends invalid layouts. The agent must refuse memory that is not on separate pages
 * after the arena's own data.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hooks/agent.h"
#include "tests/tap.h"

#define PAGE ((uint64_t)GPUBPF_ARENA_ALIGN)
#define OWN ((GPUBPF_ARENA_DATA + PAGE - 1) / PAGE * PAGE)
#define SIZE (OWN + 4 * PAGE)

static uint64_t arena[SIZE / 8] __attribute__((aligned(GPUBPF_ARENA_ALIGN))), other[4 * PAGE / 8];
static struct gpubpf_map_layout pushed;
static struct gpubpf_device_caps caps = { .bits = GPUBPF_CAP_HOST_PINNED };
static unsigned int taken;

static const struct gpubpf_device_caps *fake_caps(const struct gpubpf_device *device)
{
	return &caps;
}

static int fake_get(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
		    struct gpubpf_device_memory *memory, struct gpubpf_reason *why)
{
	taken++;
	*memory = (struct gpubpf_device_memory){ where, other, 0x700000000000, size, NULL };
	return 0;
}

static void fake_put(struct gpubpf_device *device, const struct gpubpf_device_memory *memory)
{
	taken--;
}

static int fake_push(struct gpubpf_device *device, size_t offset, const void *data, size_t size)
{
	pushed = *(const struct gpubpf_map_layout *)data;
	return 0;
}

static const struct gpubpf_device_ops device_ops = {
	.caps = fake_caps, .memory_get = fake_get, .memory_put = fake_put, .arena_push = fake_push,
};
static const struct gpubpf_hook_ops hook_ops = { .device = &device_ops };

/* Fill the arena of a session with only this map. Returns the agent's result. */
static int fill(struct gpubpf_map_layout map)
{
	struct gpubpf_hook_device d = { .ops = &hook_ops, .host = arena, .size = SIZE, .own = OWN };
	struct gpubpf_reason why = { "" };
	int err;

	map.flags |= GPUBPF_LAYOUT_PLACED_IN(GPUBPF_PLACE_PINNED);
	memcpy((char *)arena + GPUBPF_ARENA_MAPS, &map, sizeof(map));
	pthread_mutex_init(&d.lock, NULL);
	pthread_mutex_lock(&d.lock);
	err = gpubpf_external_maps_fill(&d, 1, &why);
	pthread_mutex_unlock(&d.lock);
	if (err < 0)
		note("%s", why.text);
	ok(taken == (err ? 0 : 1) && !err == !why.text[0], "%s", err ? "it has no memory then, and says why" : "it has memory");
	gpubpf_external_maps_free(&d);
	ok(!taken, "and none at the end");
	return err;
}

int main(void)
{
	const struct gpubpf_map_layout good = { .ctl = OWN + PAGE, .data = OWN + PAGE + 64, .size = 2 * PAGE };
	struct gpubpf_map_layout bad;

	ok(!fill(good), "a map behind the arena's own part");
	ok(pushed.ctl == 0x700000000000 && pushed.data == pushed.ctl + 64, "its words and its values have addresses");
	bad = good;
	bad.size = 3 * PAGE;
	ok(!fill(bad), "one that ends where the session's memory does");
	bad.size = 3 * PAGE + 1;
	ok(fill(bad) == -EPROTO, "one that ends behind it");
	bad.size = UINT64_MAX - 7;
	ok(fill(bad) == -EPROTO, "one whose whole pages are more than 64 bits count");
	bad = good;
	bad.ctl = SIZE + PAGE;
	bad.data = bad.ctl;
	ok(fill(bad) == -EPROTO, "one that begins behind it");
	bad = good;
	bad.ctl = OWN - PAGE;
	bad.data = OWN;
	ok(fill(bad) == -EPROTO, "one that begins in the arena's own part");
	bad = good;
	bad.ctl += 8;
	ok(fill(bad) == -EPROTO, "one that begins within a page");
	bad = good;
	bad.data = bad.ctl - 8;
	ok(fill(bad) == -EPROTO, "one whose values lie before it");
	bad.data = bad.ctl + bad.size + 8;
	ok(fill(bad) == -EPROTO, "and behind it");
	bad = good;
	bad.flags = GPUBPF_LAYOUT_LIVE;
	ok(fill(bad) == -EPROTO, "one that is called the session's own, where the device cannot have that");
	caps.bits = 0;
	ok(fill(good) == -EOPNOTSUPP, "one in memory that the device lacks");
	return done();
}
