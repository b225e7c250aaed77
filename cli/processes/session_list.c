/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf session list: lists the running sessions. */
#include "processes.h"

#include <stdlib.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "core/session/base/json_write.h"
#include "core/session/report/table.h"

static void put_row(struct gpubpf_table *t, const struct cli_sessions *all, const struct cli_session *s)
{
	char id[32], user[64], start[32], programs[512], command[1024];

	cli_session_id(all, s, id, sizeof(id));
	cli_user_name(s->user, user, sizeof(user));
	cli_short_time(s->start, start, sizeof(start));
	cli_session_programs(s, programs, sizeof(programs));
	cli_process_command(s->pid, command, sizeof(command));
	gpubpf_table_text(t, id);
	gpubpf_table_text(t, user);
	gpubpf_table_text(t, start);
	gpubpf_table_text(t, s->name);
	gpubpf_table_text(t, programs);
	gpubpf_table_text(t, command);
}

static void write_text(const struct cli_sessions *all)
{
	struct gpubpf_table t;

	gpubpf_table_init(&t, "PID", "USER", "START", "NAME", "PROGRAMS", "COMMAND", NULL);
	for (size_t i = 0; i < all->n; i++)
		put_row(&t, all, &all->session[i]);
	cli_print_table(&t);
	gpubpf_table_finish(&t);
}

/* Add the members that the session has sent. Without an answer they are null. */
static void add_answer(struct json_object *o, const struct cli_session *s, const char *name)
{
	struct json_object *value = NULL;

	if (s->info)
		json_object_object_get_ex(s->info, name, &value);
	json_object_object_add(o, name, json_object_get(value));
}

static void write_json(const struct cli_sessions *all)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < all->n; i++) {
		const struct cli_session *s = &all->session[i];
		struct json_object *o = json_object_new_object();
		char id[32], user[64], command[4096];

		cli_session_id(all, s, id, sizeof(id));
		cli_user_name(s->user, user, sizeof(user));
		cli_process_command(s->pid, command, sizeof(command));
		json_object_object_add(o, "id", json_object_new_string(id));
		json_object_object_add(o, "pid", json_object_new_int(s->pid));
		json_object_object_add(o, "user", json_object_new_string(user));
		cli_add_time(o, "start", s->start);
		json_object_object_add(o, "name", json_object_new_string(s->name));
		json_object_object_add(o, "command", json_object_new_string(command));
		json_object_object_add(o, "socket", json_object_new_string(s->path));
		add_answer(o, s, "programs");
		add_answer(o, s, "processes");
		json_object_array_add(list, o);
	}
	json_object_object_add(root, "sessions", list);
	gpubpf_json_write(root, stdout);
}

int gpubpf_cmd_session_list(const struct cli_args *args)
{
	struct cli_sessions all;

	cli_sessions_open(&all);
	if (cli_has(args, OPT_JSON))
		write_json(&all);
	else if (all.n)
		write_text(&all);
	else
		cli_note("no session is running; gpubpf run and gpubpf attach start one");
	cli_sessions_close(&all);
	return CLI_OK;
}
