/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PROG_ARRAY: an array (array.h) whose values are numbers of programs.
 *
 *   value     u32 number of a program in the map's object, from 1; 0: no program. Only the host writes values.
 *
 * The code that loading generates (core/load/tail.c) branches to the program of a known number. For any other number it
 * continues as if the element were empty.
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
