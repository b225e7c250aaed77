/* SPDX-License-Identifier: Apache-2.0 */
/* Types of BTF as C declares them. */
#ifndef GPUBPF_CLI_GEN_TYPES_H
#define GPUBPF_CLI_GEN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

/* Letters, digits and underscores, and no digit first. */
bool gen_is_identifier(const char *name);
/* Print the variables of a section, which others may see, as members of a struct of so many bytes, each at its place; what C
 * would lay out otherwise is bytes. */
void gen_variables(const struct btf *btf, uint32_t section, uint32_t size);

#endif
