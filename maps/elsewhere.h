/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that lie elsewhere than in the arena (core/wire/placements.def): on a device, the arena's row of one has the addresses of
 * its ctl and data. What operations take are offsets from the arena, which these are too, modulo 2^64.
 */
#ifndef GPUBPF_MAPS_ELSEWHERE_H
#define GPUBPF_MAPS_ELSEWHERE_H

#include "helpers.h"

GPUBPF_FN u64 gpubpf_elsewhere_ctl(GPUBPF_ENV, u32 row)
{
	return gpubpf_header_word(env, GPUBPF_ARENA_MAPS + row * GPUBPF_ROW_SIZE + GPUBPF_ROW_CTL) - env->arena;
}

GPUBPF_FN u64 gpubpf_elsewhere_data(GPUBPF_ENV, u32 row)
{
	return gpubpf_header_word(env, GPUBPF_ARENA_MAPS + row * GPUBPF_ROW_SIZE + GPUBPF_ROW_DATA) - env->arena;
}

#endif
