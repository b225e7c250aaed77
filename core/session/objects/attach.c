/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manages links: which programs are attached to which GPU kernels. Each program of the unit is a link, with the same
 * index. Attaching adds a link or enables it again; detaching disables the link. The session never removes a link, so
 * that its number stays valid in twins and agents. Agents read the attached links from the kernel table
 * (core/wire/protocol.h).
 */
#include "private.h"

#include <bpf/btf.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/places.h"
#include "core/wire/match.h"
#include "core/session/host/host_programs.h"
#include "core/session/report/launch_times.h"
#include "core/session/report/report.h"
#include "core/session/base/sized.h"
#include "core/session/report/table.h"

/*
 * Returns the pattern of kernels for which agents request twins. If the program's pattern names functions, lines or
 * marks, the result is "*", because only a kernel's code shows whether it has such a place.
 */
static const char *kernel_pattern(const struct gpubpf_prog *prog)
{
	return gpubpf_place_kind(prog->site)->names == GPUBPF_NAMES_KERNEL ? prog->pattern : "*";
}

/* Returns true if a map has times. The report then compares the times of probed and unprobed launches. */
static bool has_times(const struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < gpubpf_session_unit(s)->nmaps; i++) {
		const struct btf *btf = gpubpf_map_btf(s, i);

		if (btf && btf__find_by_name_kind(btf, "gpubpf_times", BTF_KIND_STRUCT) > 0)
			return true;
	}
	return false;
}

void gpubpf_links_publish(struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	gpubpf_gates_bind(s);
	if (!gpubpf_kernel_table_begin_plan(s, has_times(s)))
		return;
	if (s->opts.inspect)
		gpubpf_kernel_table_add_link(s, 0, 0, "*");
	for (uint32_t i = 0; i < unit->nprogs && !s->opts.inspect; i++)
		if (gpubpf_link_is_attached(gpubpf_session_link(s, i)) && !unit->progs[i].host)
			gpubpf_kernel_table_add_link(s, i,
						     gpubpf_launch_times_only(s, &unit->progs[i]) ? GPUBPF_PLAN_TIMES : 0,
						     kernel_pattern(&unit->progs[i]));
	gpubpf_kernel_table_publish_plan(s);
	if (!s->opts.inspect)
		gpubpf_host_programs_publish(s);
}

static bool same_program(const struct gpubpf_prog *a, const struct gpubpf_prog *b)
{
	return a->object == b->object && !strcmp(a->name, b->name) && !strcmp(a->section, b->section);
}

static struct gpubpf_link *find_link(struct gpubpf_session *s, const struct gpubpf_prog *prog, const char *pattern,
				     uint64_t cookie)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (same_program(&unit->progs[i], prog) && !strcmp(unit->progs[i].pattern, pattern) &&
		    unit->progs[i].cookie == cookie)
			return gpubpf_session_link(s, i);
	return NULL;
}

static struct gpubpf_link *refuse(struct gpubpf_session *s, int err, const struct gpubpf_prog *prog, const char *why)
{
	gpubpf_session_fail(s, err, "%s: %s", prog->name, why);
	errno = -err;
	return NULL;
}

struct gpubpf_link *gpubpf_program__attach_opts(const struct gpubpf_prog *prog, const struct gpubpf_attach_opts *opts)
{
	struct gpubpf_attach_opts all = { .sz = sizeof(all) };
	struct gpubpf_session *s = prog->session;
	char pattern[GPUBPF_NAME_SIZE];
	struct gpubpf_link *link;

