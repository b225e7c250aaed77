/* SPDX-License-Identifier: Apache-2.0 */
/* The second kernel has a barrier before a loop with two entries. PoCL 3.1's compiler crashes on its twin only. */
//@ run: harmless 64 8 buf:4096
//@ run: deadly 64 8 buf:4096
int sum_from(__global int *a, int n)
{
	int sum = 0, rounds = (n + 2) / 3;

	switch (n % 3) {
	case 0:
		do {
			sum += a[3 * rounds];
	case 2:
			sum += a[3 * rounds + 1];
	case 1:
			sum += a[3 * rounds + 2];
		} while (--rounds > 0);
	}
	return sum;
}

__kernel void deadly(__global int *a)
{
	int i = get_global_id(0);

	a[i] += sum_from(a + 128, (i & 7) + 1);
}

__kernel void harmless(__global int *a)
{
	a[get_global_id(0)] += 2;
}
