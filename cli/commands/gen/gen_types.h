/* SPDX-License-Identifier: Apache-2.0 */
/* Prints C declarations of BTF types. */
#ifndef GPUBPF_CLI_GEN_TYPES_H
#define GPUBPF_CLI_GEN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

/* Returns true if the name is a C identifier: letters, digits and underscores, not beginning with a digit. */
bool gen_is_identifier(const char *name);
/*
 * Print the public variables of a BTF section as members of a struct of `size` bytes, each at its offset. A variable
 * that C would lay out differently becomes an array of bytes.
 */
void gen_variables(const struct btf *btf, uint32_t section, uint32_t size);

#endif
