/* SPDX-License-Identifier: Apache-2.0 */
/* The frames in the values of a STACK_TRACE map. */
#ifndef GPUBPF_STACK_FRAME_H
#define GPUBPF_STACK_FRAME_H

#include <stdint.h>

#define GPUBPF_STACK_BUILD_ID 32u  /* map flag BPF_F_STACK_BUILD_ID: values have frames as below instead of addresses */

/* values of `status` in struct bpf_stack_build_id */
enum { GPUBPF_FRAME_NONE, GPUBPF_FRAME_VALID, GPUBPF_FRAME_ADDRESS };
struct gpubpf_stack_frame {
	int32_t status;
	uint8_t build_id[20]; /* build id; a shorter build id is padded with zeros */
	uint64_t offset;      /* offset in the file, or the address if the status is GPUBPF_FRAME_ADDRESS */
};

/* Returns the size of a frame in bytes, by the map's flags. */
static inline uint32_t gpubpf_stack_frame_size(uint32_t map_flags)
{
	return map_flags & GPUBPF_STACK_BUILD_ID ? sizeof(struct gpubpf_stack_frame) : sizeof(uint64_t);
}

#endif
