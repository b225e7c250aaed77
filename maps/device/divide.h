/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Division for probes in machine code. For 64 bits the assembler would generate calls, and for 32 bits floating-point
 * code; probes support neither (backends/cuda/sass). If the divisor is a constant, the compiler multiplies instead.
 * Callers guarantee that no divisor is 0, and that no divisor of a signed division is -1 (core/lower/llvm/alu.c).
 */
#ifndef GPUBPF_MAPS_DIVIDE_H
#define GPUBPF_MAPS_DIVIDE_H

#include "machine.h"

/*
 * Return n / d, and store the remainder in *rest. Long division: each step computes one bit of the quotient, beginning
 * with the highest bit that can be 1.
 */
GPUBPF_FN u64 gpubpf_divide_both(u64 n, u64 d, GPUBPF_PRIVATE u64 *rest)
{
	s32 left = (s32)__builtin_clzl(d) - (s32)__builtin_clzl(n | 1);
	u64 quotient = 0;

	for (d <<= left > 0 ? left : 0; left >= 0; left--, d >>= 1) {
		bool fits = n >= d;

		n -= fits ? d : 0;
		quotient = quotient << 1 | fits;
	}
	*rest = n;
	return quotient;
}

GPUBPF_FN u64 gpubpf_divide_size(s64 v)
{
	return v < 0 ? 0 - (u64)v : (u64)v;
}

GPUBPF_FN u64 gpubpf_divide_u64(u64 n, u64 d)
{
	u64 rest;

	return __builtin_constant_p(d) ? n / d : gpubpf_divide_both(n, d, &rest);
}

GPUBPF_FN u64 gpubpf_rest_u64(u64 n, u64 d)
{
	u64 rest;

	if (__builtin_constant_p(d))
		return n % d;
	gpubpf_divide_both(n, d, &rest);
	return rest;
}

GPUBPF_FN u64 gpubpf_divide_s64(s64 n, s64 d)
{
	u64 rest, quotient;

	if (__builtin_constant_p(d))
		return (u64)(n / d);
	quotient = gpubpf_divide_both(gpubpf_divide_size(n), gpubpf_divide_size(d), &rest);
	return (n ^ d) < 0 ? 0 - quotient : quotient;
}

GPUBPF_FN u64 gpubpf_rest_s64(s64 n, s64 d)
{
	u64 rest;

	if (__builtin_constant_p(d))
		return (u64)(n % d);
	gpubpf_divide_both(gpubpf_divide_size(n), gpubpf_divide_size(d), &rest);
	return n < 0 ? 0 - rest : rest;
}

#endif
