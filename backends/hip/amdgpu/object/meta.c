/* SPDX-License-Identifier: Apache-2.0 */
#include "meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/name.h"

static struct gpubpf_reader open_metadata(const struct hip_elf *elf)
{
	size_t size = 0;
	const uint8_t *data = hip_elf_metadata(elf, &size);

	return (struct gpubpf_reader){ data, data ? data + size : NULL, !data };
}

/* Reads a map up to the value of `key`, at which *m is then positioned. Returns false if the map has no such key. */
static bool find_key(struct gpubpf_reader *m, const char *key)
{
	uint32_t n = hip_msgpack_map(m), len;

	while (n-- && !m->failed) {
		const char *text = hip_msgpack_text(m, &len);

		if (hip_msgpack_is(text, len, key))
			return true;
		hip_msgpack_skip(m);
	}
	return false;
}

static void note_key(struct hip_meta *meta, struct gpubpf_reader *m, const char *key, uint32_t len)
{
	static const struct {
		const char *key;
		size_t off;
	} numbers[] = {
		{ ".vgpr_count", offsetof(struct hip_meta, vgprs) },
		{ ".agpr_count", offsetof(struct hip_meta, agprs) },
		{ ".sgpr_count", offsetof(struct hip_meta, sgprs) },
		{ ".kernarg_segment_size", offsetof(struct hip_meta, kernarg_size) },
		{ ".wavefront_size", offsetof(struct hip_meta, wave_size) },
	};
	struct gpubpf_reader value = *m;

	hip_msgpack_skip(m);
	value.end = m->at;
	if (hip_msgpack_is(key, len, ".name"))
		meta->name = hip_msgpack_text(&value, &meta->name_len);
	else if (hip_msgpack_is(key, len, ".symbol"))
		meta->symbol = hip_msgpack_text(&value, &meta->symbol_len);
	else if (hip_msgpack_is(key, len, ".args"))
		meta->args = value;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (hip_msgpack_is(key, len, numbers[i].key)) {
			uint32_t v = hip_msgpack_uint(&value);

			memcpy((char *)meta + numbers[i].off, &v, sizeof(v));
		}
}

static bool read_kernel(struct gpubpf_reader *m, struct hip_meta *meta)
{
	const uint8_t *begin = m->at;
	uint32_t n = hip_msgpack_map(m), len;

	*meta = (struct hip_meta){ .agprs = UINT32_MAX };
	while (n-- && !m->failed) {
		const char *key = hip_msgpack_text(m, &len);

		note_key(meta, m, key, len);
	}
	meta->map = (struct gpubpf_reader){ begin, m->at, m->failed };
	return !m->failed && meta->name;
}

bool hip_meta_kernel(const struct hip_elf *elf, uint32_t i, struct hip_meta *meta)
{
	struct gpubpf_reader m = open_metadata(elf);
	uint32_t n;

	if (m.failed || !find_key(&m, "amdhsa.kernels"))
		return false;
	n = hip_msgpack_array(&m);
	if (i >= n)
		return false;
	while (i-- && !m.failed)
		hip_msgpack_skip(&m);
	return read_kernel(&m, meta);
}

bool hip_meta_find(const struct hip_elf *elf, const char *name, struct hip_meta *meta)
{
	char known[GPUBPF_NAME_SIZE];

	for (uint32_t i = 0; hip_meta_kernel(elf, i, meta); i++) {
		gpubpf_name_short(meta->name, meta->name_len, known);
		if (!strcmp(known, name))
			return true;
	}
	return false;
}

