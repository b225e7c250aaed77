/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the device library's division (maps/device/divide.h) with the host's division. Probes in machine code use
 * the device library's division.
 */
#include <stdbool.h>

#include "maps/device/divide.h"
#include "tests/tap.h"

static const u64 edges[] = { 0, 1, 2, 3, 7, 10, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x100000001,
			     0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe, 0xffffffffffffffff };
static unsigned wrong;

static u64 next_random(void)
{
	static u64 state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state ^ state >> 29) >> (state >> 58); /* random length */
}

static void try(u64 n, u64 d)
{
	s64 signed_n = (s64)n, signed_d = (s64)d;

	if (!d)
		return;
	wrong += gpubpf_divide_u64(n, d) != n / d || gpubpf_rest_u64(n, d) != n % d;
	if (signed_d != -1)
		wrong += gpubpf_divide_s64(signed_n, signed_d) != (u64)(signed_n / signed_d) ||
			 gpubpf_rest_s64(signed_n, signed_d) != (u64)(signed_n % signed_d);
}

int main(void)
{
	const unsigned n = sizeof(edges) / sizeof(edges[0]);

	for (unsigned i = 0; i < n * n; i++)
		try(edges[i / n], edges[i % n]);
	ok(!wrong, "numbers at the edges: %u are wrong", wrong);
	for (unsigned i = 0; i < 1000000; i++)
		try(next_random(), next_random());
	ok(!wrong, "a million pairs of any length: %u are wrong", wrong);
	return done();
}
