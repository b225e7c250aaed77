/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the objects of a session: read, verify, lay out the maps. */
#include "core/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/target.h"
#include "gpubpf/allocation.h"
#include "core/session/kernel_bpf/kernel_maps.h"
#include "core/session/base/sized.h"

void gpubpf_load_value_finish(struct gpubpf_load_value *value)
{
	free(value->object);
	free(value->map);
	free(value->data);
}

static int grow_objects(struct gpubpf_session *s)
{
	char **paths = realloc(s->paths, (s->npaths + 1) * sizeof(*paths));
	struct gpubpf_load_image *images;

	if (paths)
		s->paths = paths;
	images = realloc(s->images, (s->npaths + 1) * sizeof(*images));
	if (images)
		s->images = images;
	return paths && images ? 0 : -ENOMEM;
}

/* image: NULL, or owned by this function, even if it fails. */
static int add_object(struct gpubpf_session *s, const char *path, void *image, size_t size)
{
	char *own = strdup(path);

	if (!own || grow_objects(s) < 0) {
		free(own);
		free(image);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", path);
	}
	s->images[s->npaths] = (struct gpubpf_load_image){ image, size };
	s->paths[s->npaths++] = own;
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
		return gpubpf_session_fail(s, -EBUSY, "%s: objects cannot be added after loading", name);
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
		return gpubpf_session_fail(s, -EBUSY, "%s: programs cannot be attached after loading", prog);
	grown = realloc(s->attach, (s->nattach + 1) * sizeof(*grown));
	if (grown)
		s->attach = grown;
	own.prog = strdup(prog);
	own.pattern = strdup(pattern);
	if (!grown || !own.prog || !own.pattern) {
		free((char *)own.prog);
		free((char *)own.pattern);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", prog);
	}
	s->attach[s->nattach++] = own;
	return 0;
}

/* Is an object loaded whose path, as reports show it, is `object`? */
static bool has_loaded(const struct gpubpf_session *s, const char *object)
{
	for (uint32_t i = 0; s->loaded && i < s->loaded->nobjects; i++)
		if (!strncmp(s->loaded->objects[i].path, object, sizeof(s->loaded->objects[i].path) - 1))
			return true;
	return false;
}

/* Store a value for a map's initial data. It replaces an earlier value for the same map. */
static void store_value(struct gpubpf_session *s, const struct gpubpf_load_value *value)
{
	for (uint32_t i = 0; i < s->nvalues; i++)
		if (!strcmp(s->values[i].object, value->object) && !strcmp(s->values[i].map, value->map)) {
			gpubpf_load_value_finish(&s->values[i]);
			s->values[i] = *value;
			return;
		}
	s->values[s->nvalues++] = *value;
}

int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map, const void *data,
				      size_t size)
{
	struct gpubpf_load_value *grown, own = { .size = size };

	if (s->state == GPUBPF_SESSION_STOPPED || has_loaded(s, object))
		return gpubpf_session_fail(s, -EBUSY, "%s: global data has no initial value after loading", map);
	grown = realloc(s->values, (s->nvalues + 1) * sizeof(*grown));
	if (grown)
		s->values = grown;
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
	for (uint32_t i = 0; i < s->npaths; i++)
		if (!strcmp(s->paths[i], name))
			return true;
	return false;
}

static int load_objects(struct gpubpf_session *s, struct gpubpf_diag *diag)
{
	struct gpubpf_load_opts opts = {
		.paths = (const char *const *)s->paths,
		.npaths = s->npaths,
		.images = s->images,
		.attach = s->attach,
		.nattach = s->nattach,
		.values = s->values,
		.nvalues = s->nvalues,
		.all_gpu = s->opts.all_gpu,
	};
	uint64_t start = gpubpf_now_ns();
	int err = 0;

	for (uint32_t i = 0; i < s->nvalues; i++)
		if (!has_object(s, s->values[i].object))
			return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC,
					       "%s: a value is set for its %s, but no object of that name was added",
					       s->values[i].object, s->values[i].map);
	if (s->npaths)
		err = gpubpf_load(&opts, &s->loaded, diag);
	s->cost.load_ns = gpubpf_now_ns() - start;
	return err;
}

/* Report the verifier's warnings together with the loader's notes. */
static void add_warnings(struct gpubpf_loaded *loaded, const struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < prog->facts->nwarnings; i++)
		if (!prog->facts->warnings[i].harmless)
			gpubpf_load_note(loaded, "program %s: warning: %s", prog->name, prog->facts->warnings[i].text);
}

/* Verify a program, with options for the way in which the session runs it. With GPUBPF_RAW_CHECKED (conformance tool)
 * it is not verified. */
static int verify(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t i, struct gpubpf_diag *diag)
{
	struct gpubpf_verify_opts opts = { .max_cost = s->opts.max_cost, .allow_exit_thread = true };

	if (s->raw == GPUBPF_RAW_CHECKED)
		return gpubpf_facts_unproven(&unit->progs[i]);
	if (s->raw) {
		opts.plain_mem = opts.allow_ptr_leaks = true;
		opts.mem_size = unit->maps[i].value_size - GPUBPF_RUN_MEM;
	}
	return gpubpf_verify(unit, &unit->progs[i], &opts, diag);
}

