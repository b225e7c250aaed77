/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that are placed outside the arena (core/wire/placements.def). The row of such a map in a device's arena has the
 * device addresses of its ctl and data. Operations take offsets from the arena's address, so these functions return the
 * differences modulo 2^64.
 */
#ifndef GPUBPF_MAPS_ELSEWHERE_H
#define GPUBPF_MAPS_ELSEWHERE_H

#include "helpers.h"

GPUBPF_FN u64 gpubpf_external_ctl(GPUBPF_ENV, u32 row)
{
	return gpubpf_header_word(env, GPUBPF_ARENA_MAPS + row * GPUBPF_ROW_SIZE + GPUBPF_ROW_CTL) - env->arena;
}

GPUBPF_FN u64 gpubpf_external_data(GPUBPF_ENV, u32 row)
{
	return gpubpf_header_word(env, GPUBPF_ARENA_MAPS + row * GPUBPF_ROW_SIZE + GPUBPF_ROW_DATA) - env->arena;
}

#endif
