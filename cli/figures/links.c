/* SPDX-License-Identifier: Apache-2.0 */
#include "links.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cli/cli.h"
#include "core/session/session.h"

/* Send a query whose answer is the list of links. */
static int query(const char *path, uint32_t what, struct gpubpf_writer *more, struct json_object **answer, char *why,
		 size_t size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	int err = -ENOMEM;

	if (out)
		err = gpubpf_query_request(path, what, GPUBPF_QUERY_JSON, more, out, why, size);
	else
		gpubpf_writer_finish(more);
	if (out)
		fclose(out);
	*answer = err ? NULL : json_tokener_parse(text);
	free(text);
	return err;
}

static int read_links(struct json_object *answer, struct figures_link **links)
{
	struct json_object *list = NULL, *id, *object;
	size_t n = 0;

	if (answer && json_object_object_get_ex(answer, "links", &list) && json_object_is_type(list, json_type_array))
		n = json_object_array_length(list);
	*links = calloc(n + 1, sizeof(**links));
	for (size_t i = 0; *links && i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (!json_object_object_get_ex(o, "id", &id) || !json_object_object_get_ex(o, "object", &object))
			continue;
		(*links)[i].id = json_object_get_int(id);
		snprintf((*links)[i].object, sizeof((*links)[i].object), "%s", json_object_get_string(object));
	}
	return *links ? (int)n : -ENOMEM;
}

int figures_links_list(const char *path, struct figures_link **links, char *why, size_t size)
{
	struct gpubpf_writer more = { 0 };
	struct json_object *answer;
	int n;

	*links = NULL;
	gpubpf_put_str(&more, "");
	n = query(path, GPUBPF_QUERY_LINKS, &more, &answer, why, size);
	if (!n)
		n = read_links(answer, links);
	json_object_put(answer);
	return n;
}

static bool is_probe_link(const struct figures_link *link, const char *probe)
{
	char object[PATH_MAX + 80];

	return cli_probe_path(probe, object, sizeof(object)) && !strcmp(link->object, object);
}

bool figures_links_has(const struct figures_link *links, int n, const char *probe)
{
	for (int i = 0; i < n; i++)
		if (is_probe_link(&links[i], probe))
			return true;
	return false;
}

static int detach(const char *path, uint32_t id, char *why, size_t size)
{
	struct gpubpf_writer more = { 0 };
	struct json_object *answer;
	char word[16];
	int err;

	snprintf(word, sizeof(word), "%u", id);
	gpubpf_put_u32(&more, 1);
	gpubpf_put_str(&more, word);
	err = query(path, GPUBPF_QUERY_DETACH, &more, &answer, why, size);
	json_object_put(answer);
	return err;
}

static int attach(const char *path, const char *probe, char *why, size_t size)
{
	struct gpubpf_writer more = { 0 };
	char object[PATH_MAX + 80], whole[PATH_MAX];
	struct json_object *answer;
	int err;

	if (!cli_probe_path(probe, object, sizeof(object)) || !realpath(object, whole)) {
		snprintf(why, size, "%s: %s", probe, strerror(errno));
		return -errno;
	}
	gpubpf_put_str(&more, whole);
	gpubpf_put_u32(&more, 0);
	err = query(path, GPUBPF_QUERY_ATTACH, &more, &answer, why, size);
	json_object_put(answer);
	return err;
}

int figures_links_switch(const char *path, const char *probe, bool on, char *why, size_t size)
{
	struct figures_link *links;
	int n, err = 0;

	if (on)
		return attach(path, probe, why, size);
	n = figures_links_list(path, &links, why, size);
	for (int i = 0; i < n && !err; i++)
		if (is_probe_link(&links[i], probe))
			err = detach(path, links[i].id, why, size);
	free(links);
	return n < 0 ? n : err;
}

void figures_links_detach_all(const char *path)
{
	struct figures_link *links;
	char why[512];
	int n = figures_links_list(path, &links, why, sizeof(why));

	for (int i = 0; i < n; i++)
		detach(path, links[i].id, why, sizeof(why));
	free(links);
}