	if (opts && gpubpf_sized_copy_in(&all, sizeof(all), opts) < 0)
		return refuse(s, -EINVAL, prog, "struct gpubpf_attach_opts: " GPUBPF_SIZED_WHY);
	if (s->state == GPUBPF_SESSION_STOPPED)
		return refuse(s, -EBUSY, prog, "the session was stopped");
	if (prog->is_run)
		return refuse(s, -EINVAL, prog,
			      "a program of gpu/run/ is not attached to a kernel; run it with gpubpf prog run or "
			      "gpubpf_prog__test_run()");
	if (!gpubpf_pattern_store(all.pattern ? all.pattern : prog->pattern, pattern))
		return refuse(s, -EINVAL, prog,
			      "the pattern must have 1 to 255 characters, or be a kernel's whole name of at most 4095");
	if (!gpubpf_place_can_match(prog->site, pattern))
		return refuse(s, -EINVAL, prog, "name a source line as FILE:NUMBER, or by a pattern such as add.cu:*");
	link = find_link(s, prog, pattern, all.cookie);
	if (link && gpubpf_link_is_attached(link))
		return refuse(s, -EEXIST, prog, "the program is already attached to these kernels");
	if (!link && !(link = gpubpf_unit_add_link(s, prog, pattern, all.cookie)))
		return NULL;
	gpubpf_link_set_attached(link, true);
	gpubpf_arenas_activate(s);
	gpubpf_links_publish(s);
	return link;
}

struct gpubpf_link *gpubpf_program__attach(const struct gpubpf_prog *prog)
{
	return gpubpf_program__attach_opts(prog, NULL);
}

int gpubpf_link__detach(struct gpubpf_link *link)
{
	if (!gpubpf_link_is_attached(link))
		return gpubpf_session_fail(gpubpf_link_session(link), -ENOENT, "link %u is detached",
					   gpubpf_link__id(link));
	gpubpf_link_set_attached(link, false);
	gpubpf_links_publish(gpubpf_link_session(link));
	return 0;
}

int gpubpf_link__destroy(struct gpubpf_link *link)
{
	return link && gpubpf_link_is_attached(link) ? gpubpf_link__detach(link) : 0;
}

struct gpubpf_link *gpubpf_session__next_link(const struct gpubpf_session *s, const struct gpubpf_link *prev)
{
	uint32_t n = gpubpf_session_link(s, 0) ? gpubpf_session_unit(s)->nprogs : 0;

	for (uint32_t i = prev ? gpubpf_link__id(prev) + 1 : 0; i < n; i++)
		if (gpubpf_link_is_attached(gpubpf_session_link(s, i)))
			return gpubpf_session_link(s, i);
	return NULL;
}

uint64_t gpubpf_link__launches(const struct gpubpf_link *link)
{
	return gpubpf_kernel_table_link_launches(gpubpf_link_session(link), gpubpf_link__id(link));
}

/* -- for other tools -- */

static void list_json(const struct gpubpf_session *s, FILE *out)
{
	struct json_object *root = json_object_new_object(), *links = json_object_new_array();

	for (struct gpubpf_link *l = NULL; (l = gpubpf_session__next_link(s, l));) {
		const struct gpubpf_prog *prog = gpubpf_link__program(l);
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "id", json_object_new_uint64(gpubpf_link__id(l)));
		json_object_object_add(o, "program", json_object_new_string(prog->name));
		json_object_object_add(o, "section", json_object_new_string(prog->section));
		json_object_object_add(o, "pattern", json_object_new_string(prog->pattern));
		json_object_object_add(o, "object",
				       json_object_new_string(gpubpf_session_loaded(s)->objects[prog->object].path));
		json_object_object_add(o, "launches", json_object_new_uint64(gpubpf_link__launches(l)));
		json_object_array_add(links, o);
	}
	json_object_object_add(root, "links", links);
	gpubpf_json_write(root, out);
}

static void list_text(const struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_table t;

	gpubpf_table_init(&t, "ID", "PROGRAM", "KERNELS", "LAUNCHES", "OBJECT", NULL);
	for (struct gpubpf_link *l = NULL; (l = gpubpf_session__next_link(s, l));) {
		const struct gpubpf_prog *prog = gpubpf_link__program(l);

		gpubpf_table_cell(&t, "%u", gpubpf_link__id(l));
		gpubpf_table_cell(&t, "%s", prog->name);
		gpubpf_table_cell(&t, "%s", prog->pattern);
		gpubpf_table_cell(&t, "%llu", (unsigned long long)gpubpf_link__launches(l));
		gpubpf_table_cell(&t, "%s", gpubpf_session_loaded(s)->objects[prog->object].path);
	}
	if (gpubpf_table_rows(&t))
		gpubpf_table_print(&t, out);
	else
		fprintf(out, "  (nothing is attached)\n");
	gpubpf_table_finish(&t);
}

