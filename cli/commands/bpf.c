/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf bpf: runs an unmodified eBPF loader and the applications that its programs probe in one session. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/session/report/report.h"

extern char **environ;

/* Write the report only with --report or -v: by default the loader prints its own results. */
static int write_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);

	return cli_has(trace->args, OPT_REPORT) || cli_has(trace->args, OPT_VERBOSE) ?
		       gpubpf_session__report(s, out, &opts) :
		       0;
}

static int add_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document)
{
	struct gpubpf_report_opts opts = cli_report_opts(trace->args);

	return gpubpf_report_document(s, document, &opts);
}

/* Run the loader in a session that is already running. */
static int join(const struct cli_args *args)
{
	struct gpubpf_environ_opts o = { .backend = cli_str(args, OPT_BACKEND, cli_env_backend()),
					 .loaders = true,
					 .supervised = cli_has(args, OPT_SUPERVISE) };
	char path[512], why[600] = "out of memory", **env, **argv;
	int status = cli_session_find(args, path, sizeof(path));

	if (status != CLI_OK)
		return CLI_RUN_FAILED;
	o.session = path;
	if (gpubpf_environ(&o, environ, &env, why, sizeof(why)) < 0) {
		cli_error("%s", why);
		return CLI_RUN_FAILED;
	}
	argv = cli_supervised(args);
	return cli_exec_failed(args->rest[0], cli_exec(argv, env));
}

int gpubpf_cmd_bpf(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .loaders = true, .text = write_text, .json = add_json };

	if (!args->nrest) {
		cli_error("bpf: no loader; pass it after --, as in gpubpf bpf -- ./loader");
		return CLI_USAGE;
	}
	return cli_has(args, OPT_SESSION) ? join(args) : cli_trace_run(&trace);
}
