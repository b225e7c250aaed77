/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PROG_ARRAY: an array (array.h) whose values name programs.
 *
 *   value     u32 number of a program of the map's object, from 1; 0: none. Only the host writes it.
 *
 * The loader's code (core/load/tail.c) branches on the numbers that it knows, and continues at other numbers as if the
 * slot were empty.
 */
#ifndef GPUBPF_MAPS_PROG_ARRAY_H
#define GPUBPF_MAPS_PROG_ARRAY_H

#include "array.h"

GPUBPF_FN s64 gpubpf_prog_array_tail_call(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 index)
{
	u64 slot = gpubpf_array_address(env, GPUBPF_MAP_PASS, (u32)index);

	return slot ? gpubpf_load_acquire_u32(slot) : 0;
}

#endif
