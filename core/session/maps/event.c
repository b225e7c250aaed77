/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the BTF types of ring records. Reports show a record without a type as bytes. */
#include "entries.h"

#include <bpf/btf.h>
#include <string.h>

#define ROW_BYTES 16

/* Returns the struct that a global variable points to, as in `const struct event *unused`; 0: none. */
static uint32_t pointed_struct(const struct btf *btf, const struct btf_type *var)
{
	const struct btf_type *t;
	uint32_t type;

	type = gpubpf_btf_strip(btf, var->type);
	t = type ? btf__type_by_id(btf, type) : NULL;
	if (!t || !btf_is_ptr(t))
		return 0;
	type = gpubpf_btf_strip(btf, t->type);
	t = type ? btf__type_by_id(btf, type) : NULL;
	return t && btf_is_composite(t) ? type : 0;
}

/* Returns the only struct of that size to which a global variable points; 0: there is none, or there are several. */
static uint32_t pointed_struct_of_size(const struct btf *btf, uint32_t size)
{
	uint32_t n = btf ? btf__type_cnt(btf) : 0, found = 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);
		uint32_t type = t && btf_is_var(t) ? pointed_struct(btf, t) : 0;

		if (!type || type == found || gpubpf_typed_size(btf, type) != (int64_t)size)
			continue;
		if (found)
			return 0;
		found = type;
	}
	return found;
}

uint32_t gpubpf_event_type(const struct gpubpf_session *s, uint32_t map, uint32_t size)
{
	uint32_t value = gpubpf_session_unit(s)->maps[map].btf_value;
	const struct btf *btf = gpubpf_map_btf(s, map);

	if (value && btf && gpubpf_typed_size(btf, value) == (int64_t)size)
		return value;
	return pointed_struct_of_size(btf, size);
}

static void show_row(const uint8_t *data, uint32_t n, uint32_t width, FILE *out)
{
	for (uint32_t i = 0; i < width; i++)
		if (i < n)
			fprintf(out, "%02x ", data[i]);
		else
			fprintf(out, "   ");
	fprintf(out, " |");
	for (uint32_t i = 0; i < n; i++)
		fputc(data[i] >= ' ' && data[i] < 0x7f ? data[i] : '.', out);
	fprintf(out, "|\n");
}

void gpubpf_event_bytes(const void *data, uint32_t size, FILE *out)
{
	if (size <= ROW_BYTES) {
		show_row(data, size, size, out);
		return;
	}
	fprintf(out, "%u bytes\n", size);
	for (uint32_t at = 0; at < size; at += ROW_BYTES) {
		fprintf(out, "    %04x: ", at);
		show_row((const uint8_t *)data + at, size - at < ROW_BYTES ? size - at : ROW_BYTES, ROW_BYTES, out);
	}
}
