/* SPDX-License-Identifier: Apache-2.0 */
/* Programs on kernels: what perf_event_open(2) names, and what is attached there. */
#include "bpf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/kprobe.h"

/* A kernel's name as a kprobe has it: cuda__NAME is NAME, and cuda__Z3foov, a mangled one, whose underscore is one of the
 * two, _Z3foov. */
static void kernel_of(const char *function, char out[GPUBPF_NAME_SIZE])
{
	const char *name = function + (gpubpf_kprobe_is_gpu(function) ? strlen(GPUBPF_KPROBE_GPU) : 0);
	bool mangled = name != function && name[0] == 'Z' && (isdigit((unsigned char)name[1]) || name[1] == 'N');

	snprintf(out, GPUBPF_NAME_SIZE, "%s%.250s", mangled ? "_" : "", name);
}

int sys_perf_open(struct sys_call *c)
{
	char function[GPUBPF_NAME_SIZE];
	bool returns;
	struct sys_object *o;
	int err;

	gpubpf_get_str(c->r, function, sizeof(function));
	returns = gpubpf_get_u32(c->r);
	if (c->r->failed)
		return -EPROTO;
	o = sys_object_new(c->s, GPUBPF_BPF_PERF, &err);
	if (!o)
		return err;
	kernel_of(function, o->perf.function);
	o->perf.returns = returns;
	return sys_object_give(c, o, 0);
}

/* What all programs that are loaded do to the maps of this one, which are laid out by it. */
static void gather(const struct gpubpf_session *s, const struct sys_object *prog, uint32_t *use)
{
	for (uint32_t i = 0; i < s->bpf->n; i++) {
		const struct sys_object *o = s->bpf->objects[i];

		for (uint32_t m = 0; o->kind == GPUBPF_BPF_PROG && o->prog.use && m < o->prog.nmaps; m++)
			for (uint32_t p = 0; p < prog->prog.nmaps; p++)
				if (prog->prog.maps[p] == o->prog.maps[m])
					use[p] |= o->prog.use[m];
	}
}

/* The program and its maps become the session's. The number of its object, or -errno, told. */
static int join(struct gpubpf_session *s, struct sys_object *prog, enum gpubpf_site site, const char *pattern,
		struct gpubpf_diag *diag)
{
	int32_t at[GPUBPF_MAX_MAPS];
	uint32_t use[GPUBPF_MAX_MAPS] = { 0 }, n = prog->prog.nmaps;
	struct gpubpf_loaded *more;
	int object = sys_prog_given(s, prog, site, pattern, &more, diag);

	if (object < 0)
		return object;
	for (uint32_t i = 0; i < n; i++) {
		const struct sys_object *map = sys_object_find(s, prog->prog.maps[i]);

		at[i] = map->map.shelf ? -1 : (int32_t)map->map.index;
	}
	gather(s, prog, use);
	object = gpubpf_session_join_loaded(s, more, at, use, diag);
	if (object < 0) {
		gpubpf_loaded_destroy(more);
		return object;
	}
	for (uint32_t i = 0; i < n; i++)
		sys_map_joined(s, sys_object_find(s, prog->prog.maps[i]), (uint32_t)at[i]);
	return object;
}

static int tell(struct gpubpf_session *s, const struct sys_object *prog, int err, const struct gpubpf_diag *diag)
{
	char text[4096];

	if (diag->code != GPUBPF_OK)
		gpubpf_diag_format(diag, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", s->error[0] ? s->error : strerror(-err));
	gpubpf_session_note(s, "program %s is not attached: %s", prog->prog.name, text);
	return err;
}

static int attach_one(struct gpubpf_session *s, struct sys_object *prog, bool returns, const char *pattern,
		      struct sys_attached *at)
{
	enum gpubpf_site site = returns ? GPUBPF_SITE_EXIT : GPUBPF_SITE_ENTRY;
	struct gpubpf_diag diag;
	int err = 0;

	gpubpf_diag_init(&diag);
	s->error[0] = 0;
	if (prog->prog.object[returns] < 0) {
		err = join(s, prog, site, pattern, &diag);
		prog->prog.object[returns] = err;
	}
	if (err >= 0)
		err = gpubpf_links_attach(s, prog->prog.object[returns], prog->prog.name, pattern, &at->links[at->n]);
	if (err < 0)
		return tell(s, prog, err, &diag);
	at->n++;
	return 0;
}

static int attach(struct gpubpf_session *s, struct sys_object *prog, const struct sys_object *perf, struct sys_attached *at)
{
	const char *pattern = sys_prog_pattern(s, prog->prog.name, 0);
	int err = 0;

	at->n = 0;
	if (!pattern)
		return attach_one(s, prog, perf->perf.returns, perf->perf.function, at);
	for (uint32_t i = 0; i < GPUBPF_BPF_PLACES && !err && (pattern = sys_prog_pattern(s, prog->prog.name, i)); i++)
		err = attach_one(s, prog, perf->perf.returns, pattern, at);
	if (err < 0)
		sys_detach(s, at);
	return err;
}

void sys_detach(struct gpubpf_session *s, struct sys_attached *at)
{
	for (uint32_t i = 0; i < at->n; i++)
		gpubpf_link__destroy(&s->links[at->links[i]]);
	at->n = 0;
}

int sys_link_create(struct sys_call *c)
{
	uint32_t prog_id = gpubpf_get_u32(c->r), perf_id = gpubpf_get_u32(c->r);
	struct sys_object *prog, *perf, *o;
	int err;

	if (c->r->failed)
		return -EPROTO;
	gpubpf_bpf_sweep(c->s); /* what was closed just now is attached no more */
	prog = sys_object_of(c->s, GPUBPF_BPF_PROG, prog_id);
	perf = sys_object_of(c->s, GPUBPF_BPF_PERF, perf_id);
	if (!prog || !perf)
		return -EBADF;
	o = sys_object_new(c->s, GPUBPF_BPF_LINK, &err);
	if (!o)
		return err;
	o->link.prog = prog->id;
	err = attach(c->s, prog, perf, &o->link.at);
	return sys_object_give(c, o, err);
}

int sys_perf_set(struct sys_call *c)
{
	uint32_t perf_id = gpubpf_get_u32(c->r), prog_id = gpubpf_get_u32(c->r);
	struct sys_object *perf, *prog;
	int err;

	if (c->r->failed)
		return -EPROTO;
	gpubpf_bpf_sweep(c->s);
	perf = sys_object_of(c->s, GPUBPF_BPF_PERF, perf_id);
	prog = sys_object_of(c->s, GPUBPF_BPF_PROG, prog_id);
	if (!prog || !perf)
		return -EBADF;
	if (perf->perf.prog)
		return -EEXIST;
	err = attach(c->s, prog, perf, &perf->perf.at);
	if (!err)
		perf->perf.prog = prog->id;
	return err;
}
