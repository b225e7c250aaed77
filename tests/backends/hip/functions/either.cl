/* SPDX-License-Identifier: Apache-2.0 */
// control flow chooses one of two functions
// launch 64 1 1 64 1 1
// options -O2 -g
// refused call call_exit mem: it calls functions through pointers or addresses in memory
NOINLINE uint twice(uint x)
{
	return 2 * x;
}

NOINLINE uint thrice(uint x)
{
	return 3 * x;
}

#define ADDRESS(f) "s_getpc_b64 s[40:41]\n\ts_add_u32 s40, s40, " #f "@rel32@lo+4\n\ts_addc_u32 s41, s41, " #f "@rel32@hi+12\n\t"

kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_cmp_lg_u32 %0, 0\n\ts_cbranch_scc1 .Lother%=\n\t" ADDRESS(twice) "s_branch .Lgo%=\n.Lother%=:\n\t" ADDRESS(thrice)
			 "\n.Lgo%=:\n\ts_swappc_b64 s[30:31], s[40:41]"
			 : : "s"(__builtin_amdgcn_readfirstlane(n)) : "s30", "s31", "s40", "s41", "v0", "v1", "vcc", "scc", "memory");
	out[ID] = twice(ID) + thrice(ID);
}
