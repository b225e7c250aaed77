/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the calls that lanes post in a HOST_CALL map (maps/kinds/host_call.h). */
#ifndef GPUBPF_MAPS_HOST_CALLS_H
#define GPUBPF_MAPS_HOST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "maps/maps.h"

#define GPUBPF_HOST_CALL_BYTES 512u   /* limit of an argument and of an output, in bytes */
#define GPUBPF_HOST_CALL_SLOTS 65536u /* limit of the slots of a map */

/*
 * The function of a map: reads the argument `in`, of key_size bytes, and writes the output `out`, of value_size bytes.
 * These are 0 at first. Returns the helper's result.
 */
typedef int64_t gpubpf_host_call_serve_fn(void *arg, const void *in, void *out);

/* Set whether calls have a function, and how long a call waits for its answer. */
void gpubpf_host_call_enable(const struct gpubpf_map_view *view, bool on, uint64_t limit_ns);
/* Store in `answered`, for each slot, the sequence number of the last answered request. */
void gpubpf_host_call_skip(const struct gpubpf_map_view *view, uint32_t *answered);
/*
 * Answer all posted requests, and store their sequence numbers in `answered`. Only one thread at a time may serve a map.
 * Returns the number of calls.
 */
uint32_t gpubpf_host_call_serve(const struct gpubpf_map_view *view, uint32_t *answered, gpubpf_host_call_serve_fn *fn,
				void *arg);

#endif
