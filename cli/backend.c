/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "core/device.h"

bool cli_backend_known(const char *name)
{
	return cli_value_known(OPT_BACKEND, name);
}

const char *cli_backend_missing(const char *name)
{
	return gpubpf_device_missing(name);
}
