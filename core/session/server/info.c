/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the session for lists of all sessions: its name, the attached programs, and the processes. */
#include "private.h"

#include <json-c/json.h>
#include <string.h>

#include "core/session/base/json_write.h"

void gpubpf_session_set_name(struct gpubpf_session *s, const char *name)
{
	snprintf(s->server->name, sizeof(s->server->name), "%s", name);
}

static struct json_object *list_programs(const struct gpubpf_session *s)
{
	struct json_object *list = json_object_new_array();

	for (struct gpubpf_link *l = NULL; (l = gpubpf_session__next_link(s, l));)
		json_object_array_add(list, json_object_new_string(gpubpf_link__program(l)->name));
	return list;
}

static struct json_object *list_processes(const struct gpubpf_session *s)
{
	struct json_object *list = json_object_new_array();

	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		struct json_object *o = peer->kind == GPUBPF_PEER_AGENT ? json_object_new_object() : NULL;
		uint64_t launches = gpubpf_kernel_table_process_launches(s, peer->process);

		if (!o)
			continue;
		json_object_object_add(o, "pid", json_object_new_uint64(peer->pid));
		json_object_object_add(o, "program", json_object_new_string(peer->exe));
		json_object_object_add(o, "attached", json_object_new_boolean(peer->attached));
		json_object_object_add(o, "launches", json_object_new_uint64(launches));
		json_object_array_add(list, o);
	}
	return list;
}

void gpubpf_info_write(const struct gpubpf_session *s, FILE *out)
{
	struct json_object *root = json_object_new_object();

	json_object_object_add(root, "name", json_object_new_string(s->server->name));
	json_object_object_add(root, "programs", list_programs(s));
	json_object_object_add(root, "processes", list_processes(s));
	gpubpf_json_write(root, out);
}
