/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dynptrs (helpers 197 to 203, uapi/linux/bpf.h). A dynptr has 16 bytes of the program's stack: the device address and the
 * size in bytes. It points to a record of a ring, or to a part of a map value. The address of an empty dynptr is 0.
 */
#ifndef GPUBPF_MAPS_DYNPTR_H
#define GPUBPF_MAPS_DYNPTR_H

#include "maps/kinds/ring.h"
#include "words.h"

#define GPUBPF_DYNPTR_MAX 0xfffffful /* limit of the size in bytes: DYNPTR_MAX_SIZE of the Linux kernel */

GPUBPF_FN void gpubpf_dynptr_set(GPUBPF_PRIVATE u8 *dynptr, u64 address, u64 size)
{
	((GPUBPF_PRIVATE gpubpf_u64u *)dynptr)[0] = address;
	((GPUBPF_PRIVATE gpubpf_u64u *)dynptr)[1] = size;
}

GPUBPF_FN u64 gpubpf_dynptr_address(GPUBPF_PRIVATE const u8 *dynptr)
{
	return ((GPUBPF_PRIVATE const gpubpf_u64u *)dynptr)[0];
}

GPUBPF_FN u64 gpubpf_dynptr_bytes(GPUBPF_PRIVATE const u8 *dynptr)
{
	return ((GPUBPF_PRIVATE const gpubpf_u64u *)dynptr)[1];
}

GPUBPF_FN s64 gpubpf_helper_dynptr_from_mem(GPUBPF_ENV, u64 data, u64 size, u64 flags, GPUBPF_PRIVATE u8 *dynptr)
{
	s64 error = size > GPUBPF_DYNPTR_MAX ? -GPUBPF_E2BIG : flags ? -GPUBPF_EINVAL : 0;

	gpubpf_dynptr_set(dynptr, error ? 0 : data, error ? 0 : size);
	return error;
}

/* Helper 198. A refused call and a full ring give an empty dynptr, which the program must also submit or discard. */
GPUBPF_FN s64 gpubpf_ring_reserve_dynptr(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 size, u64 flags, GPUBPF_PRIVATE u8 *dynptr)
{
	u64 record;

	size &= 0xffffffffu;
	gpubpf_dynptr_set(dynptr, 0, 0);
	if (flags || size > GPUBPF_DYNPTR_MAX)
		return flags ? -GPUBPF_EINVAL : -GPUBPF_E2BIG;
	record = gpubpf_ring_reserve(env, GPUBPF_MAP_PASS, size);
	if (!record)
		return -GPUBPF_EINVAL;
	gpubpf_dynptr_set(dynptr, record, size);
	return 0;
}

GPUBPF_FN void gpubpf_helper_ringbuf_submit_dynptr(GPUBPF_ENV, GPUBPF_PRIVATE u8 *dynptr, u64 flags)
{
	if (gpubpf_dynptr_address(dynptr))
		gpubpf_helper_ringbuf_submit(env, gpubpf_dynptr_address(dynptr), flags);
	gpubpf_dynptr_set(dynptr, 0, 0);
}

GPUBPF_FN void gpubpf_helper_ringbuf_discard_dynptr(GPUBPF_ENV, GPUBPF_PRIVATE u8 *dynptr, u64 flags)
{
	if (gpubpf_dynptr_address(dynptr))
		gpubpf_helper_ringbuf_discard(env, gpubpf_dynptr_address(dynptr), flags);
	gpubpf_dynptr_set(dynptr, 0, 0);
}

/* Returns 0 if the dynptr has the bytes [offset, offset + size), or the error of the helpers that access them. */
GPUBPF_FN s64 gpubpf_dynptr_check(GPUBPF_PRIVATE const u8 *dynptr, u64 offset, u64 size, u64 flags)
{
	u64 room = gpubpf_dynptr_bytes(dynptr);

	if (!gpubpf_dynptr_address(dynptr))
		return -GPUBPF_EINVAL;
	if (size > room || offset > room - size)
		return -GPUBPF_E2BIG;
	return flags ? -GPUBPF_EINVAL : 0;
}

/* Helper 201. On an error it writes zeros. */
GPUBPF_FN s64 gpubpf_helper_dynptr_read(GPUBPF_ENV, GPUBPF_PRIVATE u8 *to, u64 size, GPUBPF_PRIVATE const u8 *dynptr,
					u64 offset, u64 flags)
{
	s64 error = gpubpf_dynptr_check(dynptr, offset, size, flags);
	u64 from = gpubpf_dynptr_address(dynptr) + offset, i;

	for (i = 0; i < size; i++)
		to[i] = error ? 0 : *(GPUBPF_DEVMEM const u8 *)(from + i);
	return error;
}

GPUBPF_FN s64 gpubpf_helper_dynptr_write(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *dynptr, u64 offset,
					 GPUBPF_PRIVATE const u8 *from, u64 size, u64 flags)
{
	s64 error = gpubpf_dynptr_check(dynptr, offset, size, flags);
	u64 to = gpubpf_dynptr_address(dynptr) + offset, i;

	for (i = 0; !error && i < size; i++)
		*(GPUBPF_DEVMEM u8 *)(to + i) = from[i];
	return error;
}

GPUBPF_FN u64 gpubpf_helper_dynptr_data(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *dynptr, u64 offset, u64 size)
{
	return gpubpf_dynptr_check(dynptr, offset, size, 0) ? 0 : gpubpf_dynptr_address(dynptr) + offset;
}

GPUBPF_FN u64 gpubpf_helper_dynptr_size(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *dynptr)
{
	return gpubpf_dynptr_address(dynptr) ? gpubpf_dynptr_bytes(dynptr) : (u64)-GPUBPF_EINVAL;
}

GPUBPF_FN u64 gpubpf_helper_dynptr_is_null(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *dynptr)
{
	return !gpubpf_dynptr_address(dynptr);
}

/* No dynptr is read-only, because dynptr_from_mem() takes only memory that programs may write. */
GPUBPF_FN u64 gpubpf_helper_dynptr_is_rdonly(GPUBPF_ENV, GPUBPF_PRIVATE const u8 *dynptr)
{
	(void)dynptr;
	return 0;
}

#endif
