/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

/* gfx90a accesses private memory through a buffer descriptor, other processors by scratch instructions. The
 * simulated gfx90a loads 0 from it, even without a probe, so the test does not compare values that depend on loads. */
kernel void k(global uint *out, global const uint *in, uint n)
{
	volatile uint own[16];
	volatile uchar bytes[8];
	uint i = ID;

	own[i & 15] = i;                                           //= S4 P off=any v=i
	bytes[i & 7] = i;                                          //= S1 P off=any v=i
	own[(i & 15) ^ 1] = i + own[i & 15];                       //= L4 P off=any v=0 //= S4 P off=any v=any
	((volatile global uint *)out)[i] = own[(i & 15) ^ 1] + bytes[i & 7]; //= L4 P off=any v=0 //= L1 P off=any v=0 //= S4 G off=4*i v=any
}
