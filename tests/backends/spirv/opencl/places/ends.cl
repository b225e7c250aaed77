/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends of blocks. "values" is the number of the block's lanes that exited before its end. Lanes exit
 * early, in loops of different lengths, with and without barriers. Block memory is declared, or it is an argument. */
//@ run: plain 64 16 buf:4096
//@ mem: plain block_begin 4:0 block_end 4:0
//@ told: plain block_end values=64
//@ run: early 12,6,4 4,3,2 buf:4096
//@ mem: early block_begin 12:0 block_end 12:0
//@ told: early block_end values=288
//@ run: meets 256 64 buf:4096 local:256
//@ mem: meets block_begin 4:0 block_end 4:0
//@ told: meets block_end values=256
//@ run: twice 64 16 buf:4096
//@ run: twice 64 64 buf:4096
//@ mem: twice block_begin 5:0 block_end 5:0
__kernel void plain(__global int *a)
{
	a[get_global_id(0)] = get_local_id(0);
}

__kernel void early(__global int *a)
{
	int i = get_global_id(0) + 12 * (get_global_id(1) + 6 * get_global_id(2));

	if (i % 3 == 0)
		return;
	for (int k = 0; k < i % 7; k++) {
		if (k == 5)
			return;
		a[i] += k;
	}
	a[i] += 1;
}

__kernel void meets(__global int *a, __local int *s)
{
	__local int t[64];
	int l = get_local_id(0), i = get_global_id(0);

	s[l] = i;
	t[63 - l] = l;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l < 9)
		return;
	a[i] = s[63 - l] + t[l];
}

__kernel void twice(__global int *a)
{
	a[get_global_id(0)] = 2;
}
