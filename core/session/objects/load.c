/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the BPF objects of a session: reads them, verifies the programs, and lays out the maps. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/target.h"
#include "gpubpf/allocation.h"
#include "gpubpf/arm.h"
#include "core/session/base/sized.h"

void gpubpf_load_value_finish(struct gpubpf_load_value *value)
{
	free(value->object);
	free(value->map);
	free(value->data);
}

int gpubpf_objects_create(struct gpubpf_session *s)
{
	s->objects = calloc(1, sizeof(*s->objects));
	return s->objects ? 0 : -ENOMEM;
}

void gpubpf_objects_destroy(struct gpubpf_session *s)
{
	struct session_objects *o = s->objects;

	if (!o)
		return;
	for (uint32_t i = 0; i < o->npaths; i++) {
		free((void *)o->images[i].data);
		free(o->paths[i]);
	}
	for (uint32_t i = 0; i < o->nattach; i++) {
		free((char *)o->attach[i].prog);
		free((char *)o->attach[i].pattern);
	}
	for (uint32_t i = 0; i < o->nvalues; i++)
		gpubpf_load_value_finish(&o->values[i]);
	free(o->images);
	free(o->values);
	free(o->paths);
	free(o->attach);
	free(o);
	s->objects = NULL;
}

static int grow_objects(struct gpubpf_session *s)
{
	char **paths = realloc(s->objects->paths, (s->objects->npaths + 1) * sizeof(*paths));
	struct gpubpf_load_image *images;

	if (paths)
		s->objects->paths = paths;
	images = realloc(s->objects->images, (s->objects->npaths + 1) * sizeof(*images));
	if (images)
		s->objects->images = images;
	return paths && images ? 0 : -ENOMEM;
}

/*
 * Add an object to the list for gpubpf_session__load(). image: the object's content, or NULL to read it from path. This
 * function owns image, even if it fails.
 */
static int add_object(struct gpubpf_session *s, const char *path, void *image, size_t size)
{
	char *own = strdup(path);

	if (!own || grow_objects(s) < 0) {
		free(own);
		free(image);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", path);
	}
	s->objects->images[s->objects->npaths] = (struct gpubpf_load_image){ image, size };
	s->objects->paths[s->objects->npaths++] = own;
	return 0;
}

int gpubpf_session__add_object(struct gpubpf_session *s, const char *path)
{
	if (s->state != GPUBPF_SESSION_NEW) {
		int object = gpubpf_session_join_object(s, path);

		return object < 0 ? object : 0;
	}
	return add_object(s, path, NULL, 0);
}

int gpubpf_session__add_object_mem(struct gpubpf_session *s, const char *name, const void *data, size_t size)
{
	void *image;

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "%s: call gpubpf_session__add_object_mem() before loading", name);
	image = malloc(size + 1);
	if (!image)
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", name);
	memcpy(image, data, size);
	return add_object(s, name, image, size);
}

int gpubpf_session__attach(struct gpubpf_session *s, const char *prog, const char *pattern)
{
	struct gpubpf_attach *grown, own;

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "%s: call gpubpf_session__attach() before loading", prog);
	grown = realloc(s->objects->attach, (s->objects->nattach + 1) * sizeof(*grown));
	if (grown)
		s->objects->attach = grown;
	own.prog = strdup(prog);
	own.pattern = strdup(pattern);
	if (!grown || !own.prog || !own.pattern) {
		free((char *)own.prog);
		free((char *)own.pattern);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", prog);
	}
	s->objects->attach[s->objects->nattach++] = own;
	return 0;
}

const struct gpubpf_attach *gpubpf_session_attach_at(const struct gpubpf_session *s, uint32_t i)
{
	return i < s->objects->nattach ? &s->objects->attach[i] : NULL;
}

const char *gpubpf_session_attach_pattern(const struct gpubpf_session *s, const char *prog)
{
	for (uint32_t i = 0; i < s->objects->nattach; i++)
		if (!strcmp(s->objects->attach[i].prog, prog))
			return s->objects->attach[i].pattern;
	return NULL;
}

/* Returns true if an object is loaded whose path in reports is `object`. */
static bool has_loaded(const struct gpubpf_session *s, const char *object)
{
	for (uint32_t i = 0; gpubpf_session_loaded(s) && i < gpubpf_session_loaded(s)->nobjects; i++)
		if (!strncmp(gpubpf_session_loaded(s)->objects[i].path, object,
			     sizeof(gpubpf_session_loaded(s)->objects[i].path) - 1))
			return true;
	return false;
}

