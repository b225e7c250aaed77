/* SPDX-License-Identifier: Apache-2.0 */
/* A parameter declared as an array is a pointer to an element. Accesses are counted by hand. */
//@ run: lengths 64 16 buf:256
//@ mem: lengths mem 128:512
//@ run: open 64 16 buf:256 buf:256
//@ mem: open mem 192:768
//@ run: shares 64 16 buf:256 local:64
//@ mem: shares mem 128:512 mem.shared 128:512
//@ run: rows 64 16 buf:512 local:128
//@ mem: rows mem 128:512 mem.shared 128:512
//@ run: constants 64 16 buf:256 buf:16
//@ mem: constants mem 128:512 mem.const 64:256
//@ run: named 64 16 buf:512 buf:512
//@ mem: named mem 192:768
//@ run: steps 64 16 buf:1024
//@ mem: steps mem 128:512
//@ run: built_in 64 16 buf:1024 buf:16
//@ mem: built_in mem 128:2048
//@ run: passes 64 16 buf:1024
//@ mem: passes mem 320:1280 mem.local 256:1024
//@ run: sizes 64 16 buf:256
//@ mem: sizes mem 64:256

typedef int four[4];
typedef struct {
	int x, y;
} pair;

__kernel void lengths(__global int o[4])
{
	o[get_global_id(0)]++;
}

__kernel void open(__global int o[], const __global volatile int p[restrict])
{
	o[get_global_id(0)] += p[get_global_id(0)];
}

__kernel void shares(__global int *o, __local int t[])
{
	t[get_local_id(0)] = 3;
	o[get_global_id(0)] += t[get_local_id(0)];
}

__kernel void rows(__global int o[][2], __local int t[const 4][2])
{
	t[get_local_id(0)][1] = 3;
	o[get_global_id(0)][1] += t[get_local_id(0)][1];
}

__kernel void constants(__global int *o, __constant int c[4])
{
	o[get_global_id(0)] += c[2];
}

__kernel void named(__global four o, __global pair p[2])
{
	o[get_global_id(0)] = (p + get_global_id(0))->x + p[get_global_id(0)].y;
}

__kernel void steps(__global int o[4])
{
	o += get_global_id(0);
	o++;
	*(o - 1) += 5;
}

__kernel void built_in(__global int o[4], __global int sum[1])
{
	vstore4(vload4(get_global_id(0), o) * 2, get_global_id(0), o);
	(void)sum;
}

int first(__global int p[2], int q[2])
{
	p++;
	q[1] += p[0];
	return q[0] + p[-1];
}

__kernel void passes(__global int o[])
{
	__global int *at = o + 4 * get_global_id(0);
	int q[2] = { 1, 2 };

	at[2] += first(at, q);
	at[3] = q[1];
}

__kernel void sizes(__global int o[64])
{
	o[get_global_id(0)] = sizeof(o) + sizeof(*o);
}
