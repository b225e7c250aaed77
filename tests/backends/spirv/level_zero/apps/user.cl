/* SPDX-License-Identifier: Apache-2.0 */
uint mixed(uint value, uint by);

__kernel void uses(__global uint *data, uint by)
{
	uint i = get_global_id(0);

	data[i] = mixed(data[i], by + i);
}
