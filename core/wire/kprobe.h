/* SPDX-License-Identifier: Apache-2.0 */
/* bpftime's names for GPU kernels: kprobes of functions "cuda__NAME", which the Linux kernel does not have. */
#ifndef GPUBPF_CORE_WIRE_KPROBE_H
#define GPUBPF_CORE_WIRE_KPROBE_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define GPUBPF_KPROBE_GPU "cuda__"
#define GPUBPF_KPROBE_CAPTURE "__memcapture"     /* name of a function whose program runs at each memory access */
#define GPUBPF_KPROBE_RUN "__directly_run"       /* name of a function whose program bpftime runs on the GPU without a
						  * kernel of the application; not supported */
#define GPUBPF_KPROBE_NOT_RUN "bpftime's programs that run without a probed kernel are not supported"

static inline bool gpubpf_kprobe_is_gpu(const char *function)
{
	return !strncmp(function, GPUBPF_KPROBE_GPU, strlen(GPUBPF_KPROBE_GPU));
}

/*
 * Returns the kernel's name in a kprobe's name: cuda__NAME is NAME. For a mangled name such as cuda__Z3foov, one
 * underscore belongs to the name: _Z3foov.
 */
static inline const char *gpubpf_kprobe_kernel(const char *function)
{
	const char *name = function + strlen(GPUBPF_KPROBE_GPU);

	if (!gpubpf_kprobe_is_gpu(function))
		return function;
	return name[0] == 'Z' && (isdigit((unsigned char)name[1]) || name[1] == 'N') ? name - 1 : name;
}

#endif
