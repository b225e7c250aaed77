/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for the multiprocessor, lane and warp with OpenCL's work-item functions, on devices with or without
 * sub-groups.
 */
#ifndef GPUBPF_MAPS_MACHINE_LANE_H
#define GPUBPF_MAPS_MACHINE_LANE_H

GPUBPF_FN u32 gpubpf_sm(void)
{
	return gpubpf_group_sum();
}

#ifdef GPUBPF_SUBGROUPS
GPUBPF_FN u32 gpubpf_lane(void)
{
	return get_sub_group_local_id();
}

GPUBPF_FN u32 gpubpf_warp(void)
{
	return get_sub_group_id();
}
#else
GPUBPF_FN u32 gpubpf_lane(void)
{
	return 0;
}

GPUBPF_FN u32 gpubpf_warp(void)
{
	return gpubpf_item_linear();
}
#endif

#endif
