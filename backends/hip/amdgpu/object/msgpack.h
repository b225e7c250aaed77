/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the subset of MessagePack that the metadata of code objects uses. A malformed value sets the
 * reader's `failed`.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MSGPACK_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/wire.h"

/* Read the head of a map (or array) and return the number of its pairs (or elements). For any other value they return 0
 * and set m->failed. */
uint32_t hip_msgpack_map(struct gpubpf_reader *m);
uint32_t hip_msgpack_array(struct gpubpf_reader *m);
uint64_t hip_msgpack_uint(struct gpubpf_reader *m);
/* not NUL-terminated; NULL and length 0 on failure */
const char *hip_msgpack_text(struct gpubpf_reader *m, uint32_t *len);
void hip_msgpack_skip(struct gpubpf_reader *m);
/* Returns true if a string of `len` bytes equals the word. */
bool hip_msgpack_is(const char *text, uint32_t len, const char *word);

void hip_msgpack_put_map(struct gpubpf_writer *w, uint32_t pairs);
void hip_msgpack_put_array(struct gpubpf_writer *w, uint32_t elements);
void hip_msgpack_put_uint(struct gpubpf_writer *w, uint32_t v);
void hip_msgpack_put_text(struct gpubpf_writer *w, const char *text, uint32_t len);

#endif
