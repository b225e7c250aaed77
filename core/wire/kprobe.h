/* SPDX-License-Identifier: Apache-2.0 */
/* How bpftime's probes name kernels of a GPU: as a kprobe of a function that no Linux kernel has. */
#ifndef GPUBPF_CORE_WIRE_KPROBE_H
#define GPUBPF_CORE_WIRE_KPROBE_H

#include <stdbool.h>
#include <string.h>

#define GPUBPF_KPROBE_GPU "cuda__"

static inline bool gpubpf_kprobe_is_gpu(const char *function)
{
	return !strncmp(function, GPUBPF_KPROBE_GPU, strlen(GPUBPF_KPROBE_GPU));
}

#endif
