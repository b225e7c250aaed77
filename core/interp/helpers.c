/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the interpreter: the device library, compiled for the host, behind checks of the arguments. */
#include <errno.h>
#include <string.h>

#include "core/lower/lower.h"
#include "host.h"

#define ARG(h, n) ((h)->vm.reg[GPUBPF_R0 + (n)])

static u64 bad(struct host *h, s32 id, const char *why)
{
	h->vm.status = GPUBPF_VM_HELPER;
	h->vm.address = (u32)id;
	h->why = why;
	return 0;
}

/* The map that argument n points to, if it is one of a kind; else the run has failed. */
static bool map_argument(struct host *h, s32 id, int n, u32 kind, struct gpubpf_map_view *view)
{
	const struct gpubpf_interp_job *job = h->job;
	u64 index = ARG(h, n) - GPUBPF_PTR_MAP;

	if (!job->arena || index >= job->unit->nmaps || !(job->unit->maps[index].type->flags & kind)) {
		bad(h, id, "needs a map of another kind");
		return false;
	}
	view->arena = job->arena;
	view->map = &job->unit->maps[index];
	view->layout = &job->layout->maps[index];
	return true;
}

/* helpers 1, 2, 3 */
static u64 keyed(struct host *h, s32 id)
{
	struct gpubpf_map_view view;
	const u8 *key, *value;

	if (!map_argument(h, id, 1, GPUBPF_MAP_KEYED, &view))
		return 0;
	key = gpubpf_interp_memory(h, ARG(h, 2), view.map->key_size, false);
	if (!key)
		return 0;
	if (id == 1)
		return gpubpf_host_lookup(&h->env, &view, key);
	if (id == 3)
		return (u64)gpubpf_host_delete(&h->env, &view, key);
	value = gpubpf_interp_memory(h, ARG(h, 3), view.map->value_size, false);
	return value ? (u64)gpubpf_host_update(&h->env, &view, key, value, ARG(h, 4)) : 0;
}

/* helpers 25 and 130: the record is argument n, its size the next */
static u64 output(struct host *h, s32 id, int map, int n)
{
	struct gpubpf_map_view view;
	const u8 *data;

	if (!map_argument(h, id, map, GPUBPF_MAP_RING, &view))
		return 0;
	data = gpubpf_interp_memory(h, ARG(h, n), ARG(h, n + 1), false);
	return data ? (u64)gpubpf_ring_output(&h->env, GPUBPF_LAYOUT_PASS(view.layout), data, ARG(h, n + 1)) : 0;
}

static u64 reserve(struct host *h, s32 id)
{
	struct gpubpf_map_view view;
	u64 record, size = ARG(h, 2);

	if (!map_argument(h, id, 1, GPUBPF_MAP_RING, &view))
		return 0;
	if (h->nrecords == MAX_RECORDS)
		return bad(h, id, "holds too many records at once");
	record = gpubpf_ring_reserve(&h->env, GPUBPF_LAYOUT_PASS(view.layout), size);
	if (record)
		h->records[h->nrecords++] = (struct record){ record, size };
	return record;
}

/* helpers 132 and 133 */
static u64 release(struct host *h, s32 id)
{
	u32 i = 0;

	while (i < h->nrecords && h->records[i].address != ARG(h, 1))
		i++;
	if (i == h->nrecords)
		return bad(h, id, "needs a record that ringbuf_reserve gave");
	h->records[i] = h->records[--h->nrecords];
	if (id == 132)
		gpubpf_ring_submit(&h->env, ARG(h, 1), ARG(h, 2));
	else
		gpubpf_ring_discard(&h->env, ARG(h, 1), ARG(h, 2));
	return 0;
}

static u64 query(struct host *h, s32 id)
{
	struct gpubpf_map_view view;

	if (!map_argument(h, id, 1, GPUBPF_MAP_RING, &view))
		return 0;
	return (u64)gpubpf_ring_query(&h->env, GPUBPF_LAYOUT_PASS(view.layout), ARG(h, 2));
}

static bool print_ring(const struct host *h, struct gpubpf_map_view *view)
{
	return h->job->arena && gpubpf_print_view(h->job->arena, h->job->layout, view);
}

