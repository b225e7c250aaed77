/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the functions of an ELF file from its symbol table. No content of the file is trusted. */
#ifndef GPUBPF_SESSION_SYMBOLS_H
#define GPUBPF_SESSION_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct gpubpf_symbols;

/* Read the functions of an open file. Returns NULL if it is not an ELF file, it has no symbols, or memory is short. */
struct gpubpf_symbols *gpubpf_symbols_read(int fd);
/*
 * Read the build id of an open ELF file. It has GPUBPF_BUILD_ID bytes; zeros follow a shorter id. Returns false if the
 * file has no build id.
 */
#define GPUBPF_BUILD_ID 20
bool gpubpf_build_id_read(int fd, uint8_t id[GPUBPF_BUILD_ID]);
void gpubpf_symbols_free(struct gpubpf_symbols *symbols);
/*
 * Returns the name of the function whose code contains the byte at this file offset, or NULL. Stores in *from the
 * number of bytes from the function's start to this byte.
 */
const char *gpubpf_symbols_find(const struct gpubpf_symbols *symbols, uint64_t offset, uint64_t *from);

#endif
