/* SPDX-License-Identifier: Apache-2.0 */
#include "msgpack.h"

#include <string.h>

#define MAX_DEPTH 32

/* Reads a big-endian number of n bytes. */
static uint64_t read_number(struct gpubpf_reader *m, unsigned n)
{
	const uint8_t *at = gpubpf_get_raw(m, n);
	uint64_t v = 0;

	for (unsigned i = 0; at && i < n; i++)
		v = v << 8 | at[i];
	return v;
}

/* Reads the head of a map, array or string, and returns its count. The short form is a byte `fix` with the count in the
 * bits of `mask`. The long forms are the bytes `wide` and up, followed by a count of `least` to 4 bytes. */
static uint32_t read_count(struct gpubpf_reader *m, uint8_t fix, uint8_t mask, uint8_t wide, unsigned least)
{
	uint8_t head = read_number(m, 1);

	if (m->failed)
		return 0;
	if ((head & ~mask & 0xff) == fix)
		return head & mask;
	for (unsigned i = 0, n = least; n <= 4; i++, n *= 2)
		if (head == wide + i)
			return read_number(m, n);
	m->failed = true;
	return 0;
}

uint32_t hip_msgpack_map(struct gpubpf_reader *m)
{
	return read_count(m, 0x80, 0x0f, 0xde, 2);
}

uint32_t hip_msgpack_array(struct gpubpf_reader *m)
{
	return read_count(m, 0x90, 0x0f, 0xdc, 2);
}

uint64_t hip_msgpack_uint(struct gpubpf_reader *m)
{
	uint8_t head = read_number(m, 1);

	if (head < 0x80)
		return head;
	for (unsigned i = 0; i < 4; i++)
		if (head == 0xcc + i || head == 0xd0 + i)
			return read_number(m, 1u << i);
	m->failed = true;
	return 0;
}

const char *hip_msgpack_text(struct gpubpf_reader *m, uint32_t *len)
{
	uint32_t n = read_count(m, 0xa0, 0x1f, 0xd9, 1);
	const char *text = gpubpf_get_raw(m, n);

	*len = text ? n : 0;
	return text;
}

static void skip(struct gpubpf_reader *m, unsigned depth)
{
	static const uint8_t scalars[] = {
		/* [head - 0xc0] number of bytes after the head byte; 0xff: handled in the last branch */
		0, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4,  8,    1,    2,
		4, 8,    1, 2, 4,    8,    2,    3,    5,    9,    17, 0xff, 0xff, 0xff,
	};
	uint8_t head = m->at < m->end ? *m->at : 0xc1;
	uint64_t n;

	if (m->failed || depth > MAX_DEPTH || head == 0xc1) {
		m->failed = true;
	} else if ((head & 0xf0) == 0x80 || head == 0xde || head == 0xdf) {
		n = 2 * (uint64_t)hip_msgpack_map(m);
		while (n-- && !m->failed)
			skip(m, depth + 1);
	} else if ((head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd) {
		n = hip_msgpack_array(m);
		while (n-- && !m->failed)
			skip(m, depth + 1);
	} else if ((head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb)) {
		gpubpf_get_raw(m, read_count(m, 0xa0, 0x1f, 0xd9, 1));
	} else if (head >= 0xc4 && head <= 0xc6) {
		gpubpf_get_raw(m, read_count(m, 0xc4, 0, 0xc4, 1));
	} else if (head < 0x80 || head >= 0xe0) {
		gpubpf_get_raw(m, 1);
	} else if (scalars[head - 0xc0] != 0xff) {
		gpubpf_get_raw(m, 1 + scalars[head - 0xc0]);
	} else {
		gpubpf_get_raw(m, head == 0xc2 || head == 0xc3 ? 1 : UINT64_MAX);
	}
}

void hip_msgpack_skip(struct gpubpf_reader *m)
{
	skip(m, 0);
}

bool hip_msgpack_is(const char *text, uint32_t len, const char *word)
{
	return text && strlen(word) == len && !memcmp(text, word, len);
}

/* Writes a head byte and a 4-byte count. A shorter form may exist, but this one is always valid. */
static void put_head(struct gpubpf_writer *w, uint8_t head, uint32_t v)
{
	uint8_t bytes[] = { head, v >> 24, v >> 16, v >> 8, v };

	gpubpf_put_raw(w, bytes, sizeof(bytes));
}

void hip_msgpack_put_map(struct gpubpf_writer *w, uint32_t pairs)
{
	put_head(w, 0xdf, pairs);
}

void hip_msgpack_put_array(struct gpubpf_writer *w, uint32_t elements)
{
	put_head(w, 0xdd, elements);
}

void hip_msgpack_put_uint(struct gpubpf_writer *w, uint32_t v)
{
	put_head(w, 0xce, v);
}

void hip_msgpack_put_text(struct gpubpf_writer *w, const char *text, uint32_t len)
{
	put_head(w, 0xdb, len);
	gpubpf_put_raw(w, text, len);
}