static void read_arg(struct gpubpf_reader *m, struct hip_meta_arg *arg)
{
	uint32_t n = hip_msgpack_map(m), len;

	*arg = (struct hip_meta_arg){ 0 };
	while (n-- && !m->failed) {
		const char *key = hip_msgpack_text(m, &len);

		if (hip_msgpack_is(key, len, ".offset"))
			arg->offset = hip_msgpack_uint(m);
		else if (hip_msgpack_is(key, len, ".size"))
			arg->size = hip_msgpack_uint(m);
		else if (hip_msgpack_is(key, len, ".name"))
			arg->name = hip_msgpack_text(m, &arg->name_len);
		else if (hip_msgpack_is(key, len, ".type_name"))
			arg->type = hip_msgpack_text(m, &arg->type_len);
		else if (hip_msgpack_is(key, len, ".value_kind"))
			arg->kind = hip_msgpack_text(m, &arg->kind_len);
		else
			hip_msgpack_skip(m);
	}
}

uint32_t hip_meta_nargs(struct hip_meta *meta, struct gpubpf_reader *args)
{
	*args = meta->args;
	return args->at ? hip_msgpack_array(args) : 0;
}

bool hip_meta_arg(struct gpubpf_reader *args, uint32_t *left, struct hip_meta_arg *arg)
{
	while (*left && !args->failed) {
		--*left;
		read_arg(args, arg);
		if (!args->failed && (arg->kind_len < 7 || memcmp(arg->kind, "hidden_", 7)))
			return true;
	}
	return false;
}

