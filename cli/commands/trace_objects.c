/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the objects, ready probes and placements of the command line to a session, for cli/commands/trace.c. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "gpubpf/gpubpf.h"

static int add_probes(const struct cli_trace *trace, struct gpubpf_session *s)
{
	char **paths;
	int status = cli_probe_objects(trace->args, trace->probe, &paths);

	for (uint32_t i = 0; status == CLI_OK && paths[i]; i++)
		if (gpubpf_session__add_object(s, paths[i]) < 0)
			status = CLI_RUN_FAILED;
	for (uint32_t i = 0; paths && paths[i]; i++)
		free(paths[i]);
	free(paths);
	return status;
}

/* Parse MAP=WHERE and add it to the session's placements of maps. */
static int add_place(struct gpubpf_session *s, const char *name, const char *text)
{
	const char *equals = strrchr(text, '=');
	char map[64];

	if (!equals || equals == text || !equals[1] || (size_t)(equals - text) >= sizeof(map)) {
		cli_error("%s %s: must be MAP=WHERE, where MAP is a map's name or a glob, and WHERE is device, pinned, "
			  "svm or managed",
			  name, text);
		return CLI_USAGE;
	}
	snprintf(map, sizeof(map), "%.*s", (int)(equals - text), text);
	return gpubpf_session__place(s, map, equals + 1) < 0 ? CLI_RUN_FAILED : CLI_OK;
}

/*
 * Add the placements of GPUBPF_PLACE, then the placements of --place. If several match one map, the last one is used.
 */
static int add_places(const struct cli_trace *trace, struct gpubpf_session *s)
{
	const struct cli_values *places = &trace->args->option[OPT_PLACE];
	char *env = strdup(cli_env_place() ? cli_env_place() : ""), *left = env, *text;
	int status = env ? CLI_OK : CLI_RUN_FAILED;

	while (status == CLI_OK && (text = strsep(&left, ",")))
		if (text[0])
			status = add_place(s, "GPUBPF_PLACE", text);
	for (uint32_t i = 0; i < places->n && status == CLI_OK; i++)
		status = add_place(s, "--place", places->value[i]);
	free(env);
	return status;
}

int cli_trace_add_objects(const struct cli_trace *trace, struct gpubpf_session *s)
{
	const struct cli_values *objects = &trace->args->option[OPT_OBJECT];
	const struct cli_values *attach = &trace->args->option[OPT_ATTACH];
	int status;

	for (uint32_t i = 0; i < objects->n; i++)
		if (!cli_is_script(objects->value[i]) && gpubpf_session__add_object(s, objects->value[i]) < 0)
			return CLI_RUN_FAILED;
	if (cli_program_add(trace->program, s) < 0 || (trace->load && trace->load(trace, s) < 0))
		return CLI_RUN_FAILED;
	for (uint32_t i = 0; i < attach->n; i++) {
		const char *pattern;
		char prog[64];

		if (cli_attach_of(trace->args, attach->value[i], prog, sizeof(prog), &pattern) != CLI_OK)
			return CLI_USAGE;
		if (gpubpf_session__attach(s, prog, pattern) < 0)
			return CLI_RUN_FAILED;
	}
	status = add_places(trace, s);
	return status == CLI_OK ? add_probes(trace, s) : status;
}
