/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with loops (their map keys have several words) run in headers of loops that work-items leave in different
 * rounds, with and without barriers. PoCL 3.1 also fails on such loops if the kernel itself contains them. */
//@ run: condition 1024 64 buf:4096 local:64
//@ counted: @branch[condition, 19]: 1280
//@ counted: @shared[condition, 20]: 256
//@ counted: @mem[condition, 22]: 1024
//@ run: body 256 64 buf:4096
//@ counted: @branch[body, 32]: 736
//@ counted: @mem[body, 31]: 1472
//@ run: alone 256 64 buf:4096 i32:5
//@ counted: @branch[alone, 41]: 4416
//@ counted: @branch[alone, 43]: 736
//@ counted: @end[alone, 4]: 4
__kernel void condition(__global int *a, __local int *s)
{
	int l = get_local_id(0);

	for (int i = l; i < 16; i += get_local_size(0))
		s[i] = i;
	barrier(CLK_LOCAL_MEM_FENCE);
	a[get_global_id(0)] = s[15 - l % 16];
}

__kernel void body(__global int *a)
{
	int l = get_local_id(0), at = get_global_id(0);

	barrier(CLK_GLOBAL_MEM_FENCE);
	do
		a[at] += l;
	while (++l < 16);
	barrier(CLK_GLOBAL_MEM_FENCE);
}

__kernel void alone(__global int *a, int n)
{
	int l = get_local_id(0), sum = 0;

	do {
		for (int i = 0; i < n; i++)
			sum = sum * 3 ^ (l + i);
	} while (++l < 16);
	a[get_global_id(0)] = sum;
}
