/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session: new, loaded, started, stopped. */
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/session/loaders/loaders.h"
#include "core/worker/result_cache.h"
#include "gpubpf/allocation.h"
#include "core/session/kernel_bpf/kernel_maps.h"
#include "core/session/twins/build_pool.h"
#include "core/session/maps/sized.h"
#include "core/session/stacks/stacks.h"

const char *gpubpf_version_string(void)
{
	return GPUBPF_VERSION;
}

uint64_t gpubpf_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint32_t gpubpf_session_build_ms(const struct gpubpf_session *s)
{
	return s->opts.wait_ms > GPUBPF_BUILD_TIMEOUT_MS ? s->opts.wait_ms : GPUBPF_BUILD_TIMEOUT_MS;
}

int gpubpf_session_fail(struct gpubpf_session *s, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->error, sizeof(s->error), fmt, ap);
	va_end(ap);
	return err;
}

int gpubpf_session_refuse(struct gpubpf_session *s, int err, const struct gpubpf_diag *diag)
{
	gpubpf_diag_format(diag, s->error, sizeof(s->error));
	s->refusal = *diag;
	return err;
}

void gpubpf_session_note(struct gpubpf_session *s, const char *fmt, ...)
{
	char text[2048], **grown;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?'; /* a peer cannot send escape sequences to the user's terminal */
	for (uint32_t i = 0; i < s->nnotes; i++)
		if (!strcmp(s->notes[i], text))
			return;
	if (s->nnotes == GPUBPF_MAX_NOTES)
		return;
	grown = realloc(s->notes, (s->nnotes + 1) * sizeof(*grown));
	if (!grown)
		return;
	s->notes = grown;
	s->notes[s->nnotes] = strdup(text);
	if (s->notes[s->nnotes])
		s->nnotes++;
	if (s->opts.note)
		s->opts.note(s->opts.ctx, text);
}

static int own_strings(struct gpubpf_session_opts *o)
{
	const char **own[] = { &o->runtime_dir, &o->worker_dir, &o->agent, &o->cache_dir, &o->backend, &o->route };
	int err = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!*own[i])
			continue;
		*own[i] = strdup(*own[i]);
		if (!*own[i])
			err = -ENOMEM;
	}
	return err;
}

static void set_defaults(struct gpubpf_session_opts *o)
{
	if (!o->wait_ms)
		o->wait_ms = 60000;
	if (!o->sample)
		o->sample = 1;
	if (o->no_events)
		o->max_events = 0;
	else if (!o->max_events)
		o->max_events = 1000;
}

struct gpubpf_session *gpubpf_session__new(const struct gpubpf_session_opts *opts)
{
	struct gpubpf_session *s;

