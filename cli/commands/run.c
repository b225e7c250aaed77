/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf run: runs an application with probes in its GPU kernels. */
#include "cli/cli.h"

#include <errno.h>

#include "core/session/report/report.h"
#include "core/session/session.h"

extern char **environ;

int cli_run_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);
	int err = 0;

	if (!cli_program_is_only(trace->program))
		err = gpubpf_session__report(s, out, &opts);
	cli_program_maps(trace->program, out);
	return err;
}

int cli_run_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);

	cli_program_json(trace->program, document);
	return gpubpf_report_document(s, document, &opts);
}

static bool has_probes(const struct cli_args *args)
{
	return cli_has(args, OPT_OBJECT) || cli_has(args, OPT_PROBE) || cli_has(args, OPT_EXPR);
}

/* Start the application with the idle library. No session runs, so only the output's options have a meaning. */
static int run_idle(const struct cli_args *args)
{
	char why[600] = "out of memory", **env;

	for (int i = 0; i < OPT_COUNT; i++)
		if (cli_has(args, i) && i != OPT_PREPARED && i != OPT_QUIET && i != OPT_VERBOSE) {
			cli_error("run: --idle starts the application without probes, so no other option applies; pass probes to gpubpf attach");
			return CLI_USAGE;
		}
	if (!args->nrest) {
		cli_error("run: no application; pass it after --, as in gpubpf run --idle -- ./app");
		return CLI_USAGE;
	}
	if (gpubpf_environ_idle(environ, &env, why, sizeof(why)) < 0) {
		cli_error("%s", why);
		return CLI_RUN_FAILED;
	}
	return cli_exec_failed(args->rest[0], cli_exec(args->rest, env));
}

int gpubpf_cmd_run(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .text = cli_run_text, .json = cli_run_json };
	int status;

	if (cli_has(args, OPT_PREPARED))
		return run_idle(args);
	if (cli_has(args, OPT_EMIT) || cli_has(args, OPT_DUMP))
		return cli_program_show(args);
	if (!has_probes(args) && args->nrest && cli_is_object_file(args->rest[0])) {
		cli_error("run: %s is an object; pass an object with -o, as in gpubpf run -o %s -- CMD", args->rest[0],
			  args->rest[0]);
		return CLI_USAGE;
	}
	if (!has_probes(args)) {
		cli_error("run: no probes; use -e PROGRAM, -o FILE, or -p NAME with a name that gpubpf probes lists");
		return CLI_USAGE;
	}
	if (!args->nrest) {
		cli_error("run: no application; pass it after --, as in ... -- ./app");
		return CLI_USAGE;
	}
	status = cli_trace_run(&trace);
	cli_program_close(trace.program);
	return status;
}
