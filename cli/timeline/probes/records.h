/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the programs of `gpubpf timeline`. The programs and the tool include this header. */
#ifndef GPUBPF_CLI_TIMELINE_RECORDS_H
#define GPUBPF_CLI_TIMELINE_RECORDS_H

#include "gpubpf/ctx.h"

#define TIMELINE_HOST_KERNEL 10 /* event of a kernel that the runtime measured (host/kernel_exit) */
#define TIMELINE_ROWS 4096 /* rows of launches that the tool has not read yet */

/* A call of the runtime, or a kernel that the runtime measured. */
struct timeline_call {
	gpubpf_u32 event, direction; /* enum gpubpf_host_event, enum gpubpf_copy_direction */
	gpubpf_u32 pid, tid;
	gpubpf_u64 start, duration; /* ns */
	gpubpf_u64 function;        /* id of the function's name */
	gpubpf_u64 kernel, launch;  /* of a launch or kernel */
	gpubpf_u64 stream, bytes;
	gpubpf_u64 device_ns; /* time of a copy on the device; 0: not known */
	gpubpf_u64 result;
	gpubpf_u64 blocks; /* of a kernel; 0: not known */
	gpubpf_u64 stack;  /* id of the thread's stack in the map `timeline_stacks`, or negative */
};

#endif
