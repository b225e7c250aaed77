/* SPDX-License-Identifier: Apache-2.0 */
#include "proto.h"

#include <string.h>

#define LENGTH_BYTES 4 /* enough for 2^28 - 1 bytes */

enum wire {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
};

void proto_init(struct proto *p, void *data, size_t room)
{
	*p = (struct proto){ .data = data, .room = room };
}

static bool has_room(struct proto *p, size_t size)
{
	p->failed |= size > p->room - p->size;
	return !p->failed;
}

static void put_varint(struct proto *p, uint64_t value)
{
	if (!has_room(p, 10))
		return;
	for (; value >= 0x80; value >>= 7)
		p->data[p->size++] = (uint8_t)(value | 0x80);
	p->data[p->size++] = (uint8_t)value;
}

static void put_raw(struct proto *p, const void *data, size_t size)
{
	if (!has_room(p, size))
		return;
	memcpy(p->data + p->size, data, size);
	p->size += size;
}

static void put_tag(struct proto *p, uint32_t field, enum wire wire)
{
	put_varint(p, field << 3 | wire);
}

void proto_varint(struct proto *p, uint32_t field, uint64_t value)
{
	put_tag(p, field, WIRE_VARINT);
	put_varint(p, value);
}

void proto_fixed64(struct proto *p, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	put_tag(p, field, WIRE_FIXED64);
	put_raw(p, bytes, sizeof(bytes));
}

void proto_double(struct proto *p, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(p, field, bits);
}

void proto_bytes(struct proto *p, uint32_t field, const void *data, size_t size)
{
	put_tag(p, field, WIRE_BYTES);
	put_varint(p, size);
	put_raw(p, data, size);
}

void proto_string(struct proto *p, uint32_t field, const char *text)
{
	proto_bytes(p, field, text, strlen(text));
}

size_t proto_begin(struct proto *p, uint32_t field)
{
	put_tag(p, field, WIRE_BYTES);
	if (has_room(p, LENGTH_BYTES))
		p->size += LENGTH_BYTES;
	return p->size;
}

void proto_end(struct proto *p, size_t begin)
{
	size_t size = p->size - begin;

	p->failed |= size >> (7 * LENGTH_BYTES);
	if (p->failed)
		return;
	if (size < 0x80) {
		memmove(p->data + begin - LENGTH_BYTES + 1, p->data + begin, size);
		p->data[begin - LENGTH_BYTES] = (uint8_t)size;
		p->size -= LENGTH_BYTES - 1;
		return;
	}
	for (int i = 0; i < LENGTH_BYTES; i++, size >>= 7)
		p->data[begin - LENGTH_BYTES + i] = (uint8_t)((size & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
