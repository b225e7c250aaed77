/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf probes: lists the ready probes. They are installed BPF objects, and each object contains its own description.
 */
#include "cli/cli.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <json-c/json.h>

#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/session/report/report.h"
#include "core/session/report/table.h"
#include "core/worker/installed.h"

#define ABOUT "gpubpf:about="

/* -- for --probe -- */

static int add_object(char ***paths, uint32_t *n, const char *name)
{
	char **grown = reallocarray(*paths, *n + 2, sizeof(*grown)), path[PATH_MAX + 80];

	if (grown) {
		*paths = grown;
		grown[*n] = cli_probe_path(name, path, sizeof(path)) ? strdup(path) : NULL;
		grown[*n + 1] = NULL;
	}
	if (!grown || !grown[(*n)++]) {
		cli_error("out of memory");
		return CLI_RUN_FAILED;
	}
	return CLI_OK;
}

/* Append the object paths of the probes in a comma-separated list of names. */
static int add_objects(char ***paths, uint32_t *n, const char *names)
{
	int status = CLI_OK;

	for (const char *at = names; status == CLI_OK; at += strcspn(at, ",") + 1) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
		status = cli_value_known(OPT_PROBE, name) ? add_object(paths, n, name) : CLI_USAGE;
		if (!at[strcspn(at, ",")])
			break;
	}
	return status;
}

int cli_probe_objects(const struct cli_args *args, const char *also, char ***paths)
{
	const struct cli_values *v = &args->option[OPT_PROBE];
	int status = CLI_OK;
	uint32_t n = 0;

	*paths = calloc(1, sizeof(**paths));
	if (!*paths) {
		cli_error("out of memory");
		return CLI_RUN_FAILED;
	}
	if ((v->n || also) && !cli_probe_at(0)) {
		cli_error("%s: the ready probes are not installed: no object is in %s", v->n ? v->value[0] : also,
			  cli_probe_folder());
		return CLI_USAGE;
	}
	for (uint32_t i = 0; i < v->n && status == CLI_OK; i++)
		status = add_objects(paths, &n, v->value[i]);
	if (also && status == CLI_OK)
		status = add_objects(paths, &n, also);
	return status;
}

/* -- the list -- */

/* Return the description that GPUBPF_ABOUT() put into the object's BTF, or "" if there is no description. */
static const char *read_about(const struct btf *btf)
{
	uint32_t n = btf ? btf__type_cnt(btf) : 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		const char *tag = btf_is_decl_tag(t) ? btf__name_by_offset(btf, t->name_off) : NULL;

		if (tag && !strncmp(tag, ABOUT, strlen(ABOUT)))
			return tag + strlen(ABOUT);
	}
	return "";
}

static void list_one(const char *name, const char *path, const char *shows, struct gpubpf_table *t, struct json_object *list)
{
	struct json_object *o = json_object_new_object();

	gpubpf_table_cell(t, "%s", name);
	gpubpf_table_cell(t, "%s", shows);
	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "shows", json_object_new_string(shows));
	json_object_object_add(o, "object", json_object_new_string(path));
	json_object_array_add(list, o);
}

static int list(struct gpubpf_table *t, struct json_object *names)
{
	const char *name;
	int status = CLI_OK;

	for (size_t i = 0; (name = cli_probe_at(i)); i++) {
		char path[PATH_MAX + 80];
		const char *const paths[] = { path };
		struct gpubpf_load_opts opts = { .paths = paths, .npaths = 1 };
		struct gpubpf_loaded *loaded;
		struct gpubpf_diag diag;

		gpubpf_diag_init(&diag);
		if (!cli_probe_path(name, path, sizeof(path)))
			continue;
		if (gpubpf_load(&opts, &loaded, &diag) < 0) {
			cli_diag(&diag);
			status = CLI_FAILED;
			continue;
		}
		list_one(name, path, read_about(loaded->objects[0].btf), t, names);
		gpubpf_loaded_destroy(loaded);
	}
	return status;
}

int gpubpf_cmd_probes(const struct cli_args *args)
{
	struct json_object *root = json_object_new_object(), *names = json_object_new_array();
	struct gpubpf_table t;
	int status;

	gpubpf_table_init(&t, "PROBE", "SHOWS", NULL);
	status = list(&t, names);
	json_object_object_add(root, "probes", names);
	if (!cli_probe_at(0)) {
		cli_error("probes: no ready probes are installed: no object is in %s", cli_probe_folder());
		status = CLI_FAILED;
	}
	if (cli_has(args, OPT_JSON))
		gpubpf_json_write(root, stdout);
	else
		json_object_put(root);
	if (!cli_has(args, OPT_JSON) && cli_probe_at(0))
		gpubpf_table_print(&t, stdout);
	gpubpf_table_finish(&t);
	return status;
}
