/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: which programs are attached to which kernels. Each program of the unit is a link, by its index. Attaching adds
 * a link or enables one again; detaching disables it. The session never removes a link, so that its number stays valid
 * in twins and agents. Agents read the attached links from the kernel table (core/wire/protocol.h).
 */
#include "core/session/session.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/places.h"
#include "core/wire/match.h"
#include "core/session/report/report.h"
#include "core/session/base/sized.h"
#include "core/session/report/table.h"

/* Move the programs and maps into tables of the maximum size, because builders read the tables while objects join. */
int gpubpf_links_open(struct gpubpf_session *s)
{
	struct gpubpf_unit *unit = &s->loaded->unit;
	struct gpubpf_prog *progs = calloc(GPUBPF_PLAN_LINKS, sizeof(*progs));
	struct gpubpf_map *maps = calloc(GPUBPF_MAX_MAPS, sizeof(*maps));

	s->links = calloc(GPUBPF_PLAN_LINKS, sizeof(*s->links));
	if (!progs || !maps || !s->links) {
		free(progs);
		free(maps);
		return -ENOMEM;
	}
	if (unit->nprogs)
		memcpy(progs, unit->progs, unit->nprogs * sizeof(*progs));
	if (unit->nmaps)
		memcpy(maps, unit->maps, unit->nmaps * sizeof(*maps));
	free(unit->progs);
	free(unit->maps);
	unit->progs = progs;
	unit->maps = maps;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		progs[i].session = s;
		s->links[i] = (struct gpubpf_link){ .session = s,
						    .id = i,
						    .attached = !s->opts.no_attach && progs[i].pattern[0] };
	}
	return 0;
}

void gpubpf_links_close(struct gpubpf_session *s)
{
	struct gpubpf_unit *unit = s->loaded ? &s->loaded->unit : NULL;

	/* the program of another link owns the memory of a borrowed one, and frees it */
	for (uint32_t i = 0; s->links && unit && i < unit->nprogs; i++)
		if (s->links[i].borrowed)
			unit->progs[i] = (struct gpubpf_prog){ 0 };
	free(s->links);
}

static uint32_t write_plan_entry(struct gpubpf_kernel_table *t, uint32_t n, uint32_t link, const char *pattern)
{
	t->entry[n].link = link;
	snprintf(t->entry[n].pattern, sizeof(t->entry[n].pattern), "%s", pattern);
	return n + 1;
}

/* The pattern of kernels for which agents request twins. For a pattern of functions, lines or marks it is "*", because
 * only a kernel's code shows whether it has such a place. */
static const char *kernel_pattern(const struct gpubpf_prog *prog)
{
	return gpubpf_place_kind(prog->site)->names == GPUBPF_NAMES_KERNEL ? prog->pattern : "*";
}

