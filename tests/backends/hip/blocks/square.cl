/* SPDX-License-Identifier: Apache-2.0 */
// multidimensional work-groups that are smaller than a wave of 64 lanes
// launch 16 12 1 4 4 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = LOCAL + 4 * __builtin_amdgcn_workitem_id_y() + 16 * (GROUP + 4 * __builtin_amdgcn_workgroup_id_y());

	out[i] = in[i] + n;
}
