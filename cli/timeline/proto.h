/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes messages of Protocol Buffers (protobuf.dev/programming-guides/encoding) into a buffer of fixed size. A message
 * that does not fit is marked as failed, and the caller drops it.
 */
#ifndef GPUBPF_CLI_TIMELINE_PROTO_H
#define GPUBPF_CLI_TIMELINE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	uint8_t *data;
	size_t size, room;
	bool failed;
};

void proto_init(struct proto *p, void *data, size_t room);
void proto_varint(struct proto *p, uint32_t field, uint64_t value);
void proto_fixed64(struct proto *p, uint32_t field, uint64_t value);
void proto_double(struct proto *p, uint32_t field, double value);
void proto_bytes(struct proto *p, uint32_t field, const void *data, size_t size);
void proto_string(struct proto *p, uint32_t field, const char *text);
/*
 * Begin a message in a field, and end it. Pass the result of proto_begin() to proto_end(), which writes the length. The
 * length takes four bytes, or one byte if the message has at most 127.
 */
size_t proto_begin(struct proto *p, uint32_t field);
void proto_end(struct proto *p, size_t begin);

#endif
