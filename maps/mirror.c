/* SPDX-License-Identifier: Apache-2.0 */
#include "mirror.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define BPF_RINGBUF 27           /* uapi/linux/bpf.h */
#define BPF_PERF_EVENT_ARRAY 4
#define GPU_RINGBUF 1527

struct mirror {
	const char *arena;
	u64 size;
	gpubpf_mirror_fn pull, push;
	void *arg;
	u32 nmaps;
	bool still;
};

static bool is_ring(const struct gpubpf_map_layout *l)
{
	return l->type == BPF_RINGBUF || l->type == BPF_PERF_EVENT_ARRAY || l->type == GPU_RINGBUF;
}

/* layouts of all maps, then that of the print ring if there is one */
static bool layout_at(const struct mirror *m, u32 i, struct gpubpf_map_layout *l)
{
	struct gpubpf_arena_hdr hdr;
	u64 off = GPUBPF_ARENA_MAPS + (u64)i * sizeof(*l);

	memcpy(&hdr, m->arena, sizeof(hdr));
	if (i > m->nmaps || (i == m->nmaps && hdr.print_ring != off) || off + sizeof(*l) > m->size)
		return false;
	memcpy(l, m->arena + off, sizeof(*l));
	return l->ctl <= m->size && l->size <= m->size - l->ctl && l->data >= l->ctl && l->data <= l->ctl + l->size &&
	       (!is_ring(l) || GPUBPF_RING_CTL_END(l->ctl, (u64)l->copies) <= l->data);
}

static int push_positions(const struct mirror *m, const struct gpubpf_map_layout *l)
{
	return is_ring(l) ? m->push(m->arg, GPUBPF_RING_CONS(l->ctl, (u64)l->copies, 0), 16ull * l->copies + 8) : 0;
}

static int pull_data(const struct mirror *m, const struct gpubpf_map_layout *l)
{
	return m->pull(m->arg, l->data, l->ctl + l->size - l->data);
}

static int pull_ctl(const struct mirror *m, const struct gpubpf_map_layout *l)
{
	u64 end = is_ring(l) ? GPUBPF_RING_CONS(l->ctl, (u64)l->copies, 0) : l->data;

	return m->pull(m->arg, l->ctl, end - l->ctl);
}

static int each(const struct mirror *m, int (*step)(const struct mirror *m, const struct gpubpf_map_layout *l))
{
	struct gpubpf_map_layout l;
	int err = 0;
	u32 i;

	for (i = 0; !err && layout_at(m, i, &l); i++)
		err = m->still || !is_ring(&l) ? step(m, &l) : 0;
	return err;
}

int gpubpf_mirror_pull(const void *arena, u64 size, bool still, gpubpf_mirror_fn pull, gpubpf_mirror_fn push, void *arg)
{
	struct mirror m = { .arena = arena, .size = size, .pull = pull, .push = push, .arg = arg, .still = still };
	int err;

	if (size < GPUBPF_ARENA_MAPS)
		return -EINVAL;
	memcpy(&m.nmaps, (const char *)arena + offsetof(struct gpubpf_arena_hdr, nmaps), sizeof(m.nmaps));
	err = each(&m, push_positions);
	if (!err)
		err = each(&m, pull_data);
	if (!err)
		err = each(&m, pull_ctl);
	/* of the header only what devices write: the rest is the host's */
	if (!err)
		err = pull(arg, offsetof(struct gpubpf_arena_hdr, thread_drops), 8);
	return err;
}
