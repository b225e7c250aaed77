/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf prepare: runs an application and builds the twins of its kernels for the cache. Launches do not wait for
 * twins.
 */
#include "cli/cli.h"

#include "core/session/report/report.h"

static int write_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_cost_stats c = { .sz = sizeof(c) };
	int err = gpubpf_session__cost(s, &c);

	if (!cli_has(trace->args, OPT_QUIET))
		fprintf(out, "%u twin%s built, %u already cached, %u refused (gpubpf run prints the reasons)\n",
			c.twins, c.twins == 1 ? "" : "s", c.cached, c.refused);
	return err;
}

static int add_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document)
{
	struct gpubpf_report_opts opts = { .sz = sizeof(opts), .json = true };

	return gpubpf_report_document(s, document, &opts);
}

int gpubpf_cmd_prepare(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .prepare = true, .text = write_text, .json = add_json };
	char cache[512];

	int status;

	if ((!cli_has(args, OPT_OBJECT) && !cli_has(args, OPT_PROBE) && !cli_has(args, OPT_EXPR)) || !args->nrest) {
		cli_error("prepare: %s", args->nrest ? "no BPF programs; use -o FILE, -p NAME or -e PROGRAM" :
						       "no application; pass it after --");
		return CLI_USAGE;
	}
	if (!cli_env_cache_dir(cache, sizeof(cache))) {
		cli_error("prepare: no folder for cached twins; set XDG_CACHE_HOME or HOME");
		return CLI_RUN_FAILED;
	}
	status = cli_trace_run(&trace);
	cli_program_close(trace.program);
	return status;
}
