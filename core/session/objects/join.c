/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a BPF object to a loaded session. The object is loaded, verified and laid out like the session's first objects.
 * If it is refused, the session does not change.
 *
 * The object's content is appended to the session's tables, which do not move. Its maps get a segment of each arena
 * (maps/layout.h), and its programs become links that are not attached. Agents see the object only after one of these
 * links is attached.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/stacks/stacks.h"

struct joining {
	struct gpubpf_session *s;
	struct gpubpf_loaded *more;
	int32_t at[GPUBPF_MAX_MAPS]; /* [more->unit.nmaps] index in the session of each map of `more` */
	struct gpubpf_unit unit;     /* the session's unit, with the joining object appended */
	uint32_t use[GPUBPF_MAX_MAPS];
	uint32_t use_before_spread[GPUBPF_MAX_MAPS]; /* use[] before gpubpf_layout_propagate_use() */
	bool prints, allocations;
	struct gpubpf_layout layouts[GPUBPF_MAX_ARENAS];
};

static int load(struct joining *j, const char *path, const struct gpubpf_load_image *image, struct gpubpf_diag *diag)
{
	struct gpubpf_load_opts opts = { .paths = &path,
					 .npaths = 1,
					 .images = image,
					 .values = j->s->objects->values,
					 .nvalues = j->s->objects->nvalues,
					 .clock = j->s->opts.clock,
					 .all_gpu = j->s->opts.all_gpu };
	uint64_t start = gpubpf_now_ns();
	int err = gpubpf_load(&opts, &j->more, diag);

	gpubpf_session_add_cost(j->s, gpubpf_now_ns() - start, 0);
	return err;
}

/* Returns the index of the session's object with the same bytes, or -1. */
static int find_same(const struct gpubpf_session *s, const struct gpubpf_loaded_object *object)
{
	for (uint32_t i = 0; i < gpubpf_session_loaded(s)->nobjects; i++)
		if (!strcmp(gpubpf_session_loaded(s)->objects[i].sha256, object->sha256))
			return (int)i;
	return -1;
}

/*
 * The session already has this object, and programs use its data. Refuse the object if initial values are set for it
 * under another path, because these values would have no effect.
 */
static int check_same_object(const struct gpubpf_session *s, int number, const char *path, struct gpubpf_diag *diag)
{
	const struct gpubpf_loaded_object *object = &gpubpf_session_loaded(s)->objects[number];

	for (uint32_t i = 0; i < s->objects->nvalues; i++)
		if (!strcmp(s->objects->values[i].object, path) && strncmp(object->path, path, sizeof(object->path) - 1)) {
			gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
					"%s: an initial value is set for its map %s, but the session already has "
					"this object as %s",
					path, s->objects->values[i].map, object->path);
			return -EBUSY;
		}
	return number;
}

/* Assign the next free indexes of the session to the maps whose at[] is -1. Returns the new number of maps. */
static uint32_t number_maps(const struct joining *j, int32_t *at)
{
	uint32_t n = gpubpf_session_unit(j->s)->nmaps;

	for (uint32_t i = 0; i < j->more->unit.nmaps; i++)
		if (at[i] < 0)
			at[i] = (int32_t)n++;
	return n;
}

static int has_room(const struct joining *j, uint32_t maps, struct gpubpf_diag *diag)
{
	uint32_t progs = gpubpf_session_unit(j->s)->nprogs + j->more->unit.nprogs;

	if (maps <= GPUBPF_MAX_MAPS && progs <= GPUBPF_PLAN_LINKS)
		return 0;
	gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
			"with this object the session would have %u maps and %u links; the limits are %u and %u", maps,
			progs, GPUBPF_MAX_MAPS, GPUBPF_PLAN_LINKS);
	return -ENOSPC;
}

static void renumber_maps(struct gpubpf_prog *prog, const int32_t *at)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_IMM64 &&
		    (prog->insns[pc].op == GPUBPF_IMM_MAP || prog->insns[pc].op == GPUBPF_IMM_MAP_VALUE))
			prog->insns[pc].imm = at[prog->insns[pc].imm];
}

/*
 * Append the object to the session's tables, and replace its map indexes by the session's indexes. The maps and
 * programs that the session already has do not refer to the appended ones, so undo() need not change them.
 */
