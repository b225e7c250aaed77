/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the programs of sections host/, as core/session/host writes them (core/wire/protocol.h, HOST_DONE). The agent
 * repeats the checks that the interpreter relies on.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/insn.h"
#include "core/wire/fields.h"

#define MAX_LINKS 1024

static void get_layout(struct gpubpf_reader *r, struct gpubpf_map_layout *l)
{
	const void *bytes = gpubpf_get_raw(r, sizeof(*l));

	if (bytes)
		memcpy(l, bytes, sizeof(*l));
}

/* Returns true if the map lies inside the arena. */
static bool is_inside(const struct gpubpf_map_layout *l, uint64_t size)
{
	return l->ctl <= size && l->size <= size - l->ctl && l->data <= size && l->copies && l->max_entries;
}

static void get_map(struct gpubpf_reader *r, struct gpubpf_host_plan *p, uint32_t i)
{
	struct gpubpf_map_layout *l = &p->layout.maps[i];
	struct gpubpf_map *map = &p->unit.maps[i];

	map->type = gpubpf_map_type_find(gpubpf_get_u32(r));
	map->key_size = gpubpf_get_u32(r);
	map->value_size = gpubpf_get_u32(r);
	map->max_entries = gpubpf_get_u32(r);
	map->map_flags = gpubpf_get_u32(r);
	map->rdonly = gpubpf_get_u8(r);
	map->prototype = gpubpf_get_u8(r);
	get_layout(r, l);
	if (!map->type || map->key_size > 512 || (!map->prototype && !is_inside(l, p->layout.size)))
		r->failed = true;
}

static void get_insns(struct gpubpf_reader *r, struct gpubpf_host_plan *p, struct gpubpf_prog *prog)
{
	struct gpubpf_codec c = { .r = *r };

	for (uint32_t i = 0; i < prog->ninsns && !c.failed && !c.r.failed; i++)
		gpubpf_codec_insn(&c, &prog->insns[i], prog->ninsns, p->unit.nmaps);
	*r = c.r;
	r->failed |= c.failed;
}

static void get_link(struct gpubpf_reader *r, struct gpubpf_host_plan *p, struct gpubpf_host_link *link)
{
	struct gpubpf_prog *prog;

	link->link = gpubpf_get_u32(r);
	link->prog = gpubpf_get_u32(r);
	link->event = gpubpf_get_u8(r);
	link->after = gpubpf_get_u8(r);
	link->uses_stack = gpubpf_get_u8(r);
	link->skip = gpubpf_get_u8(r);
	link->depth = gpubpf_get_u8(r);
	gpubpf_get_str(r, link->pattern, sizeof(link->pattern));
	link->matches_all = !strcmp(link->pattern, "*");
	if (link->link >= MAX_LINKS || link->prog >= p->unit.nprogs || !link->event || link->event > 31) {
		r->failed = true;
		return;
	}
	p->events |= 1u << link->event;
	prog = &p->unit.progs[link->prog];
	gpubpf_get_str(r, prog->name, sizeof(prog->name));
	gpubpf_get_str(r, prog->section, sizeof(prog->section));
	prog->cookie = gpubpf_get_u64(r);
	prog->ninsns = gpubpf_get_count(r, 27);
	prog->insns = calloc(prog->ninsns + 1, sizeof(*prog->insns));
	r->failed |= !prog->insns || !prog->ninsns;
	if (!r->failed)
		get_insns(r, p, prog);
}

static void get_all(struct gpubpf_reader *r, struct gpubpf_host_plan *p)
{
	p->generation = gpubpf_get_u64(r);
	p->layout.size = gpubpf_get_u64(r);
	p->layout.replicas = gpubpf_get_u32(r);
	p->layout.threads = gpubpf_get_u32(r);
	p->layout.print_ring = gpubpf_get_u64(r);
	get_layout(r, &p->layout.prints);
	if (p->layout.print_ring &&
	    (p->layout.print_ring >= p->layout.size || !is_inside(&p->layout.prints, p->layout.size)))
		r->failed = true;
	p->unit.nmaps = p->layout.nmaps = gpubpf_get_count(r, 22 + sizeof(struct gpubpf_map_layout));
	p->unit.maps = calloc(p->unit.nmaps + 1, sizeof(*p->unit.maps));
	p->layout.maps = calloc(p->unit.nmaps + 1, sizeof(*p->layout.maps));
	r->failed |= !p->unit.maps || !p->layout.maps || p->unit.nmaps > GPUBPF_MAX_MAPS;
	for (uint32_t i = 0; i < p->unit.nmaps && !r->failed; i++)
		get_map(r, p, i);
	p->unit.nprogs = gpubpf_get_u32(r);
	p->nlinks = gpubpf_get_count(r, 4 + 4 + 5);
	r->failed |= p->unit.nprogs > MAX_LINKS || p->nlinks > p->unit.nprogs;
	if (r->failed)
		return;
	p->unit.progs = calloc(p->unit.nprogs + 1, sizeof(*p->unit.progs));
	p->links = calloc(p->nlinks + 1, sizeof(*p->links));
	r->failed |= !p->unit.progs || !p->links;
	for (uint32_t i = 0; i < p->nlinks && !r->failed; i++)
		get_link(r, p, &p->links[i]);
}

void gpubpf_host_plan_free(struct gpubpf_host_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t i = 0; plan->unit.progs && i < plan->unit.nprogs; i++)
		free(plan->unit.progs[i].insns);
	free(plan->unit.progs);
	free(plan->unit.maps);
	free(plan->layout.maps);
	free(plan->links);
	free(plan);
}

int gpubpf_host_plan_parse(const void *data, size_t size, struct gpubpf_host_plan **plan)
{
	struct gpubpf_host_plan *p = calloc(1, sizeof(*p));
	struct gpubpf_reader r;

	if (!p)
		return -ENOMEM;
	gpubpf_reader_init(&r, data, size);
	get_all(&r, p);
	if (r.failed) {
		gpubpf_host_plan_free(p);
		return -EPROTO;
	}
	*plan = p;
	return 0;
}
