/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the BTF of the object. Maps are described as libbpf reads them from .maps. Values have the type names of
 * <gpubpf/probe.h>, by which the tool formats them. The names of internal maps begin with two underscores, and reports
 * omit these maps.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "gpubpf/ctx.h"

struct types {
	struct lang *l;
	struct btf *btf;
	struct lang_types *out;
	/* BTF type ids; 0: not created yet */
	int u32, u64, s64, character, kernel, address, stack, slot, name, integer;
	int var[LANG_MAPS + LANG_INTERNAL_MAPS];
	uint32_t tuples; /* number of structs of tuples and buffers so far */
};

static int cache_type(int *id, int made)
{
	if (!*id)
		*id = made;
	return *id;
}

static int u64_type(struct types *t)
{
	return t->u64 ? t->u64 : cache_type(&t->u64, btf__add_int(t->btf, "unsigned long long", 8, 0));
}

static int s64_type(struct types *t)
{
	return t->s64 ? t->s64 : cache_type(&t->s64, btf__add_int(t->btf, "long long", 8, BTF_INT_SIGNED));
}

static int u32_type(struct types *t)
{
	return t->u32 ? t->u32 : cache_type(&t->u32, btf__add_int(t->btf, "unsigned int", 4, 0));
}

static int int_type(struct types *t)
{
	return t->integer ? t->integer : cache_type(&t->integer, btf__add_int(t->btf, "int", 4, BTF_INT_SIGNED));
}

static int char_type(struct types *t)
{
	return t->character ? t->character : cache_type(&t->character, btf__add_int(t->btf, "char", 1, BTF_INT_SIGNED));
}

static int array_type(struct types *t, int element, uint32_t n)
{
	return btf__add_array(t->btf, u32_type(t), element, n);
}

static int name_type(struct types *t)
{
	int text;

	if (t->name)
		return t->name;
	text = array_type(t, char_type(t), GPUBPF_CTX_NAME);
	t->name = btf__add_struct(t->btf, "gpubpf_name", GPUBPF_CTX_NAME);
	btf__add_field(t->btf, "text", text, 0, 0);
	return t->name;
}

static int number_type(struct types *t, struct lang_type type);

/* Create the struct of a tuple, with the members _0, _1, ... */
static int tuple_type(struct types *t, const struct lang_shape *shape)
{
	int member[LANG_KEYS], id;

	for (uint32_t i = 0; i < shape->n; i++)
		member[i] = number_type(t, shape->type[i]);
	id = btf__add_struct(t->btf, lang_format(t->l, "tuple%u", t->tuples++), shape->size);
	for (uint32_t i = 0; i < shape->n; i++)
		btf__add_field(t->btf, lang_format(t->l, "_%u", i), member[i], shape->at[i] * 8, 0);
	return id;
}

static int buffer_type(struct types *t, uint32_t bytes)
{
	int length = u64_type(t), data = array_type(t, char_type(t), bytes), id;

	id = btf__add_struct(t->btf, lang_format(t->l, "buffer%u", t->tuples++), 8 + bytes);
	btf__add_field(t->btf, "length", length, 0, 0);
	btf__add_field(t->btf, "data", data, 64, 0);
	return id;
}

static int number_type(struct types *t, struct lang_type type)
{
	switch (type.base) {
	case LANG_KERNEL:
		return t->kernel ? t->kernel :
				   cache_type(&t->kernel, btf__add_typedef(t->btf, "gpubpf_kernel", u64_type(t)));
	case LANG_ADDRESS:
		return t->address ? t->address :
				    cache_type(&t->address, btf__add_typedef(t->btf, "gpubpf_address", u64_type(t)));
	case LANG_STACK:
		return t->stack ? t->stack : cache_type(&t->stack, btf__add_typedef(t->btf, "gpubpf_stack", s64_type(t)));
	case LANG_NAME:
		return name_type(t);
	case LANG_TUPLE:
		return tuple_type(t, type.shape);
	case LANG_FRAME_LIST:
		return array_type(t, u64_type(t), 1 + type.bytes);
	case LANG_BUFFER:
		return buffer_type(t, lang_size(type) - 8);
	default:
		return type.is_signed ? s64_type(t) : u64_type(t);
	}
}

