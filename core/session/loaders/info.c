/* SPDX-License-Identifier: Apache-2.0 */
/* Answers BPF_OBJ_GET_INFO_BY_FD, and the commands that iterate over ids (BPF_MAP_GET_NEXT_ID and others). */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_map(struct sys_call *c, const struct sys_object *o)
{
	const struct gpubpf_map *map = &o->map.def;
	struct bpf_map_info info = {
		.type = map->type->number,
		.id = o->id,
		.key_size = map->key_size,
		.value_size = map->value_size,
		.max_entries = map->max_entries,
		.map_flags = o->map.flags,
		.map_extra = map->map_extra,
		.btf_id = o->btf,
		.btf_key_type_id = map->btf_key,
		.btf_value_type_id = map->btf_value,
	};

	memcpy(info.name, map->name, sizeof(info.name) - 1);
	if (map->type->flags & GPUBPF_MAP_ROOM)
		info.key_size = o->map.key_size;
	else if (o->map.stream)
		info.key_size = info.value_size = sys_stream_word_size(o);
	gpubpf_put_bytes(c->out, &info, sizeof(info));
	gpubpf_put_bytes(c->out, NULL, 0);
	gpubpf_put_bytes(c->out, NULL, 0);
}

/* Append the program's instructions in the form that bpf(2) reports: map operands are map ids. */
static void put_insns(struct sys_call *c, const struct sys_object *o)
{
	uint32_t n = o->prog.raw.ninsns;
	struct bpf_insn *insns = malloc((n + 1) * sizeof(*insns));

	c->out->failed |= !insns;
	if (insns)
		memcpy(insns, o->prog.raw.insns, n * sizeof(*insns));
	for (uint32_t i = 0; insns && i < n; i++)
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    (insns[i].src_reg == BPF_PSEUDO_MAP_FD || insns[i].src_reg == BPF_PSEUDO_MAP_VALUE))
			insns[i].imm = (int32_t)o->prog.maps[insns[i].imm];
	gpubpf_put_bytes(c->out, insns, insns ? n * sizeof(*insns) : 0);
	free(insns);
}

static void put_prog(struct sys_call *c, const struct sys_object *o)
{
	const struct gpubpf_sys_prog *raw = &o->prog.raw;
	struct bpf_prog_info info = {
		.type = o->prog.type,
		.id = o->id,
		.xlated_prog_len = raw->ninsns * sizeof(*raw->insns),
		.load_time = o->prog.loaded_ns,
		.nr_map_ids = o->prog.nmaps,
		.gpl_compatible = 1,
		.btf_id = o->btf,
		.verified_insns = raw->ninsns,
	};

	memcpy(info.name, o->prog.name, sizeof(info.name) - 1);
	info.created_by_uid = geteuid();
	gpubpf_put_bytes(c->out, &info, sizeof(info));
	put_insns(c, o);
	gpubpf_put_bytes(c->out, o->prog.maps, o->prog.nmaps * sizeof(*o->prog.maps));
}

static void put_link(struct sys_call *c, const struct sys_object *o)
{
	struct bpf_link_info info = { .type = BPF_LINK_TYPE_PERF_EVENT, .id = o->id, .prog_id = o->link.prog };

	gpubpf_put_bytes(c->out, &info, sizeof(info));
	gpubpf_put_bytes(c->out, NULL, 0);
	gpubpf_put_bytes(c->out, NULL, 0);
}

static void put_btf(struct sys_call *c, const struct sys_object *o)
{
	struct bpf_btf_info info = { .id = o->id, .btf_size = (uint32_t)o->btf_data.size };

	gpubpf_put_bytes(c->out, &info, sizeof(info));
	gpubpf_put_bytes(c->out, o->btf_data.data, o->btf_data.size);
	gpubpf_put_bytes(c->out, NULL, 0);
}

int sys_info(struct sys_call *c)
{
	static void (*const put[])(struct sys_call *c, const struct sys_object *o) = {
		[GPUBPF_BPF_MAP] = put_map,
		[GPUBPF_BPF_PROG] = put_prog,
		[GPUBPF_BPF_LINK] = put_link,
		[GPUBPF_BPF_BTF] = put_btf,
	};
	const struct sys_object *o = sys_object_find(c->s, gpubpf_get_u32(c->r));

	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (o->kind >= sizeof(put) / sizeof(put[0]))
		return -EINVAL;
	gpubpf_put_u32(c->out, o->kind);
	put[o->kind](c, o);
	return 0;
}

int sys_next_id(struct sys_call *c)
{
	uint32_t kind = gpubpf_get_u32(c->r), after = gpubpf_get_u32(c->r);

	if (c->r->failed)
		return -EPROTO;
	gpubpf_bpf_sweep(c->s);
	for (uint32_t i = 0; c->s->loaders && i < c->s->loaders->n; i++)
		if (c->s->loaders->objects[i]->kind == kind && c->s->loaders->objects[i]->id > after) {
			gpubpf_put_u32(c->out, c->s->loaders->objects[i]->id);
			return 0;
		}
	return -ENOENT;
}

int sys_fd_by_id(struct sys_call *c)
{
	uint32_t kind = gpubpf_get_u32(c->r), id = gpubpf_get_u32(c->r);
	struct sys_object *o = sys_object_find_kind(c->s, kind, id);

	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -ENOENT;
	c->fd = sys_object_handle(o);
	return c->fd < 0 ? c->fd : 0;
}
