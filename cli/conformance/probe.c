/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way: a session with the case's object around an application that knows nothing of it, gpubpf-workload, on the
 * device's real runtime; then what the programs left in their maps.
 */
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/places.h"
#include "core/session/session.h"
#include "core/target.h"
#include "core/worker/job.h"
#include "core/worker/installed.h"
#include "judge.h"

#define MOST_MS 300000           /* of an application that hangs */
#define STEP_MS 20

extern char **environ;

struct probed {
	struct judging j;        /* first: a pointer to it is one to this */
	struct gpubpf_session *s;
	struct counted {
		const struct gpubpf_map *map;
		uint64_t n;
	} records[8];
	char (*prints)[128];
	uint32_t nprints;
};

/* -- what is left in the session -- */

static const struct gpubpf_map *find(const struct judging *j, const char *name)
{
	return gpubpf_session__find_map_by_name(((const struct probed *)j)->s, name);
}

static const struct btf *btf(const struct judging *j)
{
	return ((const struct probed *)j)->s->loaded->objects[0].btf;
}

static void walk(const struct judging *j, const struct gpubpf_map *map,
		 bool (*fn)(void *arg, const void *key, const void *value), void *arg)
{
	size_t key_size = gpubpf_map__key_size(map), size = gpubpf_map__user_value_size(map);
	uint8_t *key = malloc(key_size), *value = malloc(size);
	const void *last = NULL;

	(void)j;
	while (key && value && gpubpf_map__get_next_key(map, last, key, key_size) == 0) {
		last = key;
		if (gpubpf_map__lookup_elem(map, key, key_size, value, size, 0) == 0 && !fn(arg, key, value))
			break;
	}
	free(key);
	free(value);
}

static uint64_t records(const struct judging *j, const struct gpubpf_map *map)
{
	const struct probed *p = (const struct probed *)j;

	for (size_t i = 0; i < sizeof(p->records) / sizeof(p->records[0]); i++)
		if (p->records[i].map == map)
			return p->records[i].n;
	return 0;
}

static uint64_t drops(const struct judging *j, const struct gpubpf_map *map)
{
	(void)j;
	return gpubpf_map__drops(map);
}

static uint64_t prints(const struct judging *j, const char *text, char *other, size_t size)
{
	const struct probed *p = (const struct probed *)j;
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->nprints; i++)
		if (!strcmp(p->prints[i], text))
			n++;
		else
			snprintf(other, size, "%s", p->prints[i]);
	return n;
}

static void on_event(void *ctx, const struct gpubpf_event *event)
{
	struct probed *p = ctx;

	for (size_t i = 0; i < sizeof(p->records) / sizeof(p->records[0]); i++)
		if (!p->records[i].map || p->records[i].map == event->map) {
			p->records[i].map = event->map;
			p->records[i].n++;
			return;
		}
}

static void on_print(void *ctx, const struct gpubpf_print_record *record)
{
	struct probed *p = ctx;
	char (*grown)[128] = realloc(p->prints, (p->nprints + 1) * sizeof(*grown));

	if (!grown)
		return;
	p->prints = grown;
	snprintf(grown[p->nprints++], sizeof(*grown), "%s", record->text);
}

/* -- the application -- */

/* The kernel that a case names, or into which it is put as well. */
static const char *kernel_of(const struct suite_case *c, char *buf, size_t size)
{
	const char *name = grid_workload(c, buf, size);

	return name ? name : "plain";
}

/* an application: its image, and the size of sub-groups that its kernel asks for; 0: none */
struct application {
	const char *image;
	enum gpubpf_image_kind kind;
	uint32_t sub_group;
};

static int spawn_workload(const struct probed *p, const struct suite_run *run, const struct suite_device *d,
			  const struct application *app, pid_t *pid)
{
	char path[4096], index[16], number[16], kernel[64], grid[64], block[64], sub_group[16];
	const char *argv[] = { path, d->caps.backend, run->device ? run->device : "-", index, number, app->image,
			       kernel_of(p->j.c, kernel, sizeof(kernel)), grid, block, sub_group, NULL };
	struct grid_launch l;
	char **env;
	int err = gpubpf_worker_find("gpubpf-workload", path, sizeof(path));

	if (!err)
		err = gpubpf_session__environ(p->s, environ, &env);
	if (err < 0)
		return err;
	grid_launch_of(p->j.c, &d->caps, &l);
	snprintf(sub_group, sizeof(sub_group), "%u", app->sub_group);
	snprintf(index, sizeof(index), "%u", d->index);
	snprintf(number, sizeof(number), "%d", app->kind);
	snprintf(grid, sizeof(grid), "%u,%u,%u", l.grid[0], l.grid[1], l.grid[2]);
	snprintf(block, sizeof(block), "%u,%u,%u", l.block[0], l.block[1], l.block[2]);
	err = posix_spawn(pid, path, NULL, NULL, (char *const *)argv, env);
	free(env);
	return -err;
}

