/* SPDX-License-Identifier: Apache-2.0 */
// lanes diverge, in a work-group whose last wave is partial (for waves of 64 lanes)
// launch 224 1 1 112 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 112 + LOCAL;

	((volatile global uint *)out)[i] = i;                       //=
	if (LOCAL % 3 == 1)
		((volatile global uint *)out)[i + 1024] = i;        //= LOCAL % 3 == 1
	for (uint t = 0; t < LOCAL % 4; t++)
		((volatile global uint *)out)[i + 2048 + 1024 * t] = i; //= LOCAL % 4 > TURN
}