void gpubpf_links_publish(struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = &s->loaded->unit;
	struct gpubpf_kernel_table *t = s->table;
	uint32_t n = 0;

	if (!t)
		return;
	s->plan += 2;
	__atomic_store_n(&t->plan, s->plan - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (s->opts.inspect)
		n = write_plan_entry(t, n, 0, "*");
	for (uint32_t i = 0; i < unit->nprogs && !s->opts.inspect; i++)
		if (s->links[i].attached)
			n = write_plan_entry(t, n, i, kernel_pattern(&unit->progs[i]));
	__atomic_store_n(&t->nplan, n, __ATOMIC_RELAXED);
	__atomic_store_n(&t->plan, s->plan, __ATOMIC_RELEASE);
}

static bool same_program(const struct gpubpf_prog *a, const struct gpubpf_prog *b)
{
	return a->object == b->object && !strcmp(a->name, b->name) && !strcmp(a->section, b->section);
}

static struct gpubpf_link *find_link(struct gpubpf_session *s, const struct gpubpf_prog *prog, const char *pattern)
{
	const struct gpubpf_unit *unit = &s->loaded->unit;

	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (same_program(&unit->progs[i], prog) && !strcmp(unit->progs[i].pattern, pattern))
			return &s->links[i];
	return NULL;
}

static struct gpubpf_link *add_link(struct gpubpf_session *s, const struct gpubpf_prog *prog, const char *pattern)
{
	struct gpubpf_unit *unit = &s->loaded->unit;
	struct gpubpf_prog *own = &unit->progs[unit->nprogs];
	struct gpubpf_link *link = &s->links[unit->nprogs];

	if (unit->nprogs == GPUBPF_PLAN_LINKS) {
		gpubpf_session_fail(s, -ENOSPC, "%s: a session has at most %d links", prog->name, GPUBPF_PLAN_LINKS);
		errno = ENOSPC;
		return NULL;
	}
	*own = *prog;
	snprintf(own->pattern, sizeof(own->pattern), "%s", pattern);
	*link = (struct gpubpf_link){ .session = s, .id = unit->nprogs++, .borrowed = true };
	return link;
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
	if (!gpubpf_pattern_store(all.pattern ? all.pattern : prog->pattern, pattern))
		return refuse(s, -EINVAL, prog, "a glob has 1 to 255 characters, a kernel's whole name at most 4095");
	if (!gpubpf_place_can_match(prog->site, pattern))
		return refuse(s, -EINVAL, prog, "a line is named by FILE:NUMBER, or by a glob for that");
	link = find_link(s, prog, pattern);
	if (link && link->attached)
		return refuse(s, -EEXIST, prog, "it is already attached to these kernels");
	if (!link && !(link = add_link(s, prog, pattern)))
		return NULL;
	link->attached = link->was_attached = true;
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
	if (!link->attached)
		return gpubpf_session_fail(link->session, -ENOENT, "link %u is detached", link->id);
	link->attached = false;
	gpubpf_links_publish(link->session);
	return 0;
}

int gpubpf_link__destroy(struct gpubpf_link *link)
{
	return link && link->attached ? gpubpf_link__detach(link) : 0;
}

struct gpubpf_link *gpubpf_session__next_link(const struct gpubpf_session *s, const struct gpubpf_link *prev)
{
	uint32_t n = s->loaded && s->links ? s->loaded->unit.nprogs : 0;

	for (uint32_t i = prev ? prev->id + 1 : 0; i < n; i++)
		if (s->links[i].attached)
			return &s->links[i];
	return NULL;
}

uint32_t gpubpf_link__id(const struct gpubpf_link *link)
{
	return link->id;
}

const struct gpubpf_prog *gpubpf_link__program(const struct gpubpf_link *link)
{
	return &link->session->loaded->unit.progs[link->id];
}

uint64_t gpubpf_link__launches(const struct gpubpf_link *link)
{
	const struct gpubpf_kernel_table *t = link->session->table;

	return t ? __atomic_load_n(&t->link[link->id].launches, __ATOMIC_RELAXED) : 0;
}

/* -- for other tools -- */

static void list_json(const struct gpubpf_session *s, FILE *out)
{
	struct json_object *root = json_object_new_object(), *links = json_object_new_array();

	for (struct gpubpf_link *l = NULL; (l = gpubpf_session__next_link(s, l));) {
		const struct gpubpf_prog *prog = gpubpf_link__program(l);
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "id", json_object_new_uint64(l->id));
		json_object_object_add(o, "program", json_object_new_string(prog->name));
		json_object_object_add(o, "section", json_object_new_string(prog->section));
		json_object_object_add(o, "pattern", json_object_new_string(prog->pattern));
		json_object_object_add(o, "object", json_object_new_string(s->loaded->objects[prog->object].path));
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

		gpubpf_table_cell(&t, "%u", l->id);
		gpubpf_table_cell(&t, "%s", prog->name);
		gpubpf_table_cell(&t, "%s", prog->pattern);
		gpubpf_table_cell(&t, "%llu", (unsigned long long)gpubpf_link__launches(l));
		gpubpf_table_cell(&t, "%s", s->loaded->objects[prog->object].path);
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

int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *name, const char *pattern, uint32_t *id)
{
	const struct gpubpf_attach_opts opts = { .sz = sizeof(opts), .pattern = pattern[0] ? pattern : NULL };
	const struct gpubpf_prog *prog = find_program(s, object, name);
	struct gpubpf_link *link;

	if (!prog)
		return gpubpf_session_fail(s, -ENOENT, "the %s has no program '%s'", object < 0 ? "session" : "object",
					   name);
	link = gpubpf_program__attach_opts(prog, &opts);
	if (!link)
		return -errno;
	*id = link->id;
	return 0;
}

int gpubpf_links_detach(struct gpubpf_session *s, uint32_t id)
{
	if (!s->loaded || id >= s->loaded->unit.nprogs || !s->links[id].attached)
		return gpubpf_session_fail(s, -ENOENT, "there is no link %u; gpubpf session list shows all links", id);
	return gpubpf_link__detach(&s->links[id]);
}
