/* SPDX-License-Identifier: Apache-2.0 */
#include "duration.h"

#include <stdio.h>

const char *gpubpf_duration(uint64_t ns, char buf[24])
{
	if (ns < 1000)
		snprintf(buf, 24, "%u ns", (unsigned int)ns);
	else if (ns < 1000000)
		snprintf(buf, 24, "%.1f us", ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, 24, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, 24, "%.2f s", ns / 1e9);
	return buf;
}
