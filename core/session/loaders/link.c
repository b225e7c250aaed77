/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the links and perf events of loaders. A perf event names a place in a GPU kernel, to which loaders attach a
 * program.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/direct.h"
#include "core/wire/kprobe.h"
#include "core/wire/match.h"

static const enum gpubpf_site sites[SYS_PLACES] = {
	[SYS_AT_ENTRY] = GPUBPF_SITE_ENTRY,
	[SYS_AT_EXIT] = GPUBPF_SITE_EXIT,
	[SYS_AT_ACCESS] = GPUBPF_SITE_MEM_CAPTURE,
	[SYS_AT_RUN] = GPUBPF_SITE_ENTRY,
};

/* Returns why no program can be attached to the function of a kprobe, or NULL if one can. */
static const char *why_unsupported(const char *function, bool returns, uint64_t offset)
{
	bool capture = !strcmp(function, GPUBPF_KPROBE_CAPTURE);

	if (!strcmp(function, GPUBPF_KPROBE_RUN) && returns)
		return GPUBPF_KPROBE_NOT_RUN;
	if (offset)
		return "a GPU kernel cannot be probed at a byte offset; omit the offset, or use gpubpf run -o with "
		       "gpu/insn/";
	return capture && returns ? "a memory access has no return; use kprobe/" GPUBPF_KPROBE_CAPTURE : NULL;
}

static void detach(struct gpubpf_session *s, struct sys_attached *at)
{
	for (uint32_t i = 0; i < at->n; i++)
		gpubpf_link__destroy(gpubpf_session_link(s, at->links[i]));
	at->n = 0;
}

static void detach_link(struct gpubpf_session *s, struct sys_object *o)
{
	detach(s, &o->link.at);
}

static void mark_link_program(struct gpubpf_session *s, const struct sys_object *o,
			      void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	mark(s, o->link.prog);
}

static const struct sys_object_ops link_ops = { .finish = detach_link, .mark_references = mark_link_program };

static void detach_perf(struct gpubpf_session *s, struct sys_object *o)
{
	detach(s, &o->perf.at);
}

static void mark_perf_program(struct gpubpf_session *s, const struct sys_object *o,
			      void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	mark(s, o->perf.prog);
}

const struct sys_object_ops sys_perf_ops = { .finish = detach_perf, .mark_references = mark_perf_program };

static int set_place(struct sys_object *o, const char *function, bool returns)
{
	bool capture = !strcmp(function, GPUBPF_KPROBE_CAPTURE), runs = !strcmp(function, GPUBPF_KPROBE_RUN);

	o->perf.place = runs ? SYS_AT_RUN : capture ? SYS_AT_ACCESS : returns ? SYS_AT_EXIT : SYS_AT_ENTRY;
	return gpubpf_pattern_store(capture ? "*" : gpubpf_kprobe_kernel(function), o->perf.function) ? 0 : -EINVAL;
}

/* size of a buffer for a function name that is longer than any that gpubpf_pattern_store() accepts */
#define FUNCTION_SIZE (GPUBPF_WHOLE_NAME_SIZE + sizeof(GPUBPF_KPROBE_GPU) + 1)

int sys_perf_open(struct sys_call *c)
{
	char function[FUNCTION_SIZE];
	struct sys_object *o;
	uint64_t offset;
	const char *why;
	bool returns;
	int err;

	gpubpf_get_str(c->r, function, sizeof(function));
	returns = gpubpf_get_u32(c->r);
	offset = gpubpf_get_u64(c->r);
	if (c->r->failed)
		return -EPROTO;
	why = why_unsupported(function, returns, offset);
	if (why) {
		gpubpf_session_note(c->s, "a %sprobe of %s is refused: %s", returns ? "kret" : "k", function, why);
		return -EOPNOTSUPP;
	}
	o = sys_object_new(c->s, GPUBPF_BPF_PERF, &sys_perf_ops, &err);
	if (!o)
		return err;
	err = set_place(o, function, returns);
	if (err < 0)
		gpubpf_session_note(c->s,
				    "a kprobe of %.40s... is refused: a kernel's whole name has 1 to %d bytes, a "
				    "pattern with * at most %d",
				    function, GPUBPF_WHOLE_NAME_SIZE - 1, GPUBPF_NAME_SIZE - 1);
	return sys_object_answer(c, o, err);
}

/*
 * Returns how a program uses a map (enum gpubpf_map_use). If the map can be an element of a map of maps, the result
 * includes how the program uses such elements.
 */
