/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CLI_GEN_STRIP_H
#define GPUBPF_CLI_GEN_STRIP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns a copy of the object without the bytes of its debug sections, which the caller frees. Returns NULL if the
 * object has an unusual form, or if memory runs out. Then the caller uses the unchanged object.
 */
uint8_t *gen_strip_debug(const uint8_t *data, size_t size, size_t *stripped);

#endif