static int key_type(struct types *t, const struct lang_map *map)
{
	int member[LANG_KEYS], id;
	uint32_t at = 0;

	if (!map->nkeys)
		return u32_type(t);
	for (uint32_t i = 0; i < map->nkeys; i++)
		member[i] = number_type(t, map->key[i]);
	if (map->nkeys == 1)
		return member[0];
	id = btf__add_struct(t->btf, lang_format(t->l, "key%u", map->index), map->key_size);
	for (uint32_t i = 0; i < map->nkeys; i++) {
		btf__add_field(t->btf, map->key_name[i], member[i], at * 8, 0);
		at += lang_size(map->key[i]);
	}
	return id;
}

/*
 * Create the BTF type of a histogram: struct gpubpf_hist, GPUBPF_LINEAR_HIST() or struct gpubpf_quantiles. Members
 * without size encode the ranges of the slots.
 */
static int hist_type(struct types *t, const struct lang_map *map, const char *name)
{
	uint32_t bits = map->fine ? map->fine - 1 : 0;
	int min, step, fine, slots, id;

	if (!t->slot)
		t->slot = btf__add_typedef(t->btf, "gpubpf_log2_slot", u64_type(t));
	min = array_type(t, array_type(t, char_type(t), map->min), 0);
	step = array_type(t, array_type(t, char_type(t), map->step), 0);
	fine = array_type(t, array_type(t, char_type(t), bits), 0);
	slots = array_type(t, map->step || bits ? u64_type(t) : t->slot, map->value_size / 8);
	id = btf__add_struct(t->btf, name, map->value_size);
	btf__add_field(t->btf, "gpubpf_min", min, 0, 0);
	btf__add_field(t->btf, "gpubpf_step", step, 0, 0);
	if (bits)
		btf__add_field(t->btf, "gpubpf_bits", fine, 0, 0);
	btf__add_field(t->btf, "slot", slots, 0, 0);
	return id;
}

static int pair_type(struct types *t, const char *name, const char *first, int first_type, const char *second,
		     int second_type)
{
	int id = btf__add_struct(t->btf, name, 16);

	btf__add_field(t->btf, first, first_type, 0, 0);
	btf__add_field(t->btf, second, second_type, 64, 0);
	return id;
}

static int value_type(struct types *t, const struct lang_map *map)
{
	struct lang_type plain = { LANG_INT, map->value.is_signed };

	switch (map->holds ? map->holds->id : LANG_FUNCTIONS) {
	case LANG_F_COUNT:
		return u64_type(t);
	case LANG_F_SUM:
		return number_type(t, plain);
	case LANG_F_AVG:
	case LANG_F_STATS:
		return pair_type(t, map->holds->name, "count", u64_type(t), "total", number_type(t, plain));
	case LANG_F_MIN:
	case LANG_F_MAX:
		return pair_type(t, map->holds->name, map->holds->name, number_type(t, plain), "lost", u64_type(t));
	case LANG_F_HIST:
		return hist_type(t, map, map->fine > 1 ? lang_format(t->l, "hist%u", map->index) : "gpubpf_hist");
	case LANG_F_LHIST:
		return hist_type(t, map, lang_format(t->l, "lhist%u", map->index));
	default:
		return number_type(t, map->value);
	}
}

/* -- map definitions -- */

static int pointer(struct types *t, int to)
{
	return btf__add_ptr(t->btf, to);
}

static int number_member(struct types *t, uint32_t n)
{
	return pointer(t, array_type(t, int_type(t), n));
}

/*
 * Create a map definition: struct { int (*type)[..]; int (*max_entries)[..]; K *key; V *value; }. If `key` or `value`
 * is 0, the member is omitted, as for a ring buffer.
 */
