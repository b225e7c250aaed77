/* SPDX-License-Identifier: Apache-2.0 */
/* MessagePack, as far as the metadata of code objects uses it. Bytes that make no sense make it stop: `bad`. */
#ifndef GPUBPF_HIP_MSGPACK_H
#define GPUBPF_HIP_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hip_msgpack {
	const uint8_t *at, *end;
	bool bad;
};

/* The number of pairs or elements; 0 and bad if something else comes. */
uint32_t hip_msgpack_map(struct hip_msgpack *m);
uint32_t hip_msgpack_array(struct hip_msgpack *m);
uint64_t hip_msgpack_uint(struct hip_msgpack *m);
const char *hip_msgpack_text(struct hip_msgpack *m, uint32_t *len); /* not terminated */
void hip_msgpack_skip(struct hip_msgpack *m);
/* Is the text that comes next this word? It is read in any case. */
bool hip_msgpack_is(const char *text, uint32_t len, const char *word);

/* Written into memory of ours; it has failed if data is NULL in the end. */
struct hip_msgpack_writer {
	uint8_t *data;
	size_t size, room;
	bool failed;
};

void hip_msgpack_put(struct hip_msgpack_writer *w, const void *data, size_t size);
void hip_msgpack_put_map(struct hip_msgpack_writer *w, uint32_t pairs);
void hip_msgpack_put_array(struct hip_msgpack_writer *w, uint32_t elements);
void hip_msgpack_put_uint(struct hip_msgpack_writer *w, uint32_t v);
void hip_msgpack_put_text(struct hip_msgpack_writer *w, const char *text, uint32_t len);

#endif