static int append(struct joining *j, uint32_t nmaps)
{
	const struct gpubpf_unit *have = gpubpf_session_unit(j->s), *more = &j->more->unit;
	int object = (int)gpubpf_session_loaded(j->s)->nobjects;
	void *objects = reallocarray(gpubpf_session_loaded(j->s)->objects, object + 1, sizeof(*j->more->objects));

	if (!objects)
		return -ENOMEM;
	gpubpf_session_loaded(j->s)->objects = objects;
	j->unit = (struct gpubpf_unit){ have->maps, nmaps, have->progs, have->nprogs + more->nprogs };
	for (uint32_t i = 0; i < more->nmaps; i++) {
		struct gpubpf_map *map = &have->maps[j->at[i]];

		if ((uint32_t)j->at[i] < have->nmaps)
			continue;
		*map = more->maps[i];
		map->object = object;
		map->session = j->s;
		map->stacks = gpubpf_session_stack_table(j->s);
		map->inner = map->inner ? (uint32_t)j->at[map->inner - 1] + 1 : 0;
		for (uint32_t e = 0; map->inner && e < map->nelements; e++)
			map->elements[e].map = (uint32_t)j->at[map->elements[e].map];
	}
	for (uint32_t i = 0; i < more->nprogs; i++) {
		struct gpubpf_prog *prog = &have->progs[have->nprogs + i];

		*prog = more->progs[i];
		prog->object = object;
		prog->session = j->s;
		renumber_maps(prog, j->at);
	}
	return 0;
}

static void collect_use(struct joining *j, const uint32_t *use)
{
	for (uint32_t i = 0; use && i < j->more->unit.nmaps; i++)
		j->use[j->at[i]] |= use[i];
	for (uint32_t i = gpubpf_session_unit(j->s)->nprogs; i < j->unit.nprogs; i++) {
		j->prints |= j->unit.progs[i].facts->prints;
		j->allocations |= j->unit.progs[i].facts->allocations;
		for (uint32_t m = 0; m < j->unit.nmaps; m++)
			j->use[m] |= j->unit.progs[i].facts->map_use[m];
	}
	j->allocations |= gpubpf_maps_need_allocations(&j->unit);
	for (uint32_t m = 0; m < gpubpf_session_unit(j->s)->nmaps; m++)
		j->use[m] |= gpubpf_session_map_use(j->s)[m];
	memcpy(j->use_before_spread, j->use, sizeof(j->use_before_spread));
	gpubpf_layout_propagate_use(&j->unit, j->use);
}

static bool layout_serves(const struct joining *j, uint32_t map, uint32_t use)
{
	bool served = true;

	for (uint32_t i = 0; i < gpubpf_arenas_count(j->s) && served; i++)
		served = gpubpf_layout_supports_use(&j->unit.maps[map], &gpubpf_arena_at(j->s, i)->layout.maps[map], use);
	return served;
}

/*
 * gpubpf_layout_propagate_use() has added the uses of a map of maps to each map that can be its element. Remove these
 * uses from maps of the session that are merged, or whose layout does not support the uses. Such a map cannot be an
 * element of the new maps of maps.
 */
static void limit_use_to_layout(struct joining *j)
{
	for (uint32_t m = 0; m < gpubpf_session_unit(j->s)->nmaps; m++)
		if (gpubpf_map_is_merged(j->s, m) || !layout_serves(j, m, j->use[m]))
			j->use[m] = j->use_before_spread[m];
}

/* Refuse the object if its programs use a map of the session in a way that the map's layout does not support. */
static int check_layouts(const struct joining *j, struct gpubpf_diag *diag)
{
	for (uint32_t m = 0; m < gpubpf_session_unit(j->s)->nmaps; m++)
		if (!layout_serves(j, m, j->use[m]))
			return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
					       "the layout of map %s supports only additions or only maxima, but the new object's programs "
					       "do more; load this object first",
					       j->unit.maps[m].name);
	return 0;
}

/* Compute the layout of the new maps in all arenas, in j->layouts. commit() installs the layouts. */
static int lay_out(struct joining *j, struct gpubpf_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; i < gpubpf_arenas_count(j->s) && !err; i++) {
		j->layouts[i] = gpubpf_arena_at(j->s, i)->layout;
		err = gpubpf_arena_lay_out(j->s, i, &j->unit, j->use, j->prints, j->allocations, &j->layouts[i], diag);
	}
	return err;
}

static void add_notes(struct gpubpf_session *s, const struct gpubpf_loaded *of, uint32_t first)
{
	for (uint32_t i = first; i < of->nnotes; i++)
		gpubpf_session_note(s, "%s", of->notes[i]);
}

