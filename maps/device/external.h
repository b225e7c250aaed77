/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to maps that are placed outside the arena (core/wire/placements.def). In the device's copy of the arena, the
 * row of such a map has device addresses in ctl and data. Operations on maps add an offset to the arena's address. So
 * these functions return the address minus the arena's address, modulo 2^64.
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