static uint32_t map_use_by(const struct gpubpf_session *s, const struct sys_object *prog, const struct sys_closure_map *map)
{
	uint32_t use = 0;

	for (uint32_t m = 0; prog->prog.use && m < prog->prog.nmaps; m++) {
		const struct sys_object *o = sys_object_find(s, prog->prog.maps[m]);
		bool element = o->map.def.inner && !map->prototype &&
			       gpubpf_map_is_like(&map->map->map.def, &o->map.inner);

		if (o == map->map)
			use |= map->prototype ? prog->prog.inner_use[m] : prog->prog.use[m];
		if (element)
			use |= prog->prog.inner_use[m] | GPUBPF_USE_ELEMENT;
	}
	return use;
}

/* Collect how the programs of all loaders use the maps of g, because the layout of the maps depends on it. */
static void collect_map_use(const struct gpubpf_session *s, const struct sys_closure *g, uint32_t *use)
{
	for (uint32_t i = 0; i < s->loaders->n; i++)
		for (uint32_t m = 0; s->loaders->objects[i]->kind == GPUBPF_BPF_PROG && m < g->nmaps; m++)
			use[m] |= map_use_by(s, s->loaders->objects[i], &g->maps[m]);
}

/* Returns the map's index in the session's unit, or -1 if the map has not joined the session. */
static int32_t session_map_number(const struct gpubpf_session *s, const struct sys_closure_map *map)
{
	const struct sys_object *o = map->map;

	if (!o->map.joined)
		return -1;
	return map->prototype ? (int32_t)gpubpf_session_unit(s)->maps[o->map.index].inner - 1 : (int32_t)o->map.index;
}

/*
 * Set the BTF that describes the records of a ring that joined with an object without BTF. The BTF is that of `object`,
 * the first program that uses the ring.
 */
static void set_record_types(struct gpubpf_session *s, const struct sys_object *map, int object)
{
	struct gpubpf_map *m = map->map.stream ? &gpubpf_session_unit(s)->maps[map->map.index] : NULL;

	if (m && !gpubpf_session_loaded(s)->objects[m->object].btf)
		m->object = object;
}

/* Join the object to the session, then copy the elements of its maps. Returns the object's index, or -errno. */
static int join_object(struct gpubpf_session *s, const struct sys_closure *g, struct gpubpf_loaded *more,
		       struct gpubpf_diag *diag)
{
	int32_t at[GPUBPF_MAX_MAPS];
	uint32_t use[GPUBPF_MAX_MAPS] = { 0 };
	int object;

	for (uint32_t i = 0; i < g->nmaps; i++)
		at[i] = session_map_number(s, &g->maps[i]);
	collect_map_use(s, g, use);
	object = gpubpf_session_join_loaded(s, more, at, use, diag);
	if (object < 0) {
		gpubpf_loaded_destroy(more);
		return object;
	}
	for (uint32_t i = 0; i < g->nmaps; i++)
		if (!g->maps[i].prototype && !g->maps[i].map->map.joined)
			sys_map_on_join(s, g->maps[i].map, (uint32_t)at[i]);
	for (uint32_t i = 0; i < g->nmaps; i++)
		if (!g->maps[i].prototype && g->maps[i].map->map.slots)
			sys_slots_on_join(s, g->maps[i].map);
		else if (!g->maps[i].prototype)
			set_record_types(s, g->maps[i].map, object);
	return object;
}

static int join_program(struct gpubpf_session *s, struct sys_object *prog, enum sys_place place, const char *pattern,
			struct gpubpf_diag *diag)
{
	struct sys_closure *g = calloc(1, sizeof(*g));
	struct gpubpf_loaded *more;
	int object = g ? sys_closure_program(s, prog, sites[place], pattern, g, &more, diag) : -ENOMEM;

	if (object >= 0) {
		more->unit.progs[0].is_run = place == SYS_AT_RUN;
		object = join_object(s, g, more, diag);
	}
	free(g);
	return object;
}

static int note_failure(struct gpubpf_session *s, const char *what, const char *name, const char *outcome, int err,
			const struct gpubpf_diag *diag)
{
	char text[4096];

	if (diag->code != GPUBPF_OK)
		gpubpf_diag_format(diag, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s",
			 gpubpf_session__error(s)[0] ? gpubpf_session__error(s) : strerror(-err));
	gpubpf_session_note(s, "%s %s is %s: %s", what, name, outcome, text);
	return err;
}