static u32 prog_index(const struct host *h)
{
	return (u32)(h->job->prog - h->job->unit->progs);
}

static u64 trace_printk(struct host *h)
{
	const u8 *fmt = gpubpf_interp_memory(h, ARG(h, 1), ARG(h, 2), false);
	struct gpubpf_map_view view;

	if (!fmt)
		return 0;
	if (!print_ring(h, &view))
		return (u64)-EOPNOTSUPP;
	return (u64)gpubpf_helper_trace_printk(&h->env, GPUBPF_LAYOUT_PASS(view.layout), prog_index(h), fmt, ARG(h, 2),
					       ARG(h, 3), ARG(h, 4), ARG(h, 5));
}

static u64 puts_(struct host *h)
{
	struct gpubpf_map_view view;
	const u8 *text, *end;
	u64 size = 0;

	do {
		end = gpubpf_interp_memory(h, ARG(h, 1) + size, 1, false);
		size++;
	} while (end && *end && size < GPUBPF_PRINT_TEXT);
	text = end ? gpubpf_interp_memory(h, ARG(h, 1), size, false) : NULL;
	if (!text)
		return 0;
	if (!print_ring(h, &view))
		return (u64)-EOPNOTSUPP;
	return (u64)gpubpf_helper_puts(&h->env, GPUBPF_LAYOUT_PASS(view.layout), prog_index(h), text, size);
}

/* helpers 503, 504, 505, 508: three numbers through three pointers */
static u64 coordinates(struct host *h, const u64 *from)
{
	for (int i = 0; i < 3; i++) {
		u8 *p = gpubpf_interp_memory(h, ARG(h, 1 + i), sizeof(u64), true);

		if (!p)
			break;
		memcpy(p, &from[i], sizeof(u64));
	}
	return 0;
}

static u64 read_arg(struct host *h)
{
	const struct gpubpf_interp_job *job = h->job;
	u64 index = ARG(h, 2), size = ARG(h, 5);
	u8 *to = gpubpf_interp_memory(h, ARG(h, 4), size, true);
	const struct gpubpf_param *param = index < job->nparams ? &job->params[index] : NULL;

	if (!to)
		return 0;
	if (!param || param->bytes_off == UINT32_MAX)
		return (u64)-EINVAL;
	return (u64)gpubpf_helper_read_arg(&h->env, param->bytes_off, param->size, ARG(h, 3), to, size);
}

static u64 end_thread(struct host *h)
{
	h->vm.status = GPUBPF_VM_ENDED;
	return 0;
}

static u64 call(struct host *h, s32 id)
{
	const struct gpubpf_env *env = &h->env;

	switch (id) {
	case 1: case 2: case 3: return keyed(h, id);
	case 5: return gpubpf_helper_ktime_get_ns(env);
	case 6: return trace_printk(h);
	case 7: return gpubpf_helper_get_prandom_u32(env);
	case 8: return gpubpf_helper_get_smp_processor_id(env);
	case 14: return gpubpf_helper_get_current_pid_tgid(env);
	case 25: return output(h, id, 2, 4);
	case 130: return output(h, id, 1, 2);
	case 131: return reserve(h, id);
	case 132: case 133: return release(h, id);
	case 134: return query(h, id);
	case 501: return puts_(h);
	case 502: return gpubpf_helper_get_globaltimer(env);
	case 503: return coordinates(h, h->thread.block_idx);
	case 504: return coordinates(h, h->thread.block_dim);
	case 505: return coordinates(h, h->thread.thread_idx);
	case 506: return gpubpf_helper_gpu_membar(env);
	case 507: return end_thread(h);
	case 508: return coordinates(h, h->thread.grid_dim);
	case 509: return gpubpf_helper_get_sm_id(env);
	case 510: return gpubpf_helper_get_warp_id(env);
	case 511: return gpubpf_helper_get_lane_id(env);
	case 512: return gpubpf_helper_get_device_id(env);
	case 520: return read_arg(h);
	}
	return bad(h, id, NULL);
}

void gpubpf_interp_call(struct host *h, s32 id)
{
	h->vm.reg[GPUBPF_R0] = call(h, id);
}
