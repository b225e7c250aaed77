/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf map pin, unpin: give maps of eBPF loaders a file name in the session's folder for pins. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"
#include "core/wire/loader.h"

/*
 * Make the path absolute, because the session has another working directory than this command. A name without a slash
 * means a file in the session's folder for pins.
 */
static int make_absolute_path(const char *session, const char *file, char *absolute, size_t size)
{
	const char *slash = strrchr(file, '/');
	char above[PATH_MAX], folder[PATH_MAX];
	int n;

	if (!slash)
		gpubpf_bpf_pins(session, above);
	else
		snprintf(above, sizeof(above), "%.*s/", (int)(slash - file), file);
	if (!realpath(above, folder)) {
		cli_error("%s: %s", above,
			  slash || errno != ENOENT ? strerror(errno) :
						     "the session has no folder for pins, because it does not accept "
						     "eBPF loaders; start it with gpubpf bpf");
		return CLI_FAILED;
	}
	n = snprintf(absolute, size, "%s/%s", folder, slash ? slash + 1 : file);
	if (n > 0 && (size_t)n < size)
		return CLI_OK;
	cli_error("%s: the path is too long", file);
	return CLI_FAILED;
}

static int query_pin(const struct cli_args *args, uint32_t what, const char *map, const char *file)
{
	char session[512], absolute[PATH_MAX];
	struct gpubpf_writer w = { 0 };
	int status = cli_session_find(args, session, sizeof(session));

	if (status == CLI_OK)
		status = make_absolute_path(session, file, absolute, sizeof(absolute));
	if (status != CLI_OK)
		return status;
	gpubpf_put_str(&w, map);
	gpubpf_put_u32(&w, 1);
	gpubpf_put_str(&w, absolute);
	return cli_session_query(args, session, what, false, &w, stdout);
}

int gpubpf_cmd_map_pin(const struct cli_args *args)
{
	if (args->nrest == 2)
		return query_pin(args, GPUBPF_QUERY_PIN, args->rest[0], args->rest[1]);
	cli_error("map pin: an argument is missing; use gpubpf map pin %s", args->command->arguments);
	return CLI_USAGE;
}

int gpubpf_cmd_map_unpin(const struct cli_args *args)
{
	if (args->nrest == 1)
		return query_pin(args, GPUBPF_QUERY_UNPIN, "", args->rest[0]);
	cli_error("map unpin: an argument is missing; use gpubpf map unpin %s", args->command->arguments);
	return CLI_USAGE;
}
