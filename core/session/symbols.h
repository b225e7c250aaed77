/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c: the functions of a file of machine code, as its symbol table has them. Of the file nothing is believed. */
#ifndef GPUBPF_SESSION_SYMBOLS_H
#define GPUBPF_SESSION_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct gpubpf_symbols;

/* Of an ELF file that is open. NULL: it is none, has no symbols, or there is no memory. */
struct gpubpf_symbols *gpubpf_symbols_read(int fd);
/* Its build id: GPUBPF_BUILD_ID bytes, with zeros behind a shorter one. False: it has none. */
#define GPUBPF_BUILD_ID 20
bool gpubpf_build_id_read(int fd, uint8_t id[GPUBPF_BUILD_ID]);
void gpubpf_symbols_free(struct gpubpf_symbols *symbols);
/* The function in which a byte of the file lies, and how far from its beginning; NULL: it is in none. */
const char *gpubpf_symbols_find(const struct gpubpf_symbols *symbols, uint64_t offset, uint64_t *from);

#endif