static void define(struct types *t, const char *name, uint32_t type, uint32_t entries, int key, int value)
{
	int members[4] = {
		number_member(t, type),
		number_member(t, entries),
		key ? pointer(t, key) : 0,
		value ? pointer(t, value) : 0,
	};
	static const char *const names[4] = { "type", "max_entries", "key", "value" };
	uint32_t i = t->out->nmaps++;
	int id;

	id = btf__add_struct(t->btf, NULL, LANG_MAP_DEFINITION);
	for (int m = 0; m < 4; m++)
		if (members[m])
			btf__add_field(t->btf, names[m], members[m], 64 * m, 0);
	t->out->map[i] = name;
	t->var[i] = btf__add_var(t->btf, name, BTF_VAR_GLOBAL_ALLOCATED, id);
}

static void define_maps(struct types *t)
{
	for (const struct lang_map *m = t->l->maps; m; m = m->next) {
		bool array = lang_map_is_array(m);
		uint32_t hash = m->lru ? BPF_MAP_TYPE_LRU_HASH : BPF_MAP_TYPE_HASH;

		define(t, m->object_name, array ? BPF_MAP_TYPE_ARRAY : hash, m->nkeys ? m->room : 1, key_type(t, m),
		       value_type(t, m));
		if (!m->is_shared && m->nkeys && !t->l->linux_probes)
			btf__add_decl_tag(t->btf, "gpubpf:own_keys", t->var[t->out->nmaps - 1], -1);
	}
}

static int entered_type(struct types *t)
{
	int id = btf__add_struct(t->btf, "entered", 24);

	btf__add_field(t->btf, "thread", u64_type(t), 0, 0);
	btf__add_field(t->btf, "run", u64_type(t), 64, 0);
	btf__add_field(t->btf, "ns", u64_type(t), 128, 0);
	return id;
}

/* Create the definitions of the internal maps that the program text needs, in the order of enum lang_internal_map. */
static void define_internal_maps(struct types *t)
{
	const struct lang *l = t->l;

	if (l->records)
		define(t, "__records", BPF_MAP_TYPE_RINGBUF, LANG_RING_BYTES, 0, 0);
	if (l->zeros)
		define(t, "__zeros", BPF_MAP_TYPE_ARRAY, 1, u32_type(t), array_type(t, char_type(t), l->zeros_size));
	if (l->durations) {
		define(t, "__entered", BPF_MAP_TYPE_ARRAY, l->threads, u32_type(t), entered_type(t));
		define(t, "__lost", BPF_MAP_TYPE_ARRAY, 1, u32_type(t), u64_type(t));
	}
	if (l->stacks)
		define(t, "__stacks", BPF_MAP_TYPE_STACK_TRACE, LANG_STACKS, u32_type(t),
		       array_type(t, u64_type(t), l->frames));
	if (l->limits)
		define(t, "__limits", BPF_MAP_TYPE_ARRAY, 1, u32_type(t), u64_type(t));
}

int lang_types_make(struct lang *l, const struct lang_code *code, struct lang_types *out)
{
	struct types t = { .l = l, .btf = btf__new_empty(), .out = out };
	int proto, func = 0;

	*out = (struct lang_types){ .btf = t.btf };
	if (!t.btf)
		return -ENOMEM;
	define_maps(&t);
	define_internal_maps(&t);
	out->maps_size = out->nmaps * LANG_MAP_DEFINITION;
	if (out->nmaps)
		btf__add_datasec(t.btf, ".maps", out->maps_size);
	for (uint32_t i = 0; i < out->nmaps; i++)
		btf__add_datasec_var_info(t.btf, t.var[i], i * LANG_MAP_DEFINITION, LANG_MAP_DEFINITION);
	proto = pointer(&t, 0);
	u64_type(&t);
	int_type(&t);
	func = btf__add_func_proto(t.btf, int_type(&t));
	btf__add_func_param(t.btf, "ctx", proto);
	proto = func;
	for (func = 0; code; code = code->next) {
		func = btf__add_func(t.btf, code->name, code->is_loop ? BTF_FUNC_STATIC : BTF_FUNC_GLOBAL, proto);
		out->func = out->func ? out->func : func;
	}
	return func < 0 ? -ENOMEM : 0;
}