static int commit(struct joining *j)
{
	struct gpubpf_session *s = j->s;
	const struct gpubpf_unit_addition more = {
		.unit = &j->unit,
		.object = &j->more->objects[0],
		.use = j->use,
		.prints = j->prints,
		.allocations = j->allocations,
	};
	uint32_t nmaps = gpubpf_session_unit(s)->nmaps;
	int object;

	for (uint32_t i = 0; i < j->more->unit.nmaps; i++)
		if ((uint32_t)j->at[i] < nmaps) /* the session already has this map, with its own targets */
			free(j->more->unit.maps[i].targets);
	object = gpubpf_unit_extend(s, &more);
	for (uint32_t i = 0; i < gpubpf_arenas_count(s); i++)
		gpubpf_arena_grow(s, i, &j->layouts[i]);
	return object;
}

/*
 * Remove the appended programs from the session's table after a failure, and free their facts. The object still owns
 * their other data.
 */
static void undo(struct joining *j)
{
	struct gpubpf_unit *have = gpubpf_session_unit(j->s);

	for (uint32_t i = have->nprogs; i < j->unit.nprogs; i++) {
		gpubpf_facts_destroy(have->progs[i].facts);
		have->progs[i] = (struct gpubpf_prog){ 0 };
	}
}

static int join(struct joining *j, const uint32_t *use, struct gpubpf_diag *diag)
{
	uint32_t notes = gpubpf_session_loaded(j->s)->nnotes, nmaps = number_maps(j, j->at);
	int err = has_room(j, nmaps, diag);

	if (!err)
		err = append(j, nmaps);
	if (!err)
		err = gpubpf_session_verify(j->s, &j->unit, gpubpf_session_unit(j->s)->nprogs, diag);
	if (!err) {
		collect_use(j, use);
		limit_use_to_layout(j);
		err = check_layouts(j, diag);
	}
	if (!err)
		err = lay_out(j, diag);
	if (err < 0) {
		undo(j);
		return err;
	}
	add_notes(j->s, j->more, 0);
	add_notes(j->s, gpubpf_session_loaded(j->s), notes);
	for (uint32_t i = 0; i < j->more->objects[0].nhost; i++)
		gpubpf_session_note(j->s,
				    "program %s is not attached: the session loads programs into the Linux kernel "
				    "only when it starts, not from a later object",
				    j->more->objects[0].host[i]);
	err = commit(j);
	j->more->unit.nmaps = j->more->unit.nprogs = 0; /* the session now owns the maps and programs */
	return err;
}

int gpubpf_session_join_loaded(struct gpubpf_session *s, struct gpubpf_loaded *more, int32_t *at, const uint32_t *use,
			       struct gpubpf_diag *diag)
{
	uint32_t nmaps = more->unit.nmaps;
	struct joining *j = nmaps <= GPUBPF_MAX_MAPS ? calloc(1, sizeof(*j)) : NULL;
	int err = -ENOMEM;

	if (j) {
		j->s = s;
		j->more = more;
		memcpy(j->at, at, nmaps * sizeof(*at));
		err = join(j, use, diag);
	}
	if (err >= 0) {
		memcpy(at, j->at, nmaps * sizeof(*at));
		gpubpf_loaded_destroy(more);
	}
	free(j);
	return err;
}

int gpubpf_session_join_object(struct gpubpf_session *s, const char *path)
{
	return gpubpf_session_join_image(s, path, NULL);
}

int gpubpf_session_join_image(struct gpubpf_session *s, const char *path, const struct gpubpf_load_image *image)
{
	struct joining *j = calloc(1, sizeof(*j));
	struct gpubpf_diag diag;
	int err = -ENOMEM;

	if (s->opts.inspect || s->state == GPUBPF_SESSION_STOPPED) {
		free(j);
		return gpubpf_session_fail(s, -EBUSY, "%s: %s", path,
					   s->opts.inspect ?
						   "this session only inspects kernels; start a session that probes" :
						   "the session was stopped");
	}
	gpubpf_diag_init(&diag);
	if (j) {
		j->s = s;
		err = load(j, path, image, &diag);
	}
	if (!err) {
		int same = find_same(s, &j->more->objects[0]);

		memset(j->at, -1, sizeof(j->at));
		err = same >= 0 ? check_same_object(s, same, path, &diag) : join(j, NULL, &diag);
		gpubpf_loaded_destroy(j->more);
	}
	free(j);
	if (err < 0 && diag.code == GPUBPF_OK)
		return gpubpf_session_fail(s, err, "%s: %s", path, strerror(-err));
	if (err < 0)
		gpubpf_session_fail_diag(s, err, &diag);
	return err;
}
