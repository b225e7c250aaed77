/* SPDX-License-Identifier: Apache-2.0 */
// refused mem.all mem.local: a buffer with an unknown descriptor
#include "forms.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint got;

	__asm__ volatile("s_mov_b64 s[40:41], %[b]\ns_mov_b32 s42, -1\ns_mov_b32 s43, 0\nbuffer_load_dword %[got], off, s[40:43], s42\n" WAIT
			 : [got] "=v"(got) : [b] "s"(UNIFORM(in)) : "s40", "s41", "s42", "s43");
	out[ID] = got;
}
