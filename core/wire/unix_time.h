/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offset between two clocks that helpers return. Helper 5 returns CLOCK_MONOTONIC. In bpftime's objects helper 502
 * returns Unix time, like NVIDIA's %globaltimer.
 */
#ifndef GPUBPF_CORE_WIRE_UNIX_TIME_H
#define GPUBPF_CORE_WIRE_UNIX_TIME_H

#include <stdint.h>
#include <time.h>

/* Returns CLOCK_REALTIME minus CLOCK_MONOTONIC in ns. */
static inline uint64_t gpubpf_unix_offset_ns(void)
{
	struct timespec unix_time, monotonic;

	clock_gettime(CLOCK_REALTIME, &unix_time);
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	return (uint64_t)(unix_time.tv_sec - monotonic.tv_sec) * 1000000000ull +
	       (uint64_t)(unix_time.tv_nsec - monotonic.tv_nsec);
}

#endif