	if (opts && !gpubpf_sized_is_valid(opts, sizeof(*opts))) {
		errno = EINVAL;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->listener = s->epoll = s->wake = s->timer = s->spare = s->table_fd = -1;
	s->enabled = true;
	if (opts)
		gpubpf_sized_copy_in(&s->opts, sizeof(s->opts), opts);
	set_defaults(&s->opts);
	if (own_strings(&s->opts) < 0 || gpubpf_stacks_open(s) < 0) {
		gpubpf_session__free(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

static void free_records(struct gpubpf_session *s)
{
	for (uint64_t i = 0; i < s->nkept; i++) {
		free(s->kept[i].print);
		free(s->kept[i].data);
	}
	free(s->kept);
}

static void free_loaded(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->loaded && i < s->loaded->unit.nprogs; i++) {
		gpubpf_facts_destroy(s->loaded->unit.progs[i].facts); /* NULL for a borrowed one */
		s->loaded->unit.progs[i].facts = NULL;
	}
	if (s->loaded)
		gpubpf_loaded_destroy(s->loaded);
	free(s->map_use);
	free(s->map_records);
	free(s->map_set);
}

static void free_value(struct gpubpf_load_value *value)
{
	free(value->object);
	free(value->map);
	free(value->data);
}

void gpubpf_session__free(struct gpubpf_session *s)
{
	if (!s)
		return;
	gpubpf_session__stop(s);
	gpubpf_linux_maps_close(s);
	gpubpf_bpf_finish(s);
	gpubpf_arenas_close(s);
	gpubpf_stacks_free(s);
	gpubpf_linux_progs_close(s);
	gpubpf_kernel_table_close(s);
	free_records(s);
	gpubpf_links_close(s);
	free_loaded(s);
	for (uint32_t i = 0; i < s->npaths; i++) {
		free((void *)s->images[i].data);
		free(s->paths[i]);
	}
	for (uint32_t i = 0; i < s->nattach; i++) {
		free((char *)s->attach[i].prog);
		free((char *)s->attach[i].pattern);
	}
	for (uint32_t i = 0; i < s->nvalues; i++)
		free_value(&s->values[i]);
	for (uint32_t i = 0; i < s->nnotes; i++)
		free(s->notes[i]);
	gpubpf_placements_free(s);
	free(s->images);
	free(s->values);
	free(s->paths);
	free(s->attach);
	free(s->notes);
	gpubpf_kernel_ids_free(s);
	for (uint32_t i = 0; i < s->nverdicts; i++) {
		gpubpf_twin_put(s->verdicts[i].twin);
		free(s->verdicts[i].functions);
	}
	free(s->verdicts);
	free(s->listed);
	free((char *)s->opts.runtime_dir);
	free((char *)s->opts.worker_dir);
	free((char *)s->opts.agent);
	free((char *)s->opts.cache_dir);
	free((char *)s->opts.backend);
	free((char *)s->opts.route);
	free(s->assembler);
	free(s);
}

const char *gpubpf_session__error(const struct gpubpf_session *s)
{
	return s->error;
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

/* By the name that reports show. */
static bool has_loaded(const struct gpubpf_session *s, const char *object)
{
	for (uint32_t i = 0; s->loaded && i < s->loaded->nobjects; i++)
		if (!strncmp(s->loaded->objects[i].path, object, sizeof(s->loaded->objects[i].path) - 1))
			return true;
	return false;
}

/* A new value for the same data replaces the old one. */
static void store_value(struct gpubpf_session *s, const struct gpubpf_load_value *value)
{
	for (uint32_t i = 0; i < s->nvalues; i++)
		if (!strcmp(s->values[i].object, value->object) && !strcmp(s->values[i].map, value->map)) {
			free_value(&s->values[i]);
			s->values[i] = *value;
			return;
		}
	s->values[s->nvalues++] = *value;
}

int gpubpf_session__set_initial_value(struct gpubpf_session *s, const char *object, const char *map, const void *data, size_t size)
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
		free_value(&own);
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
		.paths = (const char *const *)s->paths, .npaths = s->npaths, .images = s->images,
		.attach = s->attach, .nattach = s->nattach, .values = s->values, .nvalues = s->nvalues, .all_gpu = s->opts.all_gpu,
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

/* Verify a program for the way in which the session runs it. Only programs that the conformance tool runs checked are
 * not verified. */
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
			gpubpf_diag_where(diag, "program %s (section %s)", unit->progs[i].name,
					  unit->progs[i].section);
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
	return gpubpf_session_fail(s, -EINVAL, "%s is no known form of kernel code; known are:%s", s->opts.route,
				   list);
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
		s->loaded = calloc(1, sizeof(*s->loaded)); /* no objects: only inspects, or loaders bring them */
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

int gpubpf_session__start(struct gpubpf_session *s)
{
	int err, cache;

	if (s->state == GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EINVAL, "the session is not loaded");
	if (s->state != GPUBPF_SESSION_LOADED)
		return gpubpf_session_fail(s, -EBUSY, "the session was started already");
	err = gpubpf_kernel_table_open(s);
	if (!err)
		err = gpubpf_session_dir(s);
	if (!err)
		err = gpubpf_server_open(s);
	if (!err)
		err = gpubpf_builders_create(s, &s->makers);
	if (err < 0) {
		gpubpf_server_close(s);
		return err;
	}
	cache = s->opts.cache_dir ? gpubpf_result_cache_check(s->opts.cache_dir) : 0;
	if (cache == -EPERM || cache == -ENOTDIR || cache == -ELOOP)
		gpubpf_session_note(s, "%s: twins are not stored there: it must be a folder of your own with mode "
				       "0700; remove it or set XDG_CACHE_HOME", s->opts.cache_dir);
	else if (cache < 0)
		gpubpf_session_note(s, "%s: twins are not stored there: %s", s->opts.cache_dir, strerror(-cache));
	gpubpf_links_publish(s);
	if (!s->opts.no_attach)
		gpubpf_linux_progs_attach(s);
	s->state = GPUBPF_SESSION_STARTED;
	return 0;
}

const char *gpubpf_session__path(const struct gpubpf_session *s)
{
	return s->path[0] ? s->path : NULL;
}

int gpubpf_session__fd(const struct gpubpf_session *s)
{
	return s->epoll;
}

int gpubpf_session__poll(struct gpubpf_session *s, int timeout_ms)
{
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	return gpubpf_server_poll(s, timeout_ms);
}

int gpubpf_session__stop(struct gpubpf_session *s)
{
	if (s->state == GPUBPF_SESSION_STOPPED)
		return 0;
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session was not started");
	gpubpf_session__enable(s, false);
	gpubpf_linux_progs_detach(s);
	gpubpf_server_poll(s, 0);
	gpubpf_builders_destroy(s->makers);
	s->makers = NULL;
	s->pending = 0;
	gpubpf_server_close(s);
	gpubpf_reader_run(s, true);
	gpubpf_linux_maps_pass(s);
	s->state = GPUBPF_SESSION_STOPPED;
	return 0;
}

uint32_t gpubpf_session__pending(const struct gpubpf_session *s)
{
	return s->pending;
}

uint32_t gpubpf_session__processes(const struct gpubpf_session *s)
{
	return s->nprocesses;
}

uint32_t gpubpf_session__devices(const struct gpubpf_session *s)
{
	return s->ndevices;
}

/* Split the wait into the parts that agents counted and the rest, so that all add up. Agents are not trusted. */
static void split_wait_ns(const struct gpubpf_session *s, struct gpubpf_cost_stats *c)
{
	uint64_t *const part[GPUBPF_WAIT_PARTS] = {
		&c->wait_ask_ns, &c->wait_answer_ns, &c->wait_load_ns, &c->wait_others_ns,
	};
	uint64_t left = c->wait_ns;

	for (int i = 0; i < GPUBPF_WAIT_PARTS; i++) {
		*part[i] = __atomic_load_n(&s->table->wait_ns[i], __ATOMIC_RELAXED);
		*part[i] = *part[i] < left ? *part[i] : left;
		left -= *part[i];
	}
	c->wait_rest_ns = left;
}

int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats)
{
	struct gpubpf_cost_stats all = s->cost;

	gpubpf_kernel_table_times(s, &all.wait_ns, &all.twin_load_ns);
	all.hook_ns = gpubpf_kernel_table_hook_ns(s);
	if (s->table) {
		all.drained_bytes = __atomic_load_n(&s->table->drained_bytes, __ATOMIC_RELAXED);
		split_wait_ns(s, &all);
		all.drain_ns = __atomic_load_n(&s->table->drain_ns, __ATOMIC_RELAXED);
	}
	return gpubpf_sized_copy_out(stats, sizeof(all), &all);
}

const struct gpubpf_prog *gpubpf_session__next_program(const struct gpubpf_session *s,
						       const struct gpubpf_prog *prev)
{
	const struct gpubpf_unit *unit = s->loaded ? &s->loaded->unit : NULL;
	const struct gpubpf_prog *next = prev ? prev + 1 : unit ? unit->progs : NULL;

	while (unit && next < unit->progs + unit->nprogs && s->links && s->links[next - unit->progs].borrowed)
		next++;
	return unit && next < unit->progs + unit->nprogs ? next : NULL;
}

const char *gpubpf_prog__name(const struct gpubpf_prog *prog)
{
	return prog->name;
}

const char *gpubpf_prog__section_name(const struct gpubpf_prog *prog)
{
	return prog->section;
}

const char *gpubpf_prog__pattern(const struct gpubpf_prog *prog)
{
	return prog->pattern;
}

uint32_t gpubpf_prog__number(const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = prog->session ? &prog->session->loaded->unit : NULL;

	for (uint32_t m = 0; unit && m < unit->nmaps; m++)
		for (uint32_t i = 0; unit->maps[m].object == prog->object && i < unit->maps[m].ntargets; i++)
			if (!strcmp(unit->maps[m].targets[i].name, prog->name))
				return unit->maps[m].targets[i].number;
	return 0;
}

uint32_t gpubpf_prog__insn_cnt(const struct gpubpf_prog *prog)
{
	return prog->ninsns;
}

uint64_t gpubpf_prog__max_cost(const struct gpubpf_prog *prog)
{
	return prog->facts ? prog->facts->cost.insns : 0;
}
