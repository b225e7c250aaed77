/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads messages with bounds checks. A message consists of little-endian integers, and of strings and arrays
 * that are preceded by their length. A reader never reads beyond its buffer: after the first invalid read, `failed`
 * stays set, and the functions return zeros and empty strings. The session protocol and the workers' jobs use this
 * encoding. This file uses only libc.
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

struct gpubpf_writer { /* a growing buffer; `failed` is set if memory runs out */
	uint8_t *data;
	size_t size, room;
	bool failed;
};

void gpubpf_reader_init(struct gpubpf_reader *r, const void *data, size_t size);
uint8_t gpubpf_get_u8(struct gpubpf_reader *r);
uint16_t gpubpf_get_u16(struct gpubpf_reader *r);
uint32_t gpubpf_get_u32(struct gpubpf_reader *r);
uint64_t gpubpf_get_u64(struct gpubpf_reader *r);
/*
 * Reads a string with its length into buf, and terminates it. The reader fails if the string contains a zero byte or
 * does not fit.
 */
void gpubpf_get_str(struct gpubpf_reader *r, char *buf, size_t size);
/*
 * Returns a pointer into the buffer to an array of bytes that is preceded by its length, and stores the length in
 * *size. Returns NULL, and a length of 0, if the reader has failed.
 */
const void *gpubpf_get_bytes(struct gpubpf_reader *r, size_t *size);
/*
 * Reads the number of elements of an array. Each element needs at least `least` bytes; the reader fails if the buffer
 * is too short for them.
 */
uint32_t gpubpf_get_count(struct gpubpf_reader *r, size_t least);
/* Returns a pointer into the buffer to the next n bytes. Returns NULL if the reader has failed. */
const void *gpubpf_get_raw(struct gpubpf_reader *r, size_t n);
/* Has the reader read the entire buffer without a failure? */
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
