/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on numbers. The same operators in a kernel (cli/lang/gen/expr.c) have the same results. */
#include "host.h"

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return rest ? a : 0;
	if (is_signed && b == UINT64_MAX)
		return rest ? 0 : -a;
	if (is_signed)
		return rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b;
	return rest ? a % b : a / b;
}

static bool less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

uint64_t lang_operate(enum lang_token op, uint64_t a, uint64_t b, bool is_signed)
{
	switch (op) {
	case LANG_T_ADD:
		return a + b;
	case LANG_T_SUB:
		return a - b;
	case LANG_T_MUL:
		return a * b;
	case LANG_T_DIV:
		return divide(a, b, is_signed, false);
	case LANG_T_MOD:
		return divide(a, b, is_signed, true);
	case LANG_T_AND:
		return a & b;
	case LANG_T_OR:
		return a | b;
	case LANG_T_XOR:
		return a ^ b;
	case LANG_T_LSH:
		return a << (b & 63);
	case LANG_T_RSH:
		return is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
	case LANG_T_EQ:
		return a == b;
	case LANG_T_NE:
		return a != b;
	case LANG_T_LT:
		return less(a, b, is_signed);
	case LANG_T_GT:
		return less(b, a, is_signed);
	case LANG_T_LE:
		return !less(b, a, is_signed);
	case LANG_T_GE:
		return !less(a, b, is_signed);
	default:
		return 0;
	}
}

uint64_t lang_narrow(uint64_t v, uint64_t bits, bool is_signed)
{
	uint32_t unused = bits && bits < 64 ? 64 - bits : 0;

	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}
