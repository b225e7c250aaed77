/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

void gpubpf_reader_init(struct gpubpf_reader *r, const void *data, size_t size)
{
	r->at = data;
	r->end = r->at + size;
	r->failed = false;
}

const void *gpubpf_get_raw(struct gpubpf_reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (r->failed || (size_t)(r->end - r->at) < n) {
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return at;
}

static uint64_t get_le(struct gpubpf_reader *r, size_t n)
{
	const uint8_t *at = gpubpf_get_raw(r, n);
	uint64_t v = 0;

	for (size_t i = 0; at && i < n; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

uint8_t gpubpf_get_u8(struct gpubpf_reader *r)
{
	return get_le(r, 1);
}

uint16_t gpubpf_get_u16(struct gpubpf_reader *r)
{
	return get_le(r, 2);
}

uint32_t gpubpf_get_u32(struct gpubpf_reader *r)
{
	return get_le(r, 4);
}

uint64_t gpubpf_get_u64(struct gpubpf_reader *r)
{
	return get_le(r, 8);
}

void gpubpf_get_str(struct gpubpf_reader *r, char *buf, size_t size)
{
	size_t n;
	const void *data = gpubpf_get_bytes(r, &n);

	buf[0] = 0;
	if (!data)
		return;
	if (n >= size || memchr(data, 0, n)) {
		r->failed = true;
		return;
	}
	memcpy(buf, data, n);
	buf[n] = 0;
}

const void *gpubpf_get_bytes(struct gpubpf_reader *r, size_t *size)
{
	size_t n = gpubpf_get_u32(r);
	const void *data = gpubpf_get_raw(r, n);

	*size = data ? n : 0;
	return data;
}

uint32_t gpubpf_get_count(struct gpubpf_reader *r, size_t least)
{
	uint32_t n = gpubpf_get_u32(r);

	if (!r->failed && least && n > (size_t)(r->end - r->at) / least)
		r->failed = true;
	return r->failed ? 0 : n;
}

bool gpubpf_reader_done(const struct gpubpf_reader *r)
{
	return !r->failed && r->at == r->end;
}

void gpubpf_put_raw(struct gpubpf_writer *w, const void *data, size_t n)
{
	if (w->failed || !n)
		return;
	if (w->room - w->size < n) {
		size_t room = w->room ? w->room : 256;
		uint8_t *grown;

		while (room - w->size < n)
			room *= 2;
		grown = realloc(w->data, room);
		if (!grown) {
			w->failed = true;
			return;
		}
		w->data = grown;
		w->room = room;
	}
	memcpy(w->data + w->size, data, n);
	w->size += n;
}

static void put_le(struct gpubpf_writer *w, uint64_t v, size_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = v >> (8 * i);
	gpubpf_put_raw(w, bytes, n);
}

void gpubpf_put_u8(struct gpubpf_writer *w, uint8_t v)
{
	put_le(w, v, 1);
}

void gpubpf_put_u16(struct gpubpf_writer *w, uint16_t v)
{
	put_le(w, v, 2);
}

void gpubpf_put_u32(struct gpubpf_writer *w, uint32_t v)
{
	put_le(w, v, 4);
}

void gpubpf_put_u64(struct gpubpf_writer *w, uint64_t v)
{
	put_le(w, v, 8);
}

void gpubpf_put_str(struct gpubpf_writer *w, const char *s)
{
	gpubpf_put_bytes(w, s, strlen(s));
}

void gpubpf_put_bytes(struct gpubpf_writer *w, const void *data, size_t size)
{
	if (size > UINT32_MAX) {
		w->failed = true;
		return;
	}
	gpubpf_put_u32(w, size);
	gpubpf_put_raw(w, data, size);
}

void gpubpf_writer_finish(struct gpubpf_writer *w)
{
	free(w->data);
	*w = (struct gpubpf_writer){ 0 };
}
