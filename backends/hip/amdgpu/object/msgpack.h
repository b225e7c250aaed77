/* SPDX-License-Identifier: Apache-2.0 */
/* MessagePack, as far as the metadata of code objects uses it. Malformed bytes make the reader fail. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MSGPACK_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/wire.h"

/* Reads the number of pairs or elements. For any other value it returns 0 and the reader fails. */
uint32_t hip_msgpack_map(struct gpubpf_reader *m);
uint32_t hip_msgpack_array(struct gpubpf_reader *m);
uint64_t hip_msgpack_uint(struct gpubpf_reader *m);
const char *hip_msgpack_text(struct gpubpf_reader *m, uint32_t *len); /* not terminated; NULL and 0 on failure */
void hip_msgpack_skip(struct gpubpf_reader *m);
/* Returns true if a text equals the word. */
bool hip_msgpack_is(const char *text, uint32_t len, const char *word);

void hip_msgpack_put_map(struct gpubpf_writer *w, uint32_t pairs);
void hip_msgpack_put_array(struct gpubpf_writer *w, uint32_t elements);
void hip_msgpack_put_uint(struct gpubpf_writer *w, uint32_t v);
void hip_msgpack_put_text(struct gpubpf_writer *w, const char *text, uint32_t len);

#endif
