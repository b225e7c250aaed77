/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of gpubpf/mark.h, compiled to PTX, with their counts for a warp: each lane runs its number
 * plus one rounds, and marks the round. */
#include <gpubpf/mark.h>

__asm__("// rounds mark 592:5936");
__asm__("//= rounds mark 0 0 enters\n//= rounds mark 1 0 goes_on\n//= rounds mark 2 0 leaves");

/* all lanes mark 1; each marks 0 to its number; all mark 14 */
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
