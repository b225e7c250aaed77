/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of gpubpf/mark.h as a compiler makes PTX of them, with what a warp does: each lane goes round as often as its
 * number says and once more, and marks how often it has. */
#include <gpubpf/mark.h>

__asm__("// rounds mark 592:5936");
__asm__("//= rounds mark 0 0 enters\n//= rounds mark 1 0 goes_on\n//= rounds mark 2 0 leaves");

/* 1 by all; 0 to the lane's number; 14 by all */
__attribute__((nvptx_kernel)) void rounds(unsigned *out)
{
	unsigned lane = __nvvm_read_ptx_sreg_tid_x(), sum = 0;

	GPUBPF_MARK(enters, 1);
#pragma clang loop unroll(disable)
	for (unsigned k = 0; k <= lane; k++) {
		GPUBPF_MARK(goes_on, k);
		sum ^= k;
	}
	GPUBPF_MARK(leaves, (signed char)14);
	out[lane] = sum;
}
