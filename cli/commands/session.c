/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that query a running session: map show and dump, and session report, links, detach and set. The other commands
 * on maps are in map_element.c and map_watch.c; session attach is in session_attach.c.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"

int cli_session_query_with(const struct cli_args *args, const char *path, uint32_t what, bool json,
			   struct gpubpf_writer *more, int fd, FILE *out)
{
	uint32_t flags = (json ? GPUBPF_QUERY_JSON : 0) | (cli_has(args, OPT_DEMANGLE) ? GPUBPF_QUERY_DEMANGLE : 0) |
			 (cli_has(args, OPT_JSON_STRINGS) ? GPUBPF_QUERY_JSON_STRINGS : 0) |
			 (cli_has(args, OPT_CSV) ? GPUBPF_QUERY_CSV : 0) |
			 (cli_has(args, OPT_CONSISTENT) ? GPUBPF_QUERY_CONSISTENT : 0);
	char why[4096]; /* large enough for a complete diagnostic, which a session sends when it refuses an object */

	if (gpubpf_query_request_with(path, what, flags, more, fd, out, why, sizeof(why)) < 0) {
		cli_error("%s: %s", ferror(out) ? "the answer could not be written" : path, why);
		return CLI_FAILED;
	}
	if (why[0] && !json) /* with --json, the answer's document already contains the note */
		cli_note("%s", why);
	return CLI_OK;
}

int cli_session_query(const struct cli_args *args, const char *path, uint32_t what, bool json,
		      struct gpubpf_writer *more, FILE *out)
{
	return cli_session_query_with(args, path, what, json, more, -1, out);
}

int cli_query_session(const struct cli_args *args, uint32_t what, struct gpubpf_writer *more)
{
	char path[512];
	int status = cli_session_find(args, path, sizeof(path));

	if (status == CLI_OK)
		return cli_session_query(args, path, what, cli_has(args, OPT_JSON), more, stdout);
	gpubpf_writer_finish(more);
	return status;
}

static int query_map(const struct cli_args *args, uint32_t what, const char *map)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_str(&w, map ? map : "");
	return cli_query_session(args, what, &w);
}

static int refuse_arguments(const struct cli_args *args)
{
	if (!args->nrest)
		return CLI_OK;
	cli_error("%s: %s %s takes no argument", args->rest[0], args->command->object, args->command->verb);
	return CLI_USAGE;
}

int gpubpf_cmd_map_show(const struct cli_args *args)
{
	int status = refuse_arguments(args);

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_MAPS, NULL) : status;
}

int gpubpf_cmd_map_dump(const struct cli_args *args)
{
	if (args->nrest > 1) {
		cli_error("map dump: expects the name of one map, or no name for all maps; remove %s", args->rest[1]);
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_CSV) && cli_has(args, OPT_JSON)) {
		cli_error("map dump: --csv and --json cannot be combined; use one of them");
		return CLI_USAGE;
	}
	return query_map(args, GPUBPF_QUERY_DUMP, args->nrest ? args->rest[0] : NULL);
}

int gpubpf_cmd_session_report(const struct cli_args *args)
{
	int status = refuse_arguments(args);

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_REPORT, NULL) : status;
}

int gpubpf_cmd_session_links(const struct cli_args *args)
{
	int status = refuse_arguments(args);

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_LINKS, NULL) : status;
}

int gpubpf_cmd_session_detach(const struct cli_args *args)
{
	struct gpubpf_writer w = { 0 };

	if (!args->nrest) {
		cli_error("session detach: expects the number or name of an attached program; gpubpf session links shows "
			  "both");
		return CLI_USAGE;
	}
	gpubpf_put_u32(&w, args->nrest);
	for (int i = 0; i < args->nrest; i++)
		gpubpf_put_str(&w, args->rest[i]);
	return cli_query_session(args, GPUBPF_QUERY_DETACH, &w);
}

int gpubpf_cmd_session_set(const struct cli_args *args)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_str(&w, "");
	gpubpf_put_u32(&w, args->nrest);
	for (int i = 0; i < args->nrest; i++)
		gpubpf_put_str(&w, args->rest[i]);
	return cli_query_session(args, GPUBPF_QUERY_SET, &w);
}
