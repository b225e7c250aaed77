/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "core/model/diag.h"
#include "core/model/text/nearest.h"
#include "internal.h"

/* serializes the use of libbpf, whose message hook and feature cache are global to the process */
static pthread_mutex_t libbpf_lock = PTHREAD_MUTEX_INITIALIZER;

void gpubpf_load_note(struct gpubpf_loaded *out, const char *text, ...)
{
	void *notes = reallocarray(out->notes, out->nnotes + 1, sizeof(*out->notes));
	va_list ap;

	if (!notes)
		return;
	out->notes = notes;
	va_start(ap, text);
	vsnprintf(out->notes[out->nnotes++], sizeof(*out->notes), text, ap);
	va_end(ap);
}

void gpubpf_libbpf_lock(void)
{
	pthread_mutex_lock(&libbpf_lock);
	gpubpf_log_begin();
}

void gpubpf_libbpf_unlock(void)
{
	gpubpf_log_end();
	pthread_mutex_unlock(&libbpf_lock);
}

static int load_object(const struct gpubpf_load_opts *opts, uint32_t i, struct gpubpf_loaded *out, struct gpubpf_diag *diag)
{
	struct gpubpf_loading l = {
		.opts = opts,
		.out = out,
		.diag = diag,
		.index = (int)i,
		.path = opts->paths[i],
	};
	int err;

	pthread_mutex_lock(&libbpf_lock);
	err = gpubpf_object_load(&l);
	pthread_mutex_unlock(&libbpf_lock);
	return err;
}

static bool has_program(const struct gpubpf_loaded *out, const char *name)
{
	for (uint32_t p = 0; p < out->unit.nprogs; p++)
		if (!strcmp(out->unit.progs[p].name, name))
			return true;
	for (uint32_t i = 0; i < out->nobjects; i++)
		for (uint32_t p = 0; p < out->objects[i].nhost; p++)
			if (!strcmp(out->objects[i].host[p], name))
				return true;
	return false;
}

/* Returns the name of the GPU program with the most similar name, or NULL if no name is similar. */
static const char *find_nearest_program(const struct gpubpf_loaded *out, const char *name)
{
	size_t least = strlen(name) / 3 + 2;
	const char *nearest = NULL;

	for (uint32_t p = 0; p < out->unit.nprogs; p++) {
		size_t d = gpubpf_distance(name, out->unit.progs[p].name);

		if (d >= least)
			continue;
		least = d;
		nearest = out->unit.progs[p].name;
	}
	return nearest;
}

/* Checks that every --attach option names a program. */
static int check_attach(const struct gpubpf_load_opts *opts, const struct gpubpf_loaded *out, struct gpubpf_diag *diag)
{
	for (uint32_t i = 0; i < opts->nattach; i++) {
		const struct gpubpf_attach *a = &opts->attach[i];
		const char *near;

		if (has_program(out, a->prog))
			continue;
		gpubpf_diag_where(diag, "--attach %s=%s", a->prog, a->pattern);
		near = find_nearest_program(out, a->prog);
		gpubpf_diag_remedy(diag, "use gpubpf prog show to list the programs' names");
		return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC, "no object has a program '%s'%s%s%s", a->prog,
				       near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
	}
	return 0;
}

static int check_unit(const struct gpubpf_load_opts *opts, const struct gpubpf_loaded *out, struct gpubpf_diag *diag)
{
	const struct gpubpf_unit *unit = &out->unit;
	const char *note = out->nnotes ? out->notes[0] : NULL; /* the reason why the first program is not in the unit */

	if (unit->nprogs)
		return check_attach(opts, out, diag);
	gpubpf_diag_where(diag, "%s", opts->paths[0]);
	return gpubpf_diag_set(diag, GPUBPF_E_NO_PROGRAM, GPUBPF_NOPC, "no program for a GPU in %s%s%s",
			       opts->npaths > 1 ? "these objects" : "this object", note ? ": " : "", note ? note : "");
}

int gpubpf_load(const struct gpubpf_load_opts *opts, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag)
{
	struct gpubpf_loaded *out;
	int err = 0;

	if (!opts->npaths)
		return gpubpf_diag_set(diag, GPUBPF_E_USAGE, GPUBPF_NOPC, "no object was passed");
	out = calloc(1, sizeof(*out));
	if (out)
		out->objects = calloc(opts->npaths, sizeof(*out->objects));
	if (!out || !out->objects) {
		free(out);
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for %u objects", opts->npaths);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < opts->npaths && err >= 0; i++)
		err = load_object(opts, i, out, diag);
	if (err >= 0)
		err = check_unit(opts, out, diag);
	if (err < 0) {
		gpubpf_loaded_destroy(out);
		return err;
	}
	*loaded = out;
	return 0;
}

void gpubpf_unit_finish(struct gpubpf_unit *unit)
{
	for (uint32_t i = 0; i < unit->nmaps; i++)
		free((void *)unit->maps[i].init), free(unit->maps[i].elements), free(unit->maps[i].targets);
	for (uint32_t i = 0; i < unit->nprogs; i++)
		gpubpf_program_finish(&unit->progs[i]);
	free(unit->maps);
	free(unit->progs);
	memset(unit, 0, sizeof(*unit));
}

void gpubpf_loaded_object_finish(struct gpubpf_loaded_object *object)
{
	btf__free(object->btf);
	free(object->host);
	free(object->image);
}

void gpubpf_loaded_destroy(struct gpubpf_loaded *loaded)
{
	if (!loaded)
		return;
	gpubpf_unit_finish(&loaded->unit);
	for (uint32_t i = 0; i < loaded->nobjects; i++)
		gpubpf_loaded_object_finish(&loaded->objects[i]);
	free(loaded->objects);
	free(loaded->notes);
	free(loaded);
}