/* Serve the session until the application has ended; its status as waitpid(2) has it, or -errno. */
static int serve(struct gpubpf_session *s, pid_t pid)
{
	int status, left_ms = MOST_MS;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int err = gpubpf_session__poll(s, STEP_MS);

		left_ms -= err ? 0 : STEP_MS;
		if (err >= 0 && left_ms > 0)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return err < 0 ? err : -ETIMEDOUT;
	}
	return status;
}

/* Why the case's kernel was not probed, if it was not. */
static const char *unprobed(const struct probed *p, char *buf, size_t size)
{
	struct gpubpf_kernel_stats stats = { .sz = sizeof(stats) };
	const char *name = kernel_of(p->j.c, buf, size);
	size_t i = 0;
	int err;

	while ((err = gpubpf_session__kernel(p->s, i, &stats)) == 0 && strcmp(stats.name, name))
		i++;
	if (err < 0)
		return "its kernel was not launched";
	if (stats.outcome == GPUBPF_OUTCOME_PROBED)
		return NULL;
	snprintf(buf, size, "its kernel was not probed: %s", stats.reason[0] ? stats.reason : "no program names it");
	return buf;
}

static void tell(struct suite_result *r, const char *why)
{
	snprintf(r->expected, sizeof(r->expected), "its programs run");
	snprintf(r->got, sizeof(r->got), "%.390s", why);
}

/* What names no kernel is put into one: not into those that the device's runtime launches beside it. */
static int attach(const struct probed *p)
{
	struct gpubpf_attach_opts to = { .sz = sizeof(to) };
	const struct gpubpf_prog *prog = NULL;
	char name[64];

	if (grid_workload(p->j.c, name, sizeof(name)))
		return 0;
	to.pattern = kernel_of(p->j.c, name, sizeof(name));
	while ((prog = gpubpf_session__next_program(p->s, prog)))
		if (gpubpf_prog__pattern(prog)[0] && !gpubpf_program__attach_opts(prog, &to))
			return -errno;
	return 0;
}

static void run_session(struct probed *p, const struct suite_run *run, const struct suite_device *d, const struct application *app)
{
	struct suite_result *r = p->j.r;
	char text[400];
	const char *why;
	pid_t pid;
	int err = gpubpf_session__add_object(p->s, run->suite.objects[p->j.c->object].path);

	if (!err && run->place)
		err = gpubpf_session__place(p->s, "*", gpubpf_placement_name(run->place));
	if (!err)
		err = gpubpf_session__load(p->s);
	if (!err)
		err = attach(p);
	if (!err)
		err = gpubpf_session__start(p->s);
	if (!err)
		err = spawn_workload(p, run, d, app, &pid);
	if (err < 0) {
		tell(r, gpubpf_session__error(p->s)[0] ? gpubpf_session__error(p->s) : strerror(-err));
		return;
	}
	err = serve(p->s, pid);
	gpubpf_session__stop(p->s);
	why = err < 0 ? strerror(-err) : WIFSIGNALED(err) ? "the application crashed" :
	      WEXITSTATUS(err) ? "the application failed" : unprobed(p, text, sizeof(text));
	if (why)
		tell(r, why);
	else
		suite_judge(&p->j);
}

static void run_form(const struct suite_run *run, const struct suite_device *device, uint32_t index, const struct application *app,
		     struct suite_result *r)
{
	static const struct judge_ops left = { find, btf, walk, records, drops, prints };
	const struct suite_case *c = &run->suite.cases[index];
	struct probed p = { .j = { c, r, &left, grid_threads(c, &device->caps) } };
	char name[64];
	struct gpubpf_session_opts opts = {
		.sz = sizeof(opts), .runtime_dir = run->runtime_dir, .backend = device->caps.backend, .ctx = &p, .event = on_event,
		.print = on_print, .route = run->route ? run->route->name : NULL,
		.no_attach = !grid_workload(c, name, sizeof(name)),
	};

	p.s = gpubpf_session__new(&opts);
	if (p.s)
		run_session(&p, run, device, app);
	else
		tell(r, strerror(errno));
	gpubpf_session__free(p.s);
	free(p.prints);
}

/* the application in each vendor's form: workload.ENDING, or for machine code workload.ARCHITECTURE.ENDING */
static const struct form {
	enum gpubpf_image_kind kind;
	const char *ending;
	bool machine;
	bool names;              /* of parameters are in it: not where clang compiled it */
	bool masks;              /* a branch says which lanes of the warp come to it and take it */
	bool lines;              /* of the source are told */
	bool constants;          /* a kernel has some, in memory of their own */
} forms[] = {
	{ GPUBPF_IMAGE_OPENCL_C, "cl", .names = true, .lines = true, .constants = true },
	{ GPUBPF_IMAGE_SPIRV, "spv", .constants = true },
	{ GPUBPF_IMAGE_PTX, "ptx", .masks = true },
	{ GPUBPF_IMAGE_AMDGPU, "co", .machine = true, .masks = true, .lines = true },
	{ GPUBPF_IMAGE_CUBIN, "cubin", .machine = true },
};

