/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that query a running session: gpubpf map show, map dump, session report, session list, attach, detach.
 * (map_element.c and map_watch.c have further ones.)
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"

int cli_session_find(const struct cli_args *args, char *path, size_t size)
{
	const char *named = cli_str(args, OPT_SESSION, cli_env_session());
	char runtime[512];
	int n;

	if (named && strlen(named) < size) {
		strcpy(path, named);
		return CLI_OK;
	}
	n = named ? 0 : gpubpf_newest_session(cli_env_runtime_dir(runtime, sizeof(runtime)), path, size);
	if (n > 1)
		cli_note("%d sessions are running; this is the newest, %s; --session names another", n, path);
	if (n > 0)
		return CLI_OK;
	cli_error("%s", named ? "--session: the path is too long" :
				"no session of yours is running; start one with gpubpf run");
	return CLI_FAILED;
}

int cli_session_query(const struct cli_args *args, const char *path, uint32_t what, bool json,
		      struct gpubpf_writer *more, FILE *out)
{
	uint32_t flags = (json ? GPUBPF_QUERY_JSON : 0) | (cli_has(args, OPT_DEMANGLE) ? GPUBPF_QUERY_DEMANGLE : 0) |
			 (cli_has(args, OPT_JSON_STRINGS) ? GPUBPF_QUERY_JSON_STRINGS : 0) |
			 (cli_has(args, OPT_CSV) ? GPUBPF_QUERY_CSV : 0) |
			 (cli_has(args, OPT_CONSISTENT) ? GPUBPF_QUERY_CONSISTENT : 0);
	char why[4096]; /* has room for a whole diagnostic, if the session refuses an object */

	if (gpubpf_query_request(path, what, flags, more, out, why, sizeof(why)) < 0) {
		cli_error("%s: %s", ferror(out) ? "the answer could not be written" : path, why);
		return CLI_FAILED;
	}
	if (why[0] && !json) /* with --json, the document contains the note */
		cli_note("%s", why);
	return CLI_OK;
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

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_MAPS, NULL) : status;
}

int gpubpf_cmd_map_dump(const struct cli_args *args)
{
	if (args->nrest > 1) {
		cli_error("map dump: expects one map's name, or none for all maps; %s is one too many", args->rest[1]);
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_CSV) && cli_has(args, OPT_JSON)) {
		cli_error("map dump: --csv or --json, not both");
		return CLI_USAGE;
	}
	return query_map(args, GPUBPF_QUERY_DUMP, args->nrest ? args->rest[0] : NULL);
}

int gpubpf_cmd_session_report(const struct cli_args *args)
{
	int status = no_arguments(args);

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_REPORT, NULL) : status;
}

int gpubpf_cmd_session_list(const struct cli_args *args)
{
	int status = no_arguments(args);

	return status == CLI_OK ? query_map(args, GPUBPF_QUERY_LINKS, NULL) : status;
}

/*
 * Append the absolute path of the object to attach to the query, because the session has another working directory; "":
 * no object.
 */
static int put_object(const struct cli_args *args, struct gpubpf_writer *w)
{
	const struct cli_values *v = &args->option[OPT_OBJECT];
	char whole[PATH_MAX] = "";

	if (v->n > 1) {
		cli_error("session attach: one object at a time");
		return CLI_USAGE;
	}
	if (v->n && !realpath(v->value[0], whole)) {
		cli_error("%s: %s", v->value[0], strerror(errno));
		return CLI_FAILED;
	}
	gpubpf_put_str(w, whole);
	return CLI_OK;
}

int gpubpf_cmd_session_attach(const struct cli_args *args)
{
	struct gpubpf_writer w = { 0 };
	int status;

	if (!args->nrest && !cli_has(args, OPT_OBJECT)) {
		cli_error("session attach: no program; use gpubpf session attach PROG=PATTERN");
		return CLI_USAGE;
	}
	status = put_object(args, &w);
	if (status != CLI_OK)
		return status;
	gpubpf_put_u32(&w, args->nrest);
	for (int i = 0; i < args->nrest; i++) {
		const char *pattern = strchr(args->rest[i], '=');
		char prog[64];

		if (pattern && cli_attach_of(args, args->rest[i], prog, sizeof(prog), &pattern) != CLI_OK) {
			gpubpf_writer_finish(&w);
			return CLI_USAGE;
		}
		gpubpf_put_str(&w, pattern ? prog : args->rest[i]);
		gpubpf_put_str(&w, pattern ? pattern : "");
	}
	return cli_query_session(args, GPUBPF_QUERY_ATTACH, &w);
}

int gpubpf_cmd_session_detach(const struct cli_args *args)
{
	struct gpubpf_writer w = { 0 };
	char *end = NULL;
	unsigned long id = args->nrest == 1 ? strtoul(args->rest[0], &end, 10) : 0;

	if (!end || end == args->rest[0] || *end || id > UINT32_MAX) {
		cli_error("session detach: expects the number of one link; gpubpf session list shows them");
		return CLI_USAGE;
	}
	gpubpf_put_u32(&w, id);
	return cli_query_session(args, GPUBPF_QUERY_DETACH, &w);
}
