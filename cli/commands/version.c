/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf version: prints the version. */
#include "cli/cli.h"

#include "gpubpf/gpubpf.h"

int gpubpf_cmd_version(const struct cli_args *args)
{
	if (cli_has(args, OPT_JSON))
		printf("{ \"version\": \"%s\" }\n", gpubpf_version_string());
	else
		printf("gpubpf %s\n", gpubpf_version_string());
	return CLI_OK;
}
