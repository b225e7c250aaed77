/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel with marks of gpubpf/mark.h, compiled to PTX, with the expected counts
 * of one warp. Lane N runs N + 1 rounds and marks the number of each round. */
#include <gpubpf/mark.h>

__asm__("// rounds mark 592:5936");
__asm__("//= rounds mark 0 0 enters\n//= rounds mark 1 0 goes_on\n//= rounds mark 2 0 leaves");

/* each lane marks 1; lane N marks 0 to N; each lane marks 14 */
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
