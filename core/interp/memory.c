/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which memory a program may access: stack, context, MEM, map values and reserved records. */
#include <stddef.h>

#include "host.h"
#include "maps/impl.h"

static bool within(u64 address, u64 size, u64 base, u64 room)
{
	return address >= base && size <= room && address - base <= room - size;
}

/*
 * [off, off + size) is a range of the arena. Returns the offset of this range in the map value that contains it.
 * Returns -1 if no value of the map contains the range, or if the map has no memory.
 */
static s64 find_offset_in_map(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, u64 off, u64 size)
{
	return map->type->impl->where && !map->prototype ? map->type->impl->where(l, off, size) : -1;
}

static bool in_maps(const struct host *h, u64 address, u64 size, bool write)
{
	const struct gpubpf_interp_job *job = h->job;

	if (!job->arena || !within(address, size, h->env.arena, job->layout->size))
		return false;
	for (u32 i = 0; i < job->unit->nmaps; i++)
		if (find_offset_in_map(&job->unit->maps[i], &job->layout->maps[i], address - h->env.arena, size) >= 0)
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
		*off = find_offset_in_map(&job->unit->maps[i], &job->layout->maps[i], address - h->env.arena, 0);
		if (*off >= 0)
			return (int)i;
	}
	*off = -1;
	for (u32 i = 0; i < h->nrecords; i++)
		if (within(address, 0, h->records[i].address, h->records[i].size))
			*off = (s64)(address - h->records[i].address);
	return -1;
}

/* Returns true if the range lies in a map key that was passed to a callback. Such keys are read-only. */
static bool in_key(const struct host *h, u64 address, u64 size)
{
	u64 frame = (address - GPUBPF_PTR_STACK) / GPUBPF_STACK_SIZE - h->keys, map;

	if (address < GPUBPF_PTR_STACK || frame >= h->vm.depth || !h->vm.frame[frame].rounds.n ||
	    !h->vm.frame[frame].rounds.map)
		return false;
	map = h->vm.frame[frame].rounds.map - GPUBPF_PTR_MAP;
	return within(address, size, GPUBPF_PTR_STACK + (h->keys + frame) * GPUBPF_STACK_SIZE,
		      h->job->unit->maps[map].key_size);
}

static u8 *find(struct host *h, u64 address, u64 size, bool write)
{
	const struct gpubpf_interp_job *job = h->job;

	if (within(address, size, GPUBPF_PTR_STACK, (h->vm.depth + 1) * GPUBPF_STACK_SIZE))
		return h->vm.stack + (address - GPUBPF_PTR_STACK);
	if (!write && in_key(h, address, size))
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
