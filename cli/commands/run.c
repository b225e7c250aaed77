/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf run: runs a program with probes in its GPU kernels. */
#include "cli/cli.h"

#include "core/session/report/report.h"

static int write_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);
	int err = 0;

	if (!cli_program_is_only(trace->program))
		err = gpubpf_session__report(s, out, &opts);
	cli_program_maps(trace->program, out);
	return err;
}

static int add_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);

	cli_program_json(trace->program, document);
	return gpubpf_report_document(s, document, &opts);
}

static bool has_probes(const struct cli_args *args)
{
	return cli_has(args, OPT_OBJECT) || cli_has(args, OPT_PROBE) || cli_has(args, OPT_EXPR);
}

int gpubpf_cmd_run(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .text = write_text, .json = add_json };
	int status;

	if (cli_has(args, OPT_EMIT) || cli_has(args, OPT_DUMP))
		return cli_program_show(args);
	if (!has_probes(args)) {
		cli_error("run: no probes; use -e PROGRAM, -o FILE, or -p NAME with a name that gpubpf probes lists");
		return CLI_USAGE;
	}
	if (!args->nrest) {
		cli_error("run: no program; pass it after --, as in ... -- ./app");
		return CLI_USAGE;
	}
	status = cli_trace_run(&trace);
	cli_program_close(trace.program);
	return status;
}
