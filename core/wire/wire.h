/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reading and writing of messages: little-endian integers, and strings and arrays with a length prefix. A
 * reader never runs past its buffer: after the first bad read it stays failed and returns zeros and empty strings. Used
 * by the session protocol and by worker jobs; libc only.
 */
#ifndef GPUBPF_CORE_WIRE_WIRE_H
#define GPUBPF_CORE_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_reader {
	const uint8_t *at, *end;
	bool failed;
};

struct gpubpf_writer { /* data grows by realloc(); failed: out of memory */
	uint8_t *data;
	size_t size, room;
	bool failed;
};

void gpubpf_reader_init(struct gpubpf_reader *r, const void *data, size_t size);
uint8_t gpubpf_get_u8(struct gpubpf_reader *r);
uint16_t gpubpf_get_u16(struct gpubpf_reader *r);
uint32_t gpubpf_get_u32(struct gpubpf_reader *r);
uint64_t gpubpf_get_u64(struct gpubpf_reader *r);
/* Reads a length-prefixed string into buf, always terminated; fails if it holds NUL or does not fit. */
void gpubpf_get_str(struct gpubpf_reader *r, char *buf, size_t size);
/* Returns a length-prefixed run of bytes inside the buffer; NULL and 0 when failed. */
const void *gpubpf_get_bytes(struct gpubpf_reader *r, size_t *size);
/* Reads the count of an array whose elements take at least `least` bytes each; fails if the buffer cannot hold them. */
uint32_t gpubpf_get_count(struct gpubpf_reader *r, size_t least);
/* Returns n raw bytes; NULL when failed. */
const void *gpubpf_get_raw(struct gpubpf_reader *r, size_t n);
/* Is the whole buffer read without a failure? */
bool gpubpf_reader_done(const struct gpubpf_reader *r);

void gpubpf_put_u8(struct gpubpf_writer *w, uint8_t v);
void gpubpf_put_u16(struct gpubpf_writer *w, uint16_t v);
void gpubpf_put_u32(struct gpubpf_writer *w, uint32_t v);
void gpubpf_put_u64(struct gpubpf_writer *w, uint64_t v);
void gpubpf_put_str(struct gpubpf_writer *w, const char *s);
void gpubpf_put_bytes(struct gpubpf_writer *w, const void *data, size_t size);
void gpubpf_put_raw(struct gpubpf_writer *w, const void *data, size_t size); /* without a length */
void gpubpf_writer_finish(struct gpubpf_writer *w);                          /* frees the data */

#endif
