/* SPDX-License-Identifier: Apache-2.0 */
// launch 256 1 1 128 1 1
#include "forms.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint shared[128];
	uint i = ID;

	shared[LOCAL] = i;
	__builtin_amdgcn_s_barrier();                              //= B
	i += shared[(LOCAL + 64) & 127];
	__builtin_amdgcn_s_barrier();                              //= B
	if (n > 3)
		__builtin_amdgcn_s_barrier();                      //= B
	out[ID] = i;
}
