/* SPDX-License-Identifier: Apache-2.0 */
// ids in three dimensions, which the simulator provides on gfx942 only. On simulated gfx90a and gfx1100 this kernel itself
// reads 0 for y and z, without a twin.
// launch 16 8 4 8 4 2
// only gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint x = __builtin_amdgcn_workgroup_id_x() * 8 + __builtin_amdgcn_workitem_id_x();
	uint y = __builtin_amdgcn_workgroup_id_y() * 4 + __builtin_amdgcn_workitem_id_y();
	uint z = __builtin_amdgcn_workgroup_id_z() * 2 + __builtin_amdgcn_workitem_id_z();

	out[(z * 8 + y) * 16 + x] = x + 100 * y + 10000 * z;
}
