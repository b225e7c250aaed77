/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a switch. clang stores it in a SPIR-V variable of the storage class CrossWorkgroup, with the decoration
 * Constant. The load from the table counts as an access.
 */
//@ run: tables 64 32 buf:256
//@ mem-il: tables mem 192:768 mem.plain 192:0
__kernel void tables(__global uint *a)
{
	uint i = get_global_id(0), v;

	switch ((a[i] ^ i) & 7) {
	case 0: v = 11; break;
	case 1: v = 7; break;
	case 2: v = 95; break;
	case 3: v = 4; break;
	case 4: v = 77; break;
	case 5: v = 1; break;
	case 6: v = 1234; break;
	default: v = 5;
	}
	a[i] = v;
}