/* Its file; false: the device does not take the form, nor the run's route, or the suite has none for its architecture. */
static bool find_form(const struct suite_run *run, const struct gpubpf_device_caps *caps, const struct form *form, char *path,
		      size_t size)
{
	const struct gpubpf_target_info *route = run->route;

	if (!gpubpf_caps_take(caps, form->kind) || (route && (!(route->images >> form->kind & 1) || route->machine != form->machine)))
		return false;
	snprintf(path, size, "%s/workload%s%s.%s", run->suite.folder, form->machine ? "." : "",
		 form->machine ? caps->arch : "", form->ending);
	return !form->machine || access(path, R_OK) == 0;
}

/* Does a target that kernels in this form go to take the place "gpu/NAME"? */
static bool takes_place(const struct suite_run *run, const struct gpubpf_device_caps *caps, const struct form *form,
			const char *place, char why[GPUBPF_WHY_NOT])
{
	const struct gpubpf_target_info *t = NULL;
	uint32_t site = GPUBPF_SITE_ENTRY;

	while (site < GPUBPF_NSITES && strcmp(place, gpubpf_place_kind(site)->name))
		site++;
	snprintf(why, GPUBPF_WHY_NOT, "there is no place gpu/%.64s/", place);
	while (site < GPUBPF_NSITES && (t = gpubpf_target_taking(form->kind, t)))
		if ((!run->route || t == run->route) && gpubpf_target_takes(t, caps, site, why))
			return true;
	return false;
}

/* Of what a case needs: ALLOCATIONS, names, masks, lines, constants, gpu/PLACE. */
static bool has(const struct suite_run *run, const struct gpubpf_device_caps *caps, const struct form *form, const char *what,
		char why[GPUBPF_WHY_NOT])
{
	const struct {
		const char *name;
		bool has;
	} known[] = {
		{ "names", form->names }, { "masks", form->masks }, { "lines", form->lines }, { "constants", form->constants },
		{ "ALLOCATIONS", caps->bits & GPUBPF_CAP_ALLOCATIONS },
	};

	if (!strncmp(what, "gpu/", 4))
		return takes_place(run, caps, form, what + 4, why);
	snprintf(why, GPUBPF_WHY_NOT, "the device, or the form in which it is given kernels, lacks %.64s", what);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(what, known[i].name))
			return known[i].has;
	return false;
}

/* A case is skipped where something is not there that it needs. */
static bool lacks(const struct suite_run *run, const struct suite_case *c, const struct gpubpf_device_caps *caps,
		  const struct form *form, char why[GPUBPF_WHY_NOT])
{
	const char *at = NULL, *what;
	char line[64];

	while ((what = grid_line(c, "needs", &at, line, sizeof(line))))
		if (!has(run, caps, form, what, why))
			return true;
	why[0] = '\0';
	return false;
}

/* In each size of sub-groups that the device has, where the case asks for them and the form can; else once, as it is. */
static void run_sizes(const struct suite_run *run, const struct suite_device *device, uint32_t index, const char *image,
		      const struct form *form, struct suite_result *r)
{
	char line[8], text[sizeof(r->got)];
	bool asks = form->kind == GPUBPF_IMAGE_OPENCL_C &&
		    grid_line(&run->suite.cases[index], "sub-groups", &(const char *){ NULL }, line, sizeof(line));
	uint32_t left = asks ? device->caps.sub_groups : 0;

	do {
		struct application app = { image, form->kind, left & -left };

		r->state = SUITE_FAILED;
		run_form(run, device, index, &app, r);
		if (r->state != SUITE_PASSED && app.sub_group) {
			snprintf(text, sizeof(text), "%s", r->got);
			snprintf(r->got, sizeof(r->got), "sub-groups of %u: %.360s", app.sub_group, text);
		}
		left &= left - 1;
	} while (left && r->state == SUITE_PASSED);
}

void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r)
{
	char path[sizeof(run->suite.folder) + 64], text[400], lacking[GPUBPF_WHY_NOT] = "";
	uint32_t taken = 0;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].machine && taken) /* which a device that takes another form has by --route */
			break;
		if (!find_form(run, &device->caps, &forms[i], path, sizeof(path)) ||
		    lacks(run, &run->suite.cases[index], &device->caps, &forms[i], lacking))
			continue;
		taken++;
		run_sizes(run, device, index, path, &forms[i], r);
		if (r->state == SUITE_PASSED)
			continue;
		snprintf(text, sizeof(text), "%.380s", r->got);
		snprintf(r->got, sizeof(r->got), "%s: %.350s", strrchr(path, '/') + 1, text);
		return;
	}
	if (taken)
		return;
	r->state = SUITE_SKIPPED;
	if (lacking[0])
		snprintf(r->got, sizeof(r->got), "%s", lacking);
	else
		snprintf(r->got, sizeof(r->got), "the suite has no kernels in a form that this device takes%s%s%s%.40s",
			 run->route ? " by the route " : "", run->route ? run->route->name : "",
			 device->caps.arch[0] ? ": " : "", device->caps.arch);
}
