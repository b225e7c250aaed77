/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that wait until another program arms them. Programs and the host include this header.
 *
 * GPUBPF_ARMS(PROGRAM) makes PROGRAM, another program of this object, wait. Launches then run without it. The call
 * gpubpf_arm(PROGRAM, n) arms it for the next n launches on this device, of all kernels to which PROGRAM is attached. A
 * later call replaces the number, so each thread may make the same call. gpubpf_disarm(PROGRAM) is the same as
 * gpubpf_arm(PROGRAM, 0).
 *
 *	GPUBPF_ARMS(trace);
 *
 *	SEC("gpu/exit/matmul")
 *	int watch(struct gpubpf_ctx *ctx)
 *	{
 *		if (... the thread ran too long ...)
 *			gpubpf_arm(trace, 1);
 *		return 0;
 *	}
 *
 * The agent reads the request at the next launch. The request is in pinned host memory. A device without such memory
 * runs the kernels unprobed, and a note says so.
 */
#ifndef GPUBPF_ARM_H
#define GPUBPF_ARM_H

/* A value of map_flags, for an ARRAY with one value of 8 bytes whose name is arm_PROGRAM. */
#define GPUBPF_F_ARMS (1u << 26)
#define GPUBPF_ARMS_PREFIX "arm_"

#define GPUBPF_ARMS(program) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, GPUBPF_F_ARMS | GPUBPF_F_PINNED); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, __u64); \
	} arm_##program SEC(".maps")
#define gpubpf_arm(program, launches) bpf_gpu_arm(&arm_##program, launches)
#define gpubpf_disarm(program) bpf_gpu_arm(&arm_##program, 0)

#endif
