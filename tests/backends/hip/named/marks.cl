/* SPDX-License-Identifier: Apache-2.0 */
// marks that are consecutive, conditional and in a loop, with signed and unsigned values
// launch 256 1 1 128 1 1
#include <gpubpf/mark.h>

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL, sum = in[i];

	GPUBPF_MARK(begins, i);                                            //= mark:begins mark=i
	GPUBPF_MARK(begins_too, 5 - (int)LOCAL);                           //= mark:*_too mark=5-l
	if (LOCAL > 100) {
		sum += 3;
		GPUBPF_MARK(high, 1ul << 40 | LOCAL);                      //= mark:high on=l>100 mark=(1<<40)+l
	}
	for (uint t = 0; t < LOCAL % 4; t++) {
		sum = sum * 5 + t;
		GPUBPF_MARK(turn, t + i);                                  //= mark:turn turns=3 on=l%4>t mark=t+i
	}
	GPUBPF_MARK(ends, 1);                                              //= mark:ends mark=1
	out[i] = sum;
}
