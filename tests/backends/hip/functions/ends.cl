/* SPDX-License-Identifier: Apache-2.0 */
// functions with atomics, with a barrier, and with lanes that exit
// launch 128 1 1 64 1 1
//> def k(i):
//>     told('add', [None, i], i // 64)
//>     told('wait_all', [], 0)
//>     mem('A', 4), mem('S', 4)
NOINLINE uint add(global uint *p, uint x)
{
	ADD(p, x);
	return x / 64;
}

NOINLINE void wait_all(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint a = add(out + n, ID);

	wait_all();
	out[ID] = a;
}