/* Join the program for direct runs. It needs no link: sys_run() attaches it for the time of a run. */
static int join_run(struct gpubpf_session *s, struct sys_object *prog)
{
	struct gpubpf_diag diag;
	int err = prog->prog.object[SYS_AT_RUN];

	gpubpf_diag_init(&diag);
	gpubpf_session_clear_error(s);
	if (err < 0)
		err = join_program(s, prog, SYS_AT_RUN, GPUBPF_DIRECT_KERNEL, &diag);
	if (err < 0)
		return note_failure(s, "program", prog->prog.name, "not run", err, &diag);
	prog->prog.object[SYS_AT_RUN] = err;
	return 0;
}

int64_t sys_run_link(struct gpubpf_session *s, struct sys_object *prog)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	int err = join_run(s, prog);

	for (uint32_t i = 0; !err && i < unit->nprogs; i++)
		if (unit->progs[i].object == prog->prog.object[SYS_AT_RUN] && unit->progs[i].is_run)
			return i;
	return err ? err : -ENOENT;
}

static int attach_one(struct gpubpf_session *s, struct sys_object *prog, enum sys_place place, const char *pattern,
		      struct sys_attached *at)
{
	struct gpubpf_diag diag;
	int err = 0;

	gpubpf_diag_init(&diag);
	gpubpf_session_clear_error(s);
	if (prog->prog.object[place] < 0) {
		err = join_program(s, prog, place, pattern, &diag);
		prog->prog.object[place] = err;
	}
	if (err >= 0)
		err = gpubpf_links_attach(s, prog->prog.object[place], prog->prog.name, pattern, at->cookie,
					  &at->links[at->n]);
	if (err < 0)
		return note_failure(s, "program", prog->prog.name, "not attached", err, &diag);
	at->n++;
	return 0;
}

static int attach(struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *perf, struct sys_attached *at)
{
	const char *pattern = sys_prog_pattern(s, prog->prog.name, 0);
	int err = 0;

	at->n = 0;
	if (perf->perf.place == SYS_AT_RUN)
		return join_run(s, prog);
	if (!pattern)
		return attach_one(s, prog, perf->perf.place, perf->perf.function, at);
	for (uint32_t i = 0; i < GPUBPF_BPF_MAX_PATTERNS && !err && (pattern = sys_prog_pattern(s, prog->prog.name, i));
	     i++)
		err = attach_one(s, prog, perf->perf.place, pattern, at);
	if (err < 0)
		detach(s, at);
	return err;
}

int sys_map_join(struct gpubpf_session *s, struct sys_object *map)
{
	struct sys_closure *g = calloc(1, sizeof(*g));
	struct gpubpf_loaded *more;
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = g ? sys_closure_map(s, map, g, &more, &diag) : -ENOMEM;
	if (!err)
		err = join_object(s, g, more, &diag);
	free(g);
	if (err < 0)
		return note_failure(s, "map", map->map.def.name, "not added as an element", err, &diag);
	gpubpf_arenas_activate(s);
	return 0;
}

/* -- replacing attached programs -- */

static struct sys_attached *get_attached(struct sys_object *o, uint32_t prog)
{
	if (o->kind == GPUBPF_BPF_LINK && o->link.prog == prog)
		return &o->link.at;
	return o->kind == GPUBPF_BPF_PERF && o->perf.prog == prog ? &o->perf.at : NULL;
}

/*
 * Replace a link by a link of the same program in `object`. Agents get both changes at once. So a kernel launch runs
 * either the old or the new program.
 */
static int replace_link(struct gpubpf_session *s, const struct sys_object *prog, int object, uint32_t *link)
{
	char pattern[GPUBPF_NAME_SIZE];
	uint32_t renewed;
	int err;

	snprintf(pattern, sizeof(pattern), "%s", gpubpf_session_unit(s)->progs[*link].pattern);
	gpubpf_link_set_attached(gpubpf_session_link(s, *link), false);
	err = gpubpf_links_attach(s, object, prog->prog.name, pattern, gpubpf_session_unit(s)->progs[*link].cookie,
				  &renewed);
	if (err < 0)
		gpubpf_link_set_attached(gpubpf_session_link(s, *link), true);
	else
		*link = renewed;
	return err;
}

