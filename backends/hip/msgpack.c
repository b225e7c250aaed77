/* SPDX-License-Identifier: Apache-2.0 */
#include "msgpack.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

static const uint8_t *take(struct hip_msgpack *m, uint64_t n)
{
	const uint8_t *at = m->at;

	if (m->bad || n > (uint64_t)(m->end - m->at)) {
		m->bad = true;
		return NULL;
	}
	m->at += n;
	return at;
}

/* a number of n bytes, most significant first */
static uint64_t number(struct hip_msgpack *m, unsigned n)
{
	const uint8_t *at = take(m, n);
	uint64_t v = 0;

	for (unsigned i = 0; at && i < n; i++)
		v = v << 8 | at[i];
	return v;
}

/* The head of a container or text: `fix` with its count in the low bits, or a byte `wide` (+0, +1, +2) and a
 * count of 1, 2 or 4 bytes; of arrays and maps there is none of 1 byte. */
static uint32_t count(struct hip_msgpack *m, uint8_t fix, uint8_t mask, uint8_t wide, unsigned least)
{
	uint8_t head = number(m, 1);

	if (m->bad)
		return 0;
	if ((head & ~mask & 0xff) == fix)
		return head & mask;
	for (unsigned i = 0, n = least; n <= 4; i++, n *= 2)
		if (head == wide + i)
			return number(m, n);
	m->bad = true;
	return 0;
}

uint32_t hip_msgpack_map(struct hip_msgpack *m)
{
	return count(m, 0x80, 0x0f, 0xde, 2);
}

uint32_t hip_msgpack_array(struct hip_msgpack *m)
{
	return count(m, 0x90, 0x0f, 0xdc, 2);
}

uint64_t hip_msgpack_uint(struct hip_msgpack *m)
{
	uint8_t head = number(m, 1);

	if (head < 0x80)
		return head;
	for (unsigned i = 0; i < 4; i++)
		if (head == 0xcc + i || head == 0xd0 + i)
			return number(m, 1u << i);
	m->bad = true;
	return 0;
}

const char *hip_msgpack_text(struct hip_msgpack *m, uint32_t *len)
{
	*len = count(m, 0xa0, 0x1f, 0xd9, 1);
	return (const char *)take(m, *len);
}

static void skip(struct hip_msgpack *m, unsigned depth)
{
	static const uint8_t scalars[] = { /* 0xc0 to 0xdb: bytes that follow, 0xff: it is looked at below */
		0, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17, 0xff, 0xff, 0xff,
	};
	uint8_t head = m->at < m->end ? *m->at : 0xc1;
	uint64_t n;

	if (m->bad || depth > MAX_DEPTH || head == 0xc1) {
		m->bad = true;
	} else if ((head & 0xf0) == 0x80 || head == 0xde || head == 0xdf) {
		n = 2 * (uint64_t)hip_msgpack_map(m);
		while (n-- && !m->bad)
			skip(m, depth + 1);
	} else if ((head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd) {
		n = hip_msgpack_array(m);
		while (n-- && !m->bad)
			skip(m, depth + 1);
	} else if ((head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb)) {
		take(m, count(m, 0xa0, 0x1f, 0xd9, 1));
	} else if (head >= 0xc4 && head <= 0xc6) {
		take(m, count(m, 0xc4, 0, 0xc4, 1));
	} else if (head < 0x80 || head >= 0xe0) {
		take(m, 1);
	} else if (scalars[head - 0xc0] != 0xff) {
		take(m, 1 + scalars[head - 0xc0]);
	} else {
		take(m, head == 0xc2 || head == 0xc3 ? 1 : UINT64_MAX);
	}
}

void hip_msgpack_skip(struct hip_msgpack *m)
{
	skip(m, 0);
}

bool hip_msgpack_is(const char *text, uint32_t len, const char *word)
{
	return text && strlen(word) == len && !memcmp(text, word, len);
}

void hip_msgpack_put(struct hip_msgpack_writer *w, const void *data, size_t size)
{
	if (!w->failed && w->room - w->size < size) {
		size_t room = 2 * w->room + size + 256;
		uint8_t *grown = realloc(w->data, room);

		w->failed = !grown;
		if (grown) {
			w->data = grown;
			w->room = room;
		}
	}
	if (w->failed)
		return;
	memcpy(w->data + w->size, data, size);
	w->size += size;
}

/* a head byte and a count of four bytes: longer than need be, and always right */
static void put_head(struct hip_msgpack_writer *w, uint8_t head, uint32_t v)
{
	uint8_t bytes[] = { head, v >> 24, v >> 16, v >> 8, v };

	hip_msgpack_put(w, bytes, sizeof(bytes));
}

void hip_msgpack_put_map(struct hip_msgpack_writer *w, uint32_t pairs)
{
	put_head(w, 0xdf, pairs);
}

void hip_msgpack_put_array(struct hip_msgpack_writer *w, uint32_t elements)
{
	put_head(w, 0xdd, elements);
}

void hip_msgpack_put_uint(struct hip_msgpack_writer *w, uint32_t v)
{
	put_head(w, 0xce, v);
}

void hip_msgpack_put_text(struct hip_msgpack_writer *w, const char *text, uint32_t len)
{
	put_head(w, 0xdb, len);
	hip_msgpack_put(w, text, len);
}