/* Store the initial value of a map. It replaces an earlier value for the same map. */
static void store_value(struct gpubpf_session *s, const struct gpubpf_load_value *value)
{
	for (uint32_t i = 0; i < s->objects->nvalues; i++)
		if (!strcmp(s->objects->values[i].object, value->object) &&
		    !strcmp(s->objects->values[i].map, value->map)) {
			gpubpf_load_value_finish(&s->objects->values[i]);
			s->objects->values[i] = *value;
			return;
		}
	s->objects->values[s->objects->nvalues++] = *value;
}

int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map, const void *data,
				      size_t size)
{
	struct gpubpf_load_value *grown, own = { .size = size };

	if (s->state == GPUBPF_SESSION_STOPPED || has_loaded(s, object))
		return gpubpf_session_fail(s, -EBUSY,
					   "%s: set the initial value of global data before its object is loaded", map);
	grown = realloc(s->objects->values, (s->objects->nvalues + 1) * sizeof(*grown));
	if (grown)
		s->objects->values = grown;
	own.object = strdup(object);
	own.map = strdup(map);
	own.data = malloc(size + 1);
	if (!grown || !own.object || !own.map || !own.data) {
		gpubpf_load_value_finish(&own);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", map);
	}
	memcpy(own.data, data, size);
	store_value(s, &own);
	return 0;
}

static bool has_object(const struct gpubpf_session *s, const char *name)
{
	for (uint32_t i = 0; i < s->objects->npaths; i++)
		if (!strcmp(s->objects->paths[i], name))
			return true;
	return false;
}

static int load_objects(struct gpubpf_session *s, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag)
{
	struct gpubpf_load_opts opts = {
		.paths = (const char *const *)s->objects->paths,
		.npaths = s->objects->npaths,
		.images = s->objects->images,
		.attach = s->objects->attach,
		.nattach = s->objects->nattach,
		.values = s->objects->values,
		.nvalues = s->objects->nvalues,
		.clock = s->opts.clock,
		.all_gpu = s->opts.all_gpu,
	};
	uint64_t start = gpubpf_now_ns();
	int err = 0;

	for (uint32_t i = 0; i < s->objects->nvalues; i++)
		if (!has_object(s, s->objects->values[i].object))
			return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
					       "%s: an initial value is set for its map %s, but no object of that "
					       "name was added",
					       s->objects->values[i].object, s->objects->values[i].map);
	if (s->objects->npaths)
		err = gpubpf_load(&opts, loaded, diag);
	gpubpf_session_add_cost(s, gpubpf_now_ns() - start, 0);
	return err;
}

/* Report the verifier's warnings as notes, together with the loader's notes. */
static void add_warnings(struct gpubpf_loaded *loaded, const struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < prog->facts->nwarnings; i++)
		if (!prog->facts->warnings[i].harmless)
			gpubpf_load_note(loaded, "program %s: warning: %s", prog->name, prog->facts->warnings[i].text);
}

/*
 * Verify program i of the unit, with the options that the session's mode requires. With GPUBPF_RAW_CHECKED (conformance
 * tool), the program is not verified.
 */
static int verify(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t i, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .max_cost = s->opts.max_cost, .allow_exit_thread = true };

	if (gpubpf_session_raw(s) == GPUBPF_RAW_CHECKED)
		return gpubpf_facts_unproven(&unit->progs[i]);
	if (gpubpf_session_raw(s)) {
		opts.plain_mem = opts.allow_ptr_leaks = true;
		opts.mem_size = unit->maps[i].value_size - GPUBPF_RUN_MEM;
	}
	return gpubpf_verify(unit, &unit->progs[i], &opts, diag);
}

/* Check that each map of GPUBPF_ARMS() names a program of its object. */
static int check_arms(const struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	const size_t n = strlen(GPUBPF_ARMS_PREFIX);

	for (uint32_t m = 0; m < unit->nmaps; m++) {
		const struct gpubpf_map *map = &unit->maps[m];
		uint32_t i = 0;

		if (!(map->map_flags & GPUBPF_F_ARMS))
			continue;
		while (i < unit->nprogs &&
		       (unit->progs[i].object != map->object || strncmp(map->name, GPUBPF_ARMS_PREFIX, n) ||
			strcmp(map->name + n, unit->progs[i].name)))
			i++;
		if (i < unit->nprogs)
			continue;
		gpubpf_diag_remedy(diag, "pass the name of a program's function to GPUBPF_ARMS()");
		return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
				       "map %s arms the program '%s', which the object does not have", map->name,
				       strncmp(map->name, GPUBPF_ARMS_PREFIX, n) ? "" : map->name + n);
	}
	return 0;
}

