/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c: the functions of an ELF file, from its symbol table. The reader does not trust the file. */
#ifndef GPUBPF_SESSION_SYMBOLS_H
#define GPUBPF_SESSION_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct gpubpf_symbols;

/* Read an open file. NULL: it is no ELF file, it has no symbols, or out of memory. */
struct gpubpf_symbols *gpubpf_symbols_read(int fd);
/* Read the build id of an open ELF file: GPUBPF_BUILD_ID bytes, padded with zeros if it is shorter. False: there is no
 * build id. */
#define GPUBPF_BUILD_ID 20
bool gpubpf_build_id_read(int fd, uint8_t id[GPUBPF_BUILD_ID]);
void gpubpf_symbols_free(struct gpubpf_symbols *symbols);
/* The function whose code contains the byte at this file offset; *from: bytes from its start. NULL: none. */
const char *gpubpf_symbols_find(const struct gpubpf_symbols *symbols, uint64_t offset, uint64_t *from);

#endif
