/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a map lies, as a flag in its definition. Without a flag, the map's type and its programs' accesses decide
 * (gpubpf-map(8)); --place of gpubpf-run(1) overrides both. For programs and for the host.
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_ARRAY);
 *		__uint(map_flags, GPUBPF_F_PINNED);
 *		...
 *	} stop SEC(".maps");
 *
 * A device without such memory runs its kernels unprobed, and a note says what it lacks.
 */
#ifndef GPUBPF_PLACEMENT_H
#define GPUBPF_PLACEMENT_H

enum gpubpf_place_flags {
	GPUBPF_F_DEVICE = 1 << 28,  /* the device's own memory */
	GPUBPF_F_PINNED = 2 << 28,  /* pinned host memory, accessed over the bus */
	GPUBPF_F_SVM = 3 << 28,     /* fine-grained shared memory */
	GPUBPF_F_MANAGED = 4 << 28, /* memory whose pages migrate to the accessing processor */
	GPUBPF_F_PLACE_MASK = 7 << 28,
};

#endif