int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag)
{
	uint64_t start = gpubpf_now_ns();
	int err = check_arms(unit, diag);

	for (uint32_t i = first; i < unit->nprogs && !err; i++) {
		err = verify(s, unit, i, diag);
		if (err < 0)
			gpubpf_diag_where(diag, "program %s (section %s)", unit->progs[i].name, unit->progs[i].section);
		else
			add_warnings(gpubpf_session_loaded(s), &unit->progs[i]);
	}
	gpubpf_session_add_cost(s, 0, gpubpf_now_ns() - start);
	return err;
}

static uint64_t host_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * size : 0;
}

/*
 * Returns the number of replicas in the arena that devices on host memory share: the number of CPUs that the machine
 * can have.
 */
static uint32_t host_replicas(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? n : 1;
}

/* Verify the loaded unit, and lay out its maps. */
static int adopt_loaded(struct gpubpf_session *s, struct gpubpf_diag *diag)
{
	int err = gpubpf_session_verify(s, gpubpf_session_unit(s), 0, diag);

	if (!err && !s->opts.inspect)
		err = gpubpf_support_event(s, GPUBPF_SUPPORT_VERIFIED);
	if (!err)
		err = gpubpf_unit_open_links(s);
	if (!err)
		err = gpubpf_unit_collect_use(s);
	if (!err)
		err = gpubpf_maps_open(s);
	if (!err)
		err = gpubpf_placements_check_names(s, gpubpf_session_unit(s), diag);
	if (!err)
		err = gpubpf_arena_open(s, host_replicas(), NULL, host_memory(), 0, diag);
	return err < 0 ? err : gpubpf_support_event(s, GPUBPF_SUPPORT_LAID_OUT);
}

int gpubpf_session_adopt_unit(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag)
{
	int err;

	gpubpf_unit_set_loaded(s, loaded);
	err = adopt_loaded(s, diag);
	if (!err)
		s->state = GPUBPF_SESSION_LOADED;
	return err;
}

/* Adds a note for each program that the session does not attach because gpubpf itself must launch it. */
static void note_runs(const struct gpubpf_session *s, struct gpubpf_loaded *loaded)
{
	for (uint32_t i = 0; !s->opts.no_attach && i < loaded->unit.nprogs; i++)
		if (loaded->unit.progs[i].is_run)
			gpubpf_load_note(loaded, "program %s (%s) is not attached: gpubpf prog run runs it",
					 loaded->unit.progs[i].name, loaded->unit.progs[i].section);
}

static int refuse_route(struct gpubpf_session *s)
{
	const struct gpubpf_target_info *t;
	char list[160] = "";

	for (size_t i = 0; (t = gpubpf_target_at(i)); i++)
		if (gpubpf_target_route(t->name))
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", t->name);
	return gpubpf_session_fail(s, -EINVAL, "%s is no form of kernel code that gpubpf can probe; use one of:%s",
				   s->opts.route, list);
}

int gpubpf_session__load(struct gpubpf_session *s)
{
	struct gpubpf_loaded *loaded = NULL;
	struct gpubpf_diag diag;
	int err;

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "the session is loaded already");
	if (s->opts.route && !gpubpf_target_route(s->opts.route))
		return refuse_route(s);
	if (s->opts.clock && !gpubpf_clock_is_valid(s->opts.clock))
		return gpubpf_session_fail(s, -EINVAL,
					   "clock %s: must be monotonic or realtime, or a list of PROG=monotonic and "
					   "PROG=realtime",
					   s->opts.clock);
	gpubpf_diag_init(&diag);
	err = load_objects(s, &loaded, &diag);
	if (!err && !loaded) {
		/* The session has no objects: it only inspects kernels, or loaders will create programs. */
		loaded = calloc(1, sizeof(*loaded));
		err = loaded ? 0 : -ENOMEM;
	}
	if (!err)
		err = gpubpf_session_adopt_unit(s, loaded, &diag);
	if (err < 0) {
		if (diag.code == GPUBPF_OK)
			gpubpf_diag_set(&diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "%s", strerror(-err));
		return gpubpf_session_refuse(s, err, &diag);
	}
	note_runs(s, loaded);
	return 0;
}

const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i)
{
	return gpubpf_session_loaded(s) && i < gpubpf_session_loaded(s)->nnotes ? gpubpf_session_loaded(s)->notes[i] :
										  NULL;
}
