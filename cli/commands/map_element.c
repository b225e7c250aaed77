/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf map lookup, update, delete, getnext, push, pop, peek. The command sends keys and values as text; the session
 * parses them, because it knows their types.
 */
#include "cli/cli.h"

#include "core/session/session.h"

static int query_element(const struct cli_args *args, uint32_t what, int least)
{
	struct gpubpf_writer w = { 0 };

	if (args->nrest < least) {
		cli_error("map %s: an argument is missing; use gpubpf map %s %s", args->command->verb,
			  args->command->verb, args->command->arguments);
		return CLI_USAGE;
	}
	gpubpf_put_str(&w, args->rest[0]);
	gpubpf_put_u32(&w, args->nrest - 1);
	for (int i = 1; i < args->nrest; i++)
		gpubpf_put_str(&w, args->rest[i]);
	return cli_query_session(args, what, &w);
}

int gpubpf_cmd_map_lookup(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_LOOKUP, 3);
}

int gpubpf_cmd_map_update(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_UPDATE, 5);
}

int gpubpf_cmd_map_delete(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_DELETE, 3);
}

int gpubpf_cmd_map_getnext(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_NEXT, 1);
}

int gpubpf_cmd_map_push(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_PUSH, 3);
}

int gpubpf_cmd_map_pop(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_POP, 1);
}

int gpubpf_cmd_map_peek(const struct cli_args *args)
{
	return query_element(args, GPUBPF_QUERY_PEEK, 1);
}