static bool is_attached(struct gpubpf_session *s, const struct sys_object *prog, int object)
{
	bool found = false;

	for (uint32_t i = 0; i < s->loaders->n; i++) {
		const struct sys_attached *at = get_attached(s->loaders->objects[i], prog->id);

		for (uint32_t k = 0; at && k < at->n; k++)
			found |= gpubpf_session_unit(s)->progs[at->links[k]].object == object;
	}
	return found;
}

static int replace_links(struct gpubpf_session *s, const struct sys_object *prog, int from, int to)
{
	int err = 0;

	for (uint32_t i = 0; i < s->loaders->n && !err; i++) {
		struct sys_attached *at = get_attached(s->loaders->objects[i], prog->id);

		for (uint32_t k = 0; at && k < at->n && !err; k++)
			if (gpubpf_session_unit(s)->progs[at->links[k]].object == from)
				err = replace_link(s, prog, to, &at->links[k]);
	}
	return err;
}

static int rebuild_program(struct gpubpf_session *s, struct sys_object *prog, enum sys_place place)
{
	struct gpubpf_diag diag;
	int from = prog->prog.object[place], to;

	if (from < 0)
		return 0;
	if (!is_attached(s, prog, from)) {
		prog->prog.object[place] = -1;
		return 0;
	}
	gpubpf_diag_init(&diag);
	gpubpf_session_clear_error(s);
	to = join_program(s, prog, place, "*", &diag);
	if (to < 0)
		return note_failure(s, "program", prog->prog.name, "not updated", to, &diag);
	prog->prog.object[place] = to;
	return replace_links(s, prog, from, to);
}

int sys_links_rebuild(struct gpubpf_session *s, struct sys_object *map)
{
	int err = 0;

	for (uint32_t i = 0; i < s->loaders->n && !err; i++) {
		struct sys_object *o = s->loaders->objects[i];

		if (o->kind != GPUBPF_BPF_PROG || !sys_closure_names_map(s, o, map))
			continue;
		for (int place = 0; place < SYS_PLACES && !err; place++)
			err = rebuild_program(s, o, (enum sys_place)place);
	}
	return err;
}

/*
 * Returns true if the perf event already has a program, which ioctl(2) or a link has set. A perf event can have only
 * one.
 */
static bool has_program(const struct gpubpf_session *s, const struct sys_object *perf)
{
	bool has = perf->perf.prog != 0;

	for (uint32_t i = 0; i < s->loaders->n; i++)
		has |= s->loaders->objects[i]->kind == GPUBPF_BPF_LINK && s->loaders->objects[i]->link.perf == perf->id;
	return has;
}

int sys_link_create(struct sys_call *c)
{
	uint32_t prog_id = gpubpf_get_u32(c->r), perf_id = gpubpf_get_u32(c->r);
	uint64_t cookie = gpubpf_get_u64(c->r);
	struct sys_object *prog, *perf, *o;
	int err;

	if (c->r->failed)
		return -EPROTO;
	gpubpf_bpf_sweep(c->s); /* detaches the links whose descriptors were closed just before */
	prog = sys_object_find_kind(c->s, GPUBPF_BPF_PROG, prog_id);
	perf = sys_object_find_kind(c->s, GPUBPF_BPF_PERF, perf_id);
	if (!prog || !perf)
		return -EBADF;
	if (has_program(c->s, perf))
		return -EEXIST;
	o = sys_object_new(c->s, GPUBPF_BPF_LINK, &link_ops, &err);
	if (!o)
		return err;
	o->link.prog = prog->id;
	o->link.perf = perf->id;
	o->link.at.cookie = cookie;
	err = attach(c->s, prog, perf, &o->link.at);
	return sys_object_answer(c, o, err);
}

int sys_perf_set(struct sys_call *c)
{
	uint32_t perf_id = gpubpf_get_u32(c->r), prog_id = gpubpf_get_u32(c->r);
	struct sys_object *perf, *prog;
	int err;

	if (c->r->failed)
		return -EPROTO;
	gpubpf_bpf_sweep(c->s);
	perf = sys_object_find_kind(c->s, GPUBPF_BPF_PERF, perf_id);
	prog = sys_object_find_kind(c->s, GPUBPF_BPF_PROG, prog_id);
	if (!prog || !perf)
		return -EBADF;
	if (has_program(c->s, perf))
		return -EEXIST;
	err = attach(c->s, prog, perf, &perf->perf.at);
	if (!err)
		perf->perf.prog = prog->id;
	return err;
}
