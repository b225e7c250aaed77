/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf run: a program with probes in its GPU kernels. */
#include "cli.h"

#include "gpubpf/gpubpf.h"

static int write_report(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_report_opts opts = {
		.sz = sizeof(opts), .json = cli_has(trace->args, OPT_JSON),
		.demangle = cli_has(trace->args, OPT_DEMANGLE),
		.json_strings = cli_has(trace->args, OPT_JSON_STRINGS),
	};

	return cli_has(trace->args, OPT_QUIET) ? 0 : gpubpf_session__report(s, out, &opts);
}

int gpubpf_cmd_run(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .report = write_report };

	if (!cli_has(args, OPT_OBJECT)) {
		cli_error("run: no object is given; use -o FILE");
		return CLI_USAGE;
	}
	if (!args->nrest) {
		cli_error("run: no program is given; put it behind --");
		return CLI_USAGE;
	}
	return cli_trace_run(&trace);
}