void gpubpf_links_list(const struct gpubpf_session *s, bool json, FILE *out)
{
	if (json)
		list_json(s, out);
	else
		list_text(s, out);
}

static const struct gpubpf_prog *find_program(const struct gpubpf_session *s, int object, const char *name)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(s, prog)))
		if (!strcmp(prog->name, name) && (object < 0 || prog->object == object))
			return prog;
	return NULL;
}

int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *name, const char *pattern, uint64_t cookie,
			uint32_t *id)
{
	const struct gpubpf_attach_opts opts = { .sz = sizeof(opts),
						 .pattern = pattern[0] ? pattern : NULL,
						 .cookie = cookie };
	const struct gpubpf_prog *prog = find_program(s, object, name);
	struct gpubpf_link *link;

	if (!prog)
		return gpubpf_session_fail(s, -ENOENT, "the %s has no program '%s'", object < 0 ? "session" : "object",
					   name);
	link = gpubpf_program__attach_opts(prog, &opts);
	if (!link)
		return -errno;
	*id = gpubpf_link__id(link);
	return 0;
}

/* Returns true if the word selects the link: by its number, or by its program's name and, after `=`, its pattern. */
static bool is_selected(const struct gpubpf_link *link, const char *word)
{
	const struct gpubpf_prog *prog = gpubpf_link__program(link);
	const char *equals = strchr(word, '=');
	char name[GPUBPF_NAME_SIZE], *end;
	unsigned long id = strtoul(word, &end, 10);

	if (word[0] >= '0' && word[0] <= '9' && !*end)
		return id == gpubpf_link__id(link);
	snprintf(name, sizeof(name), "%.*s", (int)(equals ? equals - word : (ptrdiff_t)strlen(word)), word);
	return gpubpf_pattern_matches(name, prog->name) && (!equals || !strcmp(equals + 1, prog->pattern));
}

static bool is_selected_by_any(const struct gpubpf_link *link, char *const *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_selected(link, words[i]))
			return true;
	return false;
}

static int check_selection(struct gpubpf_session *s, const char *word, const char *consequence)
{
	for (struct gpubpf_link *l = NULL; (l = gpubpf_session__next_link(s, l));)
		if (is_selected(l, word))
			return 0;
	return gpubpf_session_fail(s, -ENOENT,
				   "no attached program has the number or name '%s', so %s; gpubpf session links shows "
				   "all links",
				   word, consequence);
}

int gpubpf_links_select(struct gpubpf_session *s, char *const *words, uint32_t n, const char *consequence,
			bool selected[GPUBPF_PLAN_LINKS])
{
	int err = 0;

	memset(selected, 0, GPUBPF_PLAN_LINKS * sizeof(*selected));
	for (uint32_t i = 0; i < n && !err; i++)
		err = check_selection(s, words[i], consequence);
	for (struct gpubpf_link *l = NULL; !err && (l = gpubpf_session__next_link(s, l));)
		selected[gpubpf_link__id(l)] = !n || is_selected_by_any(l, words, n);
	return err;
}

int gpubpf_links_detach(struct gpubpf_session *s, char *const *words, uint32_t n)
{
	bool selected[GPUBPF_PLAN_LINKS];
	struct gpubpf_link *l = NULL;
	int err = n ? gpubpf_links_select(s, words, n, "nothing was detached", selected) : 0;

	while (n && !err && (l = gpubpf_session__next_link(s, l)))
		if (selected[gpubpf_link__id(l)])
			err = gpubpf_link__detach(l);
	return err;
}