int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag)
{
	uint64_t start = gpubpf_now_ns();
	int err = 0;

	for (uint32_t i = first; i < unit->nprogs && !err; i++) {
		err = verify(s, unit, i, diag);
		if (err < 0)
			gpubpf_diag_where(diag, "program %s (section %s)", unit->progs[i].name, unit->progs[i].section);
		else
			add_warnings(s->loaded, &unit->progs[i]);
	}
	s->cost.verify_ns += gpubpf_now_ns() - start;
	return err;
}

/* Does a map of the unit receive the application's allocations? */
bool gpubpf_maps_need_allocations(const struct gpubpf_unit *unit)
{
	bool wants_allocations = false;

	for (uint32_t m = 0; m < unit->nmaps; m++)
		wants_allocations |= unit->maps[m].map_flags & GPUBPF_F_ALLOCATIONS;
	return wants_allocations;
}

static int collect_map_use(struct gpubpf_session *s, struct gpubpf_unit *unit)
{
	s->map_use = calloc(GPUBPF_MAX_MAPS, sizeof(*s->map_use));
	s->map_records = calloc(GPUBPF_MAX_MAPS, sizeof(*s->map_records));
	s->map_set = calloc(GPUBPF_MAX_MAPS, sizeof(*s->map_set));
	if (!s->map_use || !s->map_records || !s->map_set)
		return -ENOMEM;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		s->print_ring |= unit->progs[i].facts->prints;
		s->allocations |= unit->progs[i].facts->allocations;
		for (uint32_t m = 0; m < unit->nmaps; m++)
			s->map_use[m] |= unit->progs[i].facts->map_use[m];
		if (s->raw)
			s->map_use[i] |= GPUBPF_USE_READ | GPUBPF_USE_WRITE;
	}
	s->allocations |= gpubpf_maps_need_allocations(unit);
	gpubpf_layout_propagate_use(unit, s->map_use);
	for (uint32_t m = 0; m < unit->nmaps; m++) {
		s->map_set[m] = unit->maps[m].kernel;
		s->has_rings |= unit->maps[m].type->flags & GPUBPF_MAP_RING;
		unit->maps[m].session = s;
		unit->maps[m].stacks = s->stacks;
	}
	s->has_rings |= s->print_ring;
	return 0;
}

static uint64_t host_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * size : 0;
}

/* replicas of the arena that devices on host memory share: the number of CPUs that the machine can have */
static uint32_t host_replicas(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? n : 1;
}

/* Verify the loaded unit, and lay out its maps. */
static int adopt_loaded(struct gpubpf_session *s, struct gpubpf_diag *diag)
{
	int err = gpubpf_session_verify(s, &s->loaded->unit, 0, diag);

	if (!err && !s->opts.inspect)
		err = gpubpf_linux_progs_load(s);
	if (!err)
		err = gpubpf_links_open(s);
	if (!err)
		err = collect_map_use(s, &s->loaded->unit);
	if (!err)
		err = gpubpf_placements_check_names(s, &s->loaded->unit, diag);
	if (!err)
		err = gpubpf_arena_open(s, host_replicas(), NULL, host_memory(), 0, diag);
	if (err >= 0)
		gpubpf_linux_progs_sync_maps(s);
	return err < 0 ? err : 0;
}

int gpubpf_session_adopt_unit(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag)
{
	int err;

	s->loaded = loaded;
	err = adopt_loaded(s, diag);
	if (!err)
		s->state = GPUBPF_SESSION_LOADED;
	return err;
}

static int refuse_route(struct gpubpf_session *s)
{
	const struct gpubpf_target_info *t;
	char list[160] = "";

	for (size_t i = 0; (t = gpubpf_target_at(i)); i++)
		if (gpubpf_target_route(t->name))
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", t->name);
	return gpubpf_session_fail(s, -EINVAL, "%s is no known form of kernel code; known are:%s", s->opts.route, list);
}

int gpubpf_session__load(struct gpubpf_session *s)
{
	struct gpubpf_diag diag;
	int err;

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "the session is loaded already");
	if (s->opts.route && !gpubpf_target_route(s->opts.route))
		return refuse_route(s);
	gpubpf_diag_init(&diag);
	err = load_objects(s, &diag);
	if (!err && !s->loaded) {
		s->loaded = calloc(1, sizeof(*s->loaded)); /* the session has no objects: it only inspects, or loaders
							    * will create programs */
		err = s->loaded ? 0 : -ENOMEM;
	}
	if (!err)
		err = gpubpf_session_adopt_unit(s, s->loaded, &diag);
	if (err < 0) {
		if (diag.code == GPUBPF_OK)
			gpubpf_diag_set(&diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "%s", strerror(-err));
		return gpubpf_session_refuse(s, err, &diag);
	}
	return 0;
}

const char *gpubpf_session__load_note(const struct gpubpf_session *s, size_t i)
{
	return s->loaded && i < s->loaded->nnotes ? s->loaded->notes[i] : NULL;
}
