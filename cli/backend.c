/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

#include "core/device.h"

bool cli_backend_known(const char *name)
{
	const char *names[16], *near, *known;
	char list[128] = "";
	size_t n = 0;

	for (; n < 16 && (known = gpubpf_backend_at(n)); n++) {
		if (!strcmp(known, name))
			return true;
		names[n] = known;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", n ? ", " : "", known);
	}
	near = cli_nearest(name, names, n);
	cli_error("%s is no backend%s%s%s; known are: %s", name, near ? ", did you mean " : "", near ? near : "",
		  near ? "?" : "", list);
	return false;
}

const char *cli_backend_missing(const char *name)
{
	return gpubpf_device_missing(name);
}
