/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that bpftime's objects use for GPU kernels: kprobes of functions "cuda__NAME". The Linux kernel has no
 * functions of these names.
 */
#ifndef GPUBPF_CORE_WIRE_KPROBE_H
#define GPUBPF_CORE_WIRE_KPROBE_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define GPUBPF_KPROBE_GPU "cuda__"
#define GPUBPF_KPROBE_CAPTURE "__memcapture" /* function name; the program runs at each memory access */
/* function name; bpftime runs the program on the GPU independently of the application's GPU kernels */
#define GPUBPF_KPROBE_RUN "__directly_run"
#define GPUBPF_KPROBE_NOT_RUN "programs of __directly_run begin as a kprobe; use kprobe/__directly_run"

static inline bool gpubpf_kprobe_is_gpu(const char *function)
{
	return !strncmp(function, GPUBPF_KPROBE_GPU, strlen(GPUBPF_KPROBE_GPU));
}

/*
 * Returns the GPU kernel's name in a kprobe's function name. For cuda__NAME this is NAME. For a mangled name such as
 * cuda__Z3foov, the second underscore belongs to the kernel's name: _Z3foov.
 */
static inline const char *gpubpf_kprobe_kernel(const char *function)
{
	const char *name = function + strlen(GPUBPF_KPROBE_GPU);

	if (!gpubpf_kprobe_is_gpu(function))
		return function;
	return name[0] == 'Z' && (isdigit((unsigned char)name[1]) || name[1] == 'N') ? name - 1 : name;
}

#endif
