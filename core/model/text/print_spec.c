/* SPDX-License-Identifier: Apache-2.0 */
#include "print_spec.h"

#include <stddef.h>
#include <string.h>

#define WIDTH_DIGITS 3 /* maximum number of digits; limited because a program on the device may request any width */
#define PRECISION_DIGITS 2

struct gpubpf_print_spec gpubpf_print_spec(const char **fmt)
{
	struct gpubpf_print_spec spec = { .flags = "%" };
	const char *p = *fmt + 1;
	size_t n = 1, width;

	while (*p && strchr("0+- #", *p) && n < 8)
		spec.flags[n++] = *p++;
	for (width = 0; *p >= '0' && *p <= '9' && width < WIDTH_DIGITS; width++)
		spec.flags[n++] = *p++;
	if (*p == '.') { /* a precision; only the conversions %f, %e and %g may have it */
		spec.flags[n++] = *p++;
		for (width = 0; *p >= '0' && *p <= '9' && width < PRECISION_DIGITS; width++)
			spec.flags[n++] = *p++;
		spec.conv = *p && strchr("feg", *p) ? *p++ : 0;
		*fmt = p;
		return spec;
	}
	while (*p == 'l' && spec.longs < 2) {
		spec.longs++;
		p++;
	}
	if (*p && strchr("diuxXcspfeg%", *p))
		spec.conv = *p++;
	if (spec.conv == 'p' && (*p == 'k' || *p == 'u') && p[1] == 's') {
		spec.conv = 's';
		p += 2;
	} else if (spec.conv == 'p' && *p && strchr("KxBsS", *p)) {
		p++;
	}
	*fmt = p;
	return spec;
}
