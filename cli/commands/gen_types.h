/* SPDX-License-Identifier: Apache-2.0 */
/* Declares types of BTF in C. */
#ifndef GPUBPF_CLI_GEN_TYPES_H
#define GPUBPF_CLI_GEN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

/* Is the name an identifier: letters, digits and underscores, not beginning with a digit? */
bool gen_is_identifier(const char *name);
/*
 * Print the public variables of a section as members of a struct of `size` bytes, each at its offset. Variables that C
 * would lay out differently become bytes.
 */
void gen_variables(const struct btf *btf, uint32_t section, uint32_t size);

#endif
