/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf ps --clean: removes what killed tools left in processes and in the user's runtime folder. */
#include "processes.h"

#include <unistd.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "core/attach/attach.h"
#include "core/session/base/json_write.h"
#include "core/session/session.h"

struct clean {
	struct json_object *list; /* descriptions of the things that were removed */
	bool has_failed;
};

static void add_removed(struct clean *c, pid_t pid, const char *what)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "pid", pid ? json_object_new_int(pid) : NULL);
	json_object_object_add(o, "what", json_object_new_string(what));
	json_object_array_add(c->list, o);
}

static void clean_process(pid_t pid, void *arg)
{
	struct clean *c = arg;
	struct cli_mapped mapped;
	char what[256], why[512];
	int n;

	if (pid == getpid() || !cli_mapped_read(pid, &mapped) || !cli_mapped_uses_gpu(&mapped) ||
	    cli_process_is_helper(pid))
		return;
	n = gpubpf_attach_clean(pid, what, sizeof(what), why, sizeof(why));
	if (n > 0)
		add_removed(c, pid, what);
	if (n >= 0)
		return;
	cli_error("%s", why);
	c->has_failed = true;
}

static void add_socket(const char *path, void *arg)
{
	add_removed(arg, 0, path);
}

static void write_text(const struct clean *c)
{
	struct json_object *pid, *what;

	for (size_t i = 0; i < json_object_array_length(c->list); i++) {
		struct json_object *o = json_object_array_get_idx(c->list, i);

		json_object_object_get_ex(o, "pid", &pid);
		json_object_object_get_ex(o, "what", &what);
		if (pid)
			printf("process %d: %s\n", json_object_get_int(pid), json_object_get_string(what));
		else
			printf("removed %s\n", json_object_get_string(what));
	}
	if (!json_object_array_length(c->list) && !c->has_failed)
		cli_note("no killed tool has left a change");
}

int cli_ps_clean(const struct cli_args *args)
{
	struct clean c = { .list = json_object_new_array() };
	struct json_object *root = json_object_new_object();
	char runtime[512];

	gpubpf_sessions_find(cli_env_runtime_dir(runtime, sizeof(runtime)), NULL, add_socket, &c);
	cli_process_each(clean_process, &c);
	json_object_object_add(root, "cleaned", c.list);
	if (cli_has(args, OPT_JSON)) {
		gpubpf_json_write(root, stdout);
	} else {
		write_text(&c);
		json_object_put(root);
	}
	return c.has_failed ? CLI_FAILED : CLI_OK;
}
