/* SPDX-License-Identifier: Apache-2.0 */
// reads the dispatch packet, and sizes from hidden arguments if the code object version has them
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	constant uint *packet = (constant uint *)__builtin_amdgcn_dispatch_ptr();

	out[ID] = packet[3] + __builtin_amdgcn_workgroup_size_x() * 7;
}
