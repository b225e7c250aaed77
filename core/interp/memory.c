/* SPDX-License-Identifier: Apache-2.0 */
/* The region table: what memory a program may touch. */
#include <stddef.h>

#include "host.h"

static bool within(u64 address, u64 size, u64 base, u64 room)
{
	return address >= base && size <= room && address - base <= room - size;
}

/* `off` bytes into an array of values: how far into one of them, not in its padding; -1: it is in none */
static s64 in_value(u64 off, u64 size, u64 stride, u64 value_size)
{
	return stride && within(off % stride, size, 0, value_size) ? (s64)(off % stride) : -1;
}

/* Does [off, off + size) of the arena lie in one value of the map? How far into it, or -1. The layouts are those of
 * maps/<impl>.h. */
static s64 in_map(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, u64 off, u64 size)
{
	u64 value = (l->value_size + 7u) & ~7ull, values = l->data;

	if (map->type->flags & GPUBPF_MAP_RING || off < values)
		return -1;
	if (map->type->flags & GPUBPF_MAP_THREAD)
		return off - values < l->stride * l->max_entries ?
			in_value(off - values, size, l->copy_stride, l->value_size) : -1;
	if (map->type->flags & GPUBPF_MAP_U32KEY) {
		off -= values;
		if (l->copies > 1 && off / l->copy_stride >= l->copies)
			return -1;
		if (l->copies > 1)
			off %= l->copy_stride;
		return off / l->stride < l->max_entries ? in_value(off, size, l->stride, l->value_size) : -1;
	}
	if (l->copies > 1) {
		values += l->max_entries * l->stride;
		if (off < values || (off - values) / l->copy_stride >= l->copies)
			return -1;
		off = (off - values) % l->copy_stride;
		return off / value < l->max_entries ? in_value(off, size, value, l->value_size) : -1;
	}
	value = GPUBPF_HASH_KEY + ((l->key_size + 7u) & ~7ull); /* where the value begins in its element */
	off -= values;
	return off / l->stride < l->max_entries && within(off % l->stride, size, value, l->value_size) ?
		(s64)(off % l->stride - value) : -1;
}

static bool in_maps(const struct host *h, u64 address, u64 size, bool write)
{
	const struct gpubpf_interp_job *job = h->job;

	if (!job->arena || !within(address, size, h->env.arena, job->layout->size))
		return false;
	for (u32 i = 0; i < job->unit->nmaps; i++)
		if (in_map(&job->unit->maps[i], &job->layout->maps[i], address - h->env.arena, size) >= 0)
			return !(write && job->unit->maps[i].rdonly);
	for (u32 i = 0; i < h->nrecords; i++)
		if (within(address, size, h->records[i].address, h->records[i].size))
			return true;
	return false;
}

int gpubpf_interp_where(const struct host *h, u64 address, s64 *off)
{
	const struct gpubpf_interp_job *job = h->job;

	for (u32 i = 0; job->arena && i < job->unit->nmaps; i++) {
		*off = in_map(&job->unit->maps[i], &job->layout->maps[i], address - h->env.arena, 0);
		if (*off >= 0)
			return (int)i;
	}
	*off = -1;
	for (u32 i = 0; i < h->nrecords; i++)
		if (within(address, 0, h->records[i].address, h->records[i].size))
			*off = (s64)(address - h->records[i].address);
	return -1;
}

static u8 *find(struct host *h, u64 address, u64 size, bool write)
{
	const struct gpubpf_interp_job *job = h->job;

	if (within(address, size, GPUBPF_PTR_STACK, (h->vm.depth + 1) * GPUBPF_STACK_SIZE))
		return h->vm.stack + (address - GPUBPF_PTR_STACK);
	if (job->ctx && !write && within(address, size, GPUBPF_PTR_CTX, sizeof(*job->ctx)))
		return (u8 *)job->ctx + (address - GPUBPF_PTR_CTX);
	if (address < GPUBPF_PTR_LIMIT)
		return NULL;
	if (job->mem && within(address, size, (uintptr_t)job->mem, job->mem_size))
		return (u8 *)(uintptr_t)address;
	return in_maps(h, address, size, write) ? (u8 *)(uintptr_t)address : NULL;
}

u8 *gpubpf_interp_memory(struct host *h, u64 address, u64 size, bool write)
{
	struct gpubpf_vm *vm = &h->vm;
	u8 *p = find(h, address, size, write);

	if (p)
		return p;
	vm->status = GPUBPF_VM_ACCESS;
	vm->address = address;
	vm->size = size;
	vm->write = write;
	return NULL;
}
