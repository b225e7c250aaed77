/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <string.h>

size_t gpubpf_distance(const char *a, const char *b)
{
	size_t row[65], n = strlen(b);

	if (n > 64 || strlen(a) > 64)
		return 64;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			best = up + 1 < best ? up + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			row[j] = best;
			diagonal = up;
		}
	}
	return row[n];
}
