/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a map lies, as a flag of its definition. Without one it lies where its type and what its programs do to it say
 * (gpubpf-map(8)); --place of gpubpf-run(1) wins over both. For programs and the host alike.
 *
 *	struct {
 *		__uint(type, BPF_MAP_TYPE_ARRAY);
 *		__uint(map_flags, GPUBPF_F_PINNED);
 *		...
 *	} stop SEC(".maps");
 *
 * A device that has not such memory runs its kernels unprobed, and a line says what it lacks.
 */
#ifndef GPUBPF_PLACEMENT_H
#define GPUBPF_PLACEMENT_H

enum gpubpf_place_flags {
	GPUBPF_F_DEVICE = 1 << 28,  /* the device's own memory */
	GPUBPF_F_PINNED = 2 << 28,  /* host memory that is pinned, over the bus */
	GPUBPF_F_SVM = 3 << 28,     /* fine-grained shared memory */
	GPUBPF_F_MANAGED = 4 << 28, /* memory whose pages move to who uses them */
	GPUBPF_F_PLACE_MASK = 7 << 28,
};

#endif
