/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a program whose instructions were passed to bpf(2). The object file is not needed; the result is the same as
 * that of loading the object.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <nettle/sha2.h>

#include "core/model/diag.h"
#include "core/model/places.h"

static int add_btf(struct gpubpf_loading *l, const struct gpubpf_load_passed *passed)
{
	struct gpubpf_btf_check check = { .diag = l->diag };
	int err = passed->btf ? gpubpf_btf_check(&check, passed->btf, passed->btf_size) : 0;

	gpubpf_btf_check_finish(&check);
	if (err < 0 || !passed->btf)
		return err;
	gpubpf_libbpf_lock();
	l->btf = btf__new(passed->btf, passed->btf_size);
	err = l->btf ? 0 : gpubpf_log_refuse(l->diag, "the program's BTF cannot be read", -errno);
	gpubpf_libbpf_unlock();
	l->out->objects[0].btf = l->btf;
	return err;
}

static int add_maps(struct gpubpf_loading *l, const struct gpubpf_load_passed *passed)
{
	struct gpubpf_unit *unit = &l->out->unit;

	unit->maps = calloc(passed->nmaps + 1, sizeof(*unit->maps));
	l->sys.maps = calloc(passed->nmaps + 1, sizeof(*l->sys.maps));
	l->unit_map = calloc(passed->nmaps + 1, sizeof(*l->unit_map));
	if (!unit->maps || !l->sys.maps || !l->unit_map)
		return -ENOMEM;
	for (uint32_t i = 0; i < passed->nmaps; i++) {
		unit->maps[i] = passed->maps[i];
		unit->maps[i].object = 0;
		l->unit_map[i] = (int32_t)i;
	}
	unit->nmaps = l->sys.nmaps = passed->nmaps;
	return 0;
}

static int add_program(struct gpubpf_loading *l, const struct gpubpf_load_passed *passed,
		       const struct gpubpf_load_passed_prog *from)
{
	struct gpubpf_prog *prog = &l->out->unit.progs[l->out->unit.nprogs++];
	struct gpubpf_sys_prog rewritten;
	int err;

	prog->site = passed->site;
	snprintf(prog->name, sizeof(prog->name), "%s", from->name);
	snprintf(prog->pattern, sizeof(prog->pattern), "%s", passed->pattern);
	snprintf(prog->section, sizeof(prog->section), "gpu/%s/%.100s", gpubpf_place_kind(passed->site)->name,
		 passed->pattern);
	err = gpubpf_additive_rewrite(passed->maps, passed->nmaps, from->prog, &rewritten, l->diag);
	if (!err)
		gpubpf_kfuncs_resolve(l, &rewritten);
	if (!err)
		err = gpubpf_program_import(l, &rewritten, prog);
	if (!err)
		err = gpubpf_clock_choose(l, prog, passed->clock, false);
	free(rewritten.insns);
	return err;
}

/* Loads the first program. The programs that it may tail-call become functions of it. */
static int add_programs(struct gpubpf_loading *l, const struct gpubpf_load_passed *passed)
{
	struct gpubpf_unit *unit = &l->out->unit;
	uint32_t numbers[GPUBPF_MAX_PROGS];
	int err = 0;

	unit->progs = calloc(passed->nprogs, sizeof(*unit->progs));
	if (!unit->progs)
		return -ENOMEM;
	for (uint32_t i = 0; i < passed->nprogs && !err; i++) {
		numbers[i] = passed->progs[i].number;
		err = add_program(l, passed, &passed->progs[i]);
	}
	if (!err)
		err = gpubpf_tails_link(l, 0, numbers);
	while (unit->nprogs > 1)
		gpubpf_program_finish(&unit->progs[--unit->nprogs]);
	return err;
}

/*
 * Fills the entry of the loaded object. The hash is different for each load: a program that is loaded twice counts as
 * two objects, each with its own maps.
 */
static void describe(struct gpubpf_loaded_object *o, const struct gpubpf_load_passed *passed)
{
	static uint64_t count;
	uint64_t number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx sha;

	snprintf(o->path, sizeof(o->path), "%s", passed->from);
	sha256_init(&sha);
	sha256_update(&sha, sizeof(number), (const uint8_t *)&number);
	sha256_digest(&sha, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(o->sha256 + 2 * i, 3, "%02x", digest[i]);
}

int gpubpf_load_passed(const struct gpubpf_load_passed *passed, struct gpubpf_loaded **loaded, struct gpubpf_diag *diag)
{
	struct gpubpf_loading l = { .diag = diag, .path = passed->from, .numbered = true };
	int err = -ENOMEM;

	l.out = calloc(1, sizeof(*l.out));
	if (l.out)
		l.out->objects = calloc(1, sizeof(*l.out->objects));
	if (l.out && l.out->objects) {
		l.out->nobjects = 1;
		describe(&l.out->objects[0], passed);
		err = add_maps(&l, passed);
	}
	if (!err)
		err = add_btf(&l, passed);
	if (!err && passed->nprogs)
		err = add_programs(&l, passed);
	free(l.unit_map);
	free(l.sys.maps);
	if (err < 0)
		gpubpf_loaded_destroy(l.out);
	else
		*loaded = l.out;
	return err;
}
