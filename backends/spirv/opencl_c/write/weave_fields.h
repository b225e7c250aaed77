/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the code that stores the context fields of a place and calls the place's site. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_FIELDS_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_FIELDS_H

#include "weave.h"

static inline enum gpubpf_when when_of(const struct cl_place *place)
{
	return gpubpf_place_kind(place->kind)->when;
}

static inline const struct cl_event *event_of(const struct gpubpf_weave *w, uint32_t i)
{
	return &w->unit->function[w->function].event[i];
}

/*
 * Write code that stores the context fields that the BPF programs of the place read, and that calls the place's site.
 */
void gpubpf_weave_fields(const struct gpubpf_weave *w, const struct cl_place *place, FILE *out);

#endif
