/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags for map_flags that select the memory in which a map is placed. Without a flag, the map's type and the programs'
 * accesses decide (gpubpf-map(8)). The option --place of gpubpf-run(1) overrides both. Programs and the host include
 * this header.
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_ARRAY);
 *		__uint(map_flags, GPUBPF_F_PINNED);
 *		...
 *	} stop SEC(".maps");
 *
 * If a device does not have such memory, its kernels run unprobed, and a note names the missing capability.
 */
#ifndef GPUBPF_PLACEMENT_H
#define GPUBPF_PLACEMENT_H

enum gpubpf_place_flags {
	GPUBPF_F_DEVICE = 1 << 28,  /* memory of the device */
	GPUBPF_F_PINNED = 2 << 28,  /* pinned host memory, which the device accesses over the bus */
	GPUBPF_F_SVM = 3 << 28,     /* fine-grained shared virtual memory (OpenCL SVM or USM) */
	GPUBPF_F_MANAGED = 4 << 28, /* managed memory, whose pages migrate to the processor that accesses them */
	GPUBPF_F_PLACE_MASK = 7 << 28,
};

#endif