static enum gpubpf_param_kind kind_of(const struct hip_meta_arg *arg)
{
	static const struct {
		const char *kind;
		enum gpubpf_param_kind means;
	} kinds[] = {
		{ "global_buffer", GPUBPF_PARAM_POINTER }, { "dynamic_shared_pointer", GPUBPF_PARAM_LOCAL },
		{ "sampler", GPUBPF_PARAM_OPAQUE },        { "image", GPUBPF_PARAM_OPAQUE },
		{ "pipe", GPUBPF_PARAM_OPAQUE },           { "queue", GPUBPF_PARAM_OPAQUE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (hip_msgpack_is(arg->kind, arg->kind_len, kinds[i].kind))
			return kinds[i].means;
	return arg->size <= 8 ? GPUBPF_PARAM_INT : GPUBPF_PARAM_BYTES;
}

uint32_t hip_meta_params(const struct hip_meta *meta, struct gpubpf_param *params, uint32_t *offsets, uint32_t room)
{
	struct hip_meta copy = *meta;
	struct gpubpf_reader args;
	uint32_t left = hip_meta_nargs(&copy, &args), n = 0, bytes = 0;
	struct hip_meta_arg arg;

	while (hip_meta_arg(&args, &left, &arg)) {
		uint32_t size = arg.size < 65536 ? arg.size : 65536;

		if (n < room && params) {
			params[n] = (struct gpubpf_param){ .kind = kind_of(&arg),
							   .size = size,
							   .align = arg.offset ? arg.offset & -arg.offset : 16,
							   .bytes_off = size ? bytes : UINT32_MAX };
			if (params[n].align > 16)
				params[n].align = 16;
			if (params[n].kind == GPUBPF_PARAM_OPAQUE)
				params[n].size = 0;
			snprintf(params[n].name, sizeof(params[n].name), "%.*s", (int)arg.name_len,
				 arg.name ? arg.name : "");
			snprintf(params[n].type, sizeof(params[n].type), "%.*s", (int)arg.type_len,
				 arg.type ? arg.type : "");
		}
		if (n < room && offsets)
			offsets[n] = arg.offset;
		bytes += (size + 15) & ~15u;
		n++;
	}
	return n;
}

static void put_number(struct gpubpf_writer *w, const char *key, uint32_t value)
{
	hip_msgpack_put_text(w, key, strlen(key));
	hip_msgpack_put_uint(w, value);
}

/* Writes the arguments of the original kernel, then the twin's additional arguments (twin->words). */
static void copy_args(struct gpubpf_writer *w, const struct hip_meta *meta, const struct hip_meta_twin *twin)
{
	struct hip_meta copy = *meta;
	struct gpubpf_reader args;
	uint32_t n = hip_meta_nargs(&copy, &args);

	hip_msgpack_put_text(w, ".args", 5);
	hip_msgpack_put_array(w, n + twin->words);
	if (n)
		gpubpf_put_raw(w, args.at, args.end - args.at);
	for (uint32_t i = 0; i < twin->words; i++) {
		hip_msgpack_put_map(w, 3);
		put_number(w, ".offset", twin->end + 8 * i);
		put_number(w, ".size", 8);
		hip_msgpack_put_text(w, ".value_kind", 11);
		hip_msgpack_put_text(w, "by_value", 8);
	}
}

static void copy_kernel(struct gpubpf_writer *w, const struct hip_meta *meta, const struct hip_meta_twin *twin)
{
	const struct {
		const char *key;
		uint32_t value;
	} numbers[] = {
		{ ".vgpr_count", twin->vgprs },
		{ ".agpr_count", twin->agprs },
		{ ".sgpr_count", twin->sgprs },
		{ ".private_segment_fixed_size", twin->private_size },
		{ ".group_segment_fixed_size", twin->group_size },
		{ ".kernarg_segment_size", twin->words ? twin->end + 8 * twin->words : meta->kernarg_size },
	};
	struct gpubpf_reader m = meta->map;
	uint32_t n = hip_msgpack_map(&m), len;
	char symbol[300];

	snprintf(symbol, sizeof(symbol), "%s.kd", twin->name);
	hip_msgpack_put_map(w, n + (meta->args.at ? 0 : 1));
	copy_args(w, meta, twin);
	while (n-- && !m.failed) {
		const char *key = hip_msgpack_text(&m, &len);
		const uint8_t *value = m.at;
		bool ours = false;

		hip_msgpack_skip(&m);
		if (hip_msgpack_is(key, len, ".args"))
			continue;
		hip_msgpack_put_text(w, key, len);
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			if (hip_msgpack_is(key, len, numbers[i].key)) {
				hip_msgpack_put_uint(w, numbers[i].value);
				ours = true;
			}
		if (hip_msgpack_is(key, len, ".name"))
			hip_msgpack_put_text(w, twin->name, strlen(twin->name));
		else if (hip_msgpack_is(key, len, ".symbol"))
			hip_msgpack_put_text(w, symbol, strlen(symbol));
		else if (!ours)
			gpubpf_put_raw(w, value, m.at - value);
	}
}

/*
 * Returns true if the output is a single, complete MessagePack value. The result is false, for example, if a map of the
 * original metadata has a key twice.
 */
static bool is_whole(const struct gpubpf_writer *w)
{
	struct gpubpf_reader r;

	gpubpf_reader_init(&r, w->data, w->size);
	hip_msgpack_skip(&r);
	return gpubpf_reader_done(&r);
}

int hip_meta_write(const struct hip_elf *elf, const struct hip_meta *meta, const struct hip_meta_twin *twin,
		   struct gpubpf_blob *out)
{
	struct gpubpf_reader m = open_metadata(elf);
	struct gpubpf_writer w = { 0 };
	uint32_t n = hip_msgpack_map(&m), len;

	hip_msgpack_put_map(&w, n);
	while (n-- && !m.failed) {
		const char *key = hip_msgpack_text(&m, &len);
		const uint8_t *value = m.at;

		hip_msgpack_skip(&m);
		hip_msgpack_put_text(&w, key, len);
		if (hip_msgpack_is(key, len, "amdhsa.kernels")) {
			hip_msgpack_put_array(&w, 1);
			copy_kernel(&w, meta, twin);
		} else {
			gpubpf_put_raw(&w, value, m.at - value);
		}
	}
	if (w.failed || m.failed || !is_whole(&w)) {
		free(w.data);
		return w.failed ? -ENOMEM : -EINVAL;
	}
	*out = (struct gpubpf_blob){ w.data, w.size };
	return 0;
}
