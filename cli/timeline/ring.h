/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c: the memory of a flight recorder. It has parts, which can each be read alone. A part begins with the spans that
 * were open, which only the oldest part needs. If the parts are too large together, the oldest one is dropped.
 */
#ifndef GPUBPF_CLI_TIMELINE_RING_H
#define GPUBPF_CLI_TIMELINE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;
struct ring *ring_create(uint64_t bytes); /* NULL: out of memory */
void ring_destroy(struct ring *ring);
/* Append to the last part. If memory is exhausted, the bytes are lost, and ring_lost() counts them. */
void ring_append(struct ring *ring, const void *data, size_t size);
bool ring_is_part_full(const struct ring *ring);
/* Begin a part. Until ring_end_open_spans(), appended bytes are the spans that were open. */
void ring_begin_part(struct ring *ring);
void ring_begin_open_spans(struct ring *ring);
void ring_end_open_spans(struct ring *ring);
/* Write all parts to the file, and drop them. Returns the number of bytes, or -errno. */
int64_t ring_write(struct ring *ring, int fd);
uint64_t ring_lost(const struct ring *ring);

#endif
