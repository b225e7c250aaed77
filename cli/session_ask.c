/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf map show, map dump, session report: ask a running session. */
#include "cli.h"

#include <string.h>

#include "core/session/session.h"

/* The session to ask: --session, $GPUBPF_SESSION, or the newest. */
static int find_session(const struct cli_args *args, char *path, size_t size)
{
	const char *given = cli_str(args, OPT_SESSION, cli_env_session());
	char runtime[512];
	int n;

	if (given && strlen(given) < size) {
		strcpy(path, given);
		return CLI_OK;
	}
	n = given ? 0 : gpubpf_newest_session(cli_env_runtime_dir(runtime, sizeof(runtime)), path, size);
	if (n > 1)
		cli_note("%d sessions are running; this is the newest, %s; --session names another", n, path);
	if (n > 0)
		return CLI_OK;
	cli_error("%s", given ? "--session: the path is too long" :
		  "no session of yours is running; start one with gpubpf run");
	return CLI_FAILED;
}

static int ask(const struct cli_args *args, uint32_t what, const char *map)
{
	uint32_t flags = (cli_has(args, OPT_JSON) ? GPUBPF_QUERY_JSON : 0) |
			 (cli_has(args, OPT_DEMANGLE) ? GPUBPF_QUERY_DEMANGLE : 0) |
			 (cli_has(args, OPT_JSON_STRINGS) ? GPUBPF_QUERY_JSON_STRINGS : 0);
	char path[512], why[512];
	int status = find_session(args, path, sizeof(path));

	if (status != CLI_OK)
		return status;
	if (gpubpf_query_ask(path, what, flags, map, stdout, why, sizeof(why)) < 0) {
		cli_error("%s: %s", path, why);
		return CLI_FAILED;
	}
	return CLI_OK;
}

static int no_arguments(const struct cli_args *args)
{
	if (!args->nrest)
		return CLI_OK;
	cli_error("%s: %s %s takes no argument", args->rest[0], args->command->object, args->command->verb);
	return CLI_USAGE;
}

int gpubpf_cmd_map_show(const struct cli_args *args)
{
	int status = no_arguments(args);

	return status == CLI_OK ? ask(args, GPUBPF_QUERY_MAPS, NULL) : status;
}

int gpubpf_cmd_map_dump(const struct cli_args *args)
{
	if (args->nrest > 1) {
		cli_error("map dump: one map at a time, or all without a name");
		return CLI_USAGE;
	}
	return ask(args, GPUBPF_QUERY_DUMP, args->nrest ? args->rest[0] : NULL);
}

int gpubpf_cmd_session_report(const struct cli_args *args)
{
	int status = no_arguments(args);

	return status == CLI_OK ? ask(args, GPUBPF_QUERY_REPORT, NULL) : status;
}
