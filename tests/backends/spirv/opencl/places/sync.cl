/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics and barriers, and the context that their probes receive. */
//@ oclgrind: all the same
//@ refuses: operations end threads
//@ refuses: squares end threads
//@ refuses: waits end threads
//@ run: operations 256 64 buf:32768 buf:4096
//@ mem: operations atomic 2816:11264 barrier 0:0 mem 3072:12288
//@ told: operations atomic atomics=2816 ops=12288 operands=17101312 olds=363136 spaces=2816
//@ run: waits 256 64 buf:4096 buf:4096
//@ mem: operations block_begin 4:0
//@ run: squares 12,6,4 4,3,2 buf:4096 buf:4096
//@ mem: squares block_begin 12:0 atomic 0:0 barrier 0:0
//@ mem: waits block_begin 4:0
//@ mem: waits atomic 256:1024 barrier 1024:0 barrier_exit 1024:0
//@ told: waits barrier barriers=1024
//@ told: waits barrier_exit barriers=1024
//@ told: waits atomic spaces=512 operands=512

/* Each lane executes 11 atomics on its own int, which is i + 1 before the first atomic. */
__kernel void operations(__global int *a, __global int *b)
{
	int i = get_global_id(0);
	__global int *p = a + 16 * i;

	*p = i + 1;
	atomic_add(p, 5);
	atomic_sub(p, 5);
	atomic_inc(p);
	atomic_dec(p);
	atomic_min(p, 1000);
	atomic_max(p, 0);
	atomic_and(p, 0xffff);
	atomic_or(p, 0);
	atomic_xor(p, 0);
	atomic_xchg(p, i);
	atomic_cmpxchg(p, i, 7);
}

void both(__local int *s, int l)
{
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&s[l], 2);
	barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel void waits(__global int *a, __global int *b)
{
	__local int s[64];
	int l = get_local_id(0), i = get_global_id(0);

	s[l] = a[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	both(s, 63 - l);
	barrier(CLK_GLOBAL_MEM_FENCE);
	b[i] = s[l];
}

__kernel void squares(__global int *a, __global int *b)
{
	int i = get_global_id(0) + 12 * (get_global_id(1) + 6 * get_global_id(2));

	int v = b[i]; /* the twin must read b[i] once, as the source does */

	a[i] = v * v;
}
