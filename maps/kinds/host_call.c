/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the host's side of HOST_CALL maps (host_call.h). Programs of the application can write to the mailboxes, so
 * the host trusts no word of them. It reads each request once, and copies an argument before it passes it on.
 */
#include "maps/impl.h"

#include <errno.h>
#include <string.h>

#include "maps/host/host.h"
#include "maps/host/host_calls.h"

static int host_call_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (!map->key_size || map->key_size > GPUBPF_HOST_CALL_BYTES)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "1 to 512 (the size of the argument)");
	if (!map->value_size || map->value_size > GPUBPF_HOST_CALL_BYTES)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 512 (the size of the output)");
	if (map->max_entries > GPUBPF_HOST_CALL_SLOTS)
		return gpubpf_map_set_fault(fault, "max_entries", map->max_entries, "1 to 65536 (the number of slots)");
	return 0;
}

static void host_call_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->stride = GPUBPF_ROUND8(l->key_size) + 8 + GPUBPF_ROUND8(l->value_size);
	l->copy_stride = GPUBPF_HOST_CALL_LANES * l->stride;
	l->data = l->ctl + GPUBPF_HOST_CALL_END(l->max_entries);
	l->size = l->data - l->ctl + l->max_entries * l->copy_stride;
}

HOST_OP(host_call, run, HOST_PTR(arg[0]), HOST_PTR(arg[1]))

static u64 word_at(const struct gpubpf_map_view *view, uint64_t offset)
{
	return (uintptr_t)view->arena + view->layout->ctl + offset;
}

void gpubpf_host_call_enable(const struct gpubpf_map_view *view, bool on, uint64_t limit_ns)
{
	gpubpf_store_u64(word_at(view, GPUBPF_HOST_CALL_LIMIT), limit_ns);
	gpubpf_store_release_u64(word_at(view, GPUBPF_HOST_CALL_SERVED), on);
}

void gpubpf_host_call_skip(const struct gpubpf_map_view *view, uint32_t *answered)
{
	uint32_t slots = view->layout->max_entries;

	for (uint32_t slot = 0; slot < slots; slot++)
		answered[slot] = (uint32_t)gpubpf_load_u64(word_at(view, GPUBPF_HOST_CALL_ANSWERS(slots) + 8ul * slot));
}

static void answer_lane(const struct gpubpf_map_view *view, uint32_t slot, uint32_t lane, gpubpf_host_call_serve_fn *fn,
			void *arg)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 at = (uintptr_t)view->arena + l->data + slot * l->copy_stride + lane * l->stride;
	u64 result = at + GPUBPF_ROUND8(l->key_size);
	_Alignas(8) uint8_t in[GPUBPF_HOST_CALL_BYTES], out[GPUBPF_HOST_CALL_BYTES] = { 0 };

	gpubpf_map_read_bytes(at, in, l->key_size);
	gpubpf_store_u64(result, (u64)fn(arg, in, out));
	gpubpf_copy_in(result + 8, out, l->value_size);
}

uint32_t gpubpf_host_call_serve(const struct gpubpf_map_view *view, uint32_t *answered, gpubpf_host_call_serve_fn *fn,
				void *arg)
{
	uint32_t slots = view->layout->max_entries, served = 0;
	u64 beat = word_at(view, GPUBPF_HOST_CALL_BEAT);

	for (uint32_t slot = 0; slot < slots; slot++) {
		u64 request = gpubpf_load_acquire_u64(word_at(view, GPUBPF_HOST_CALL_REQUESTS(slots) + 8ul * slot));

		if ((uint32_t)(request >> 32) == answered[slot])
			continue;
		answered[slot] = (uint32_t)(request >> 32);
		for (uint32_t lane = 0; lane < GPUBPF_HOST_CALL_LANES; lane++)
			if (request >> lane & 1) {
				answer_lane(view, slot, lane, fn, arg);
				served++;
			}
		gpubpf_store_release_u64(word_at(view, GPUBPF_HOST_CALL_ANSWERS(slots) + 8ul * slot), answered[slot]);
		gpubpf_store_u64(beat, gpubpf_load_u64(beat) + 1);
	}
	return served;
}

const struct gpubpf_map_impl gpubpf_host_call_impl = {
	.name = "host_call",
	.check = host_call_check,
	.size = host_call_size,
	.op[GPUBPF_OP_HOST_CALL] = host_call_run,
};
